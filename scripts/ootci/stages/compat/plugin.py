"""The needs of a plugin's wheel: symbols, Python names, operators, and the torch that its metadata requires."""

from __future__ import annotations

import configparser
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import canonicalize_name
from packaging.version import Version

from .objects import OBJECT, ForeignObject, NoObject, naming, overloads_in, symbols_of
from .python_names import MAX_SOURCE, Used, collect, is_called, places_in
from .wheel import Wheel

GROUP = "torch.backends"
"""Entry points that ``import torch`` calls (torch/__init__.py, ``_import_device_backends``)."""
MAX_SOURCES = 256 << 20
"""Bytes of Python sources that are read."""
MAX_METADATA = 4 << 20
MAX_ENTRY_POINTS = 20
_INSTALLED = re.compile(r"^[^/]+\.data/(?:purelib|platlib)/")
"""Folders of a wheel whose content is installed beside the rest."""
_RELEASE_IN_NAME = re.compile(r"(?<![0-9])([0-9]+)_([0-9]+)_[0-9]+(?![0-9])")
_UNBOXED = "6detail12infer_schema20make_function_schema"
"""Needed by whatever registers an unboxed kernel, whose types are compared with the schema (torch/library.h). A boxed
kernel is registered for every schema."""


@dataclass
class Object:
    """A shared object of a plugin.

    Attributes:
        name: its path in the wheel.
        needed: the symbols of PyTorch that it needs from elsewhere.
        operators: names of overloads among its constants.
        registers: whether it registers unboxed kernels for operators.

    """

    name: str
    needed: set[str]
    operators: set[str]
    registers: bool


@dataclass
class PluginWheel:
    """What a plugin needs.

    Attributes:
        name: the device's name, or the distribution's.
        file: the wheel's file name.
        tags: the Pythons and machines that the wheel is for.
        path: the wheel.
        requires: its metadata's requirement of torch; None where it has none.
        sources: how many Python sources it has.
        used: what they use of torch.
        problems: entry points that lead nowhere.
        notes: facts that are no break.

    """

    name: str
    file: str
    version: Version
    tags: frozenset[Tag]
    path: Path
    requires: SpecifierSet | None = None
    objects: list[Object] = field(default_factory=list)
    sources: int = 0
    used: Used = field(default_factory=Used)
    problems: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def pinned(self) -> str | None:
        """The one release of torch that its metadata allows, such as ``2.13.0``; None where it allows several."""
        for item in self.requires or ():
            if item.operator == "==":
                return Version(item.version.removesuffix(".*")).public
        return None

    def objects_for(self, torch: Version) -> list[Object]:
        """The objects that are used with a torch: some plugins bring each object once for each release of torch.

        Such a family of objects differs in a release such as ``_2_13_0`` in the names only. Without one for this torch
        the newest older one counts.
        """
        families: dict[str, list[tuple[tuple[int, int], Object]]] = {}
        for item in self.objects:
            found = _RELEASE_IN_NAME.search(item.name)
            release = (int(found[1]), int(found[2])) if found else (0, 0)
            families.setdefault(_RELEASE_IN_NAME.sub("#", item.name), []).append((release, item))
        chosen = []
        for members in families.values():
            members.sort(key=lambda member: member[0])
            usable = [item for release, item in members if release <= (torch.major, torch.minor)]
            chosen.append(usable[-1] if usable else members[0][1])
        return chosen

    def needed_by(self, torch: Version) -> dict[str, list[str]]:
        """The symbols that are needed from a torch, with the objects that need each."""
        found: dict[str, list[str]] = {}
        for item in self.objects_for(torch):
            for symbol in item.needed:
                found.setdefault(symbol, []).append(item.name)
        return found


def places_of(plugin: PluginWheel, names: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Where a plugin's sources need names and overloads of torch on every torch.

    Args:
        names: dotted names and overloads such as ``aten::full.names``, with the sources that have them in their texts.

    Raises:
        WheelRefused: the wheel has changed since it was read.

    """
    by_file: dict[str, set[str]] = {}
    for name, files in names.items():
        for file in files:
            by_file.setdefault(file, set()).add(name)
    found: dict[str, str] = {}
    if by_file:
        with Wheel(plugin.path) as wheel:
            for file in sorted(by_file):
                places = places_in(wheel.read(file, MAX_SOURCE), by_file[file])
                if places is None:
                    plugin.used.unparsed.add(file)
                for name, place in (places or {}).items():
                    if name not in found or (is_called(found[name]) and not is_called(place)):
                        found[name] = f"{file}{place}"
    return found


def read_plugin(path: Path, name: str | None, operators: Collection[str]) -> PluginWheel:
    """Read a plugin's wheel. Only members are read; nothing of it is loaded or imported.

    Args:
        name: the device's name, if it is one.
        operators: every overload of ``aten`` that may be looked for among the constants of objects.

    Raises:
        WheelRefused: it is no wheel, is damaged, or is beyond the limits.

    """
    with Wheel(path) as wheel:
        plugin = PluginWheel(name or wheel.project, path.name, wheel.version, wheel.tags, path)
        _read_objects(wheel, plugin, naming(operators))
        _read_sources(wheel, plugin)
        _read_metadata(wheel, plugin)
    return plugin


def _read_objects(wheel: Wheel, plugin: PluginWheel, constants: Mapping[bytes, str]) -> None:
    defined: set[str] = set()
    foreign: list[str] = []
    for name in sorted(wheel.members):
        if not OBJECT.search(name):
            continue
        with wheel.unpacked(name) as stream:
            if not _is_object(stream):
                continue  # a linker script, a placeholder, or an encrypted program of the device
            try:
                symbols = symbols_of(stream)
                registers = any(_UNBOXED in symbol for symbol in symbols.needed)
                named = overloads_in(stream, constants)
            except ForeignObject:
                foreign.append(name)
                continue
            except NoObject as error:
                raise wheel.refused(f"{name}: {error}") from error
        defined |= symbols.defined
        plugin.objects.append(Object(name, symbols.needed, named, registers))
    for item in plugin.objects:
        item.needed -= defined
    if foreign:
        plugin.notes.append(f"{len(foreign)} objects are for other machines and not read, first {foreign[0]}")


def _is_object(stream: IO[bytes]) -> bool:
    stream.seek(0)
    return stream.read(4) == b"\x7fELF"


def _read_sources(wheel: Wheel, plugin: PluginWheel) -> None:
    left = MAX_SOURCES
    for name in sorted(wheel.members):
        if not name.endswith(".py"):
            continue
        left -= wheel.members[name].file_size
        if left < 0:
            raise wheel.refused(f"it has more than {MAX_SOURCES >> 20} MiB of Python sources")
        collect(wheel.read(name, MAX_SOURCE), name, plugin.used)
        plugin.sources += 1


def _read_metadata(wheel: Wheel, plugin: PluginWheel) -> None:
    folders = {name.split("/")[0] for name in wheel.members if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)}
    if len(folders) != 1:
        raise wheel.refused("it has no METADATA, or more than one")
    (folder,) = folders
    stated, _ = parse_email(wheel.read(f"{folder}/METADATA", MAX_METADATA))
    said = (canonicalize_name(stated.get("name", "")), stated.get("version", ""))
    if said[0] != wheel.project:
        raise wheel.refused(f"its METADATA is that of {said[0] or 'nothing'}, not of {wheel.project}")
    for text in stated.get("requires_dist", []):
        try:
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            continue
        if applies and canonicalize_name(requirement.name) == "torch":
            plugin.requires = requirement.specifier
    entries = f"{folder}/entry_points.txt"
    _read_entry_points(wheel, plugin, wheel.read(entries, MAX_METADATA) if entries in wheel.members else b"")


def _read_entry_points(wheel: Wheel, plugin: PluginWheel, content: bytes) -> None:
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[method-assign,assignment]
    try:
        parser.read_string(content.decode("utf-8"))
    except (configparser.Error, UnicodeDecodeError) as error:
        raise wheel.refused("its entry_points.txt is damaged") from error
    found = dict(parser[GROUP]) if parser.has_section(GROUP) else {}
    if not found:
        plugin.notes.append(f"no entry point in {GROUP}: `import torch` does not load the plugin")
    if len(found) > MAX_ENTRY_POINTS or any(len(name) + len(target) > 500 for name, target in found.items()):
        raise wheel.refused("it has too many or too long entry points")
    members = {_INSTALLED.sub("", member) for member in wheel.members}
    packages = {member.partition("/")[0].partition(".")[0] for member in members}
    for name, target in found.items():
        module = target.partition("[")[0].partition(":")[0].strip().replace(".", "/")
        if module.partition("/")[0] not in packages:
            plugin.notes.append(f"the entry point {name} = {target} leads to a package that this wheel does not bring")
            continue
        # A source, an object, or compiled Python only.
        if not any(member.startswith((f"{module}.", f"{module}/")) for member in members):
            plugin.problems[name] = target
