"""Reading device files: one, all of a folder, and the one of a name; and which secrets one may name."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from ootci.errors import DeviceFileInvalid, DeviceFileMisnamed, NoDevices, NoSuchDevice
from ootci.model.record import Record
from ootci.model.strict_yaml import Document, read_document
from ootci.model.words import did_you_mean

from .expectations import BadRange, KnownFailure
from .keys import BadRangesFile, Device, KnownFailuresFile, RegisteredDevice, Tier
from .running import Container
from .sentences import invalid
from .variants import on_other_torches, variants_of, with_other_torches

DEFAULT_FOLDER = Path("devices")
_TOOL = Path("scripts/ootci")
"""Beside the registry, in the repository that has both: a vendor's own folder may have the registry's name."""
KNOWN_FAILURES = "known_failures.yaml"
"""In a device's folder, for a list that is too long for its file."""

BAD_RANGES = Path("_all", "bad_ranges.yaml")
"""In the folder of device files, for all of them; no device can have the name ``_all``."""

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class DeviceFile:
    """A device file that was read, before it is compared with its name and its folder, with the line of each value."""

    path: Path
    device: Device
    line_of: Callable[[tuple[str | int, ...]], int]

    def place(self, *keys: str | int) -> str:
        """The file and line of a value, for errors."""
        return f"{self.path.as_posix()}:{self.line_of(keys)}"


def is_registry(folder: Path) -> bool:
    """Whether a folder of device files is that of this repository, where the tool is started in a checkout of it."""
    return folder.resolve() == DEFAULT_FOLDER.resolve() and _TOOL.is_dir()


def is_device_file(device: str) -> bool:
    """Whether it is the path of a device file, and not the name of a device."""
    return "/" in device or device.endswith((".yaml", ".yml"))


def name_of(device: str) -> str:
    """The name of a device that is given by its name or its file; raises as :func:`load_device`."""
    return load_device(Path(device)).device.name if is_device_file(device) else device


def load_device(path: Path) -> RegisteredDevice:
    """Read and validate one device file, and the list of known failures in the device's folder, if there is one.

    Raises:
        DeviceFileUnreadable, DeviceFileTooLarge, DeviceFileSyntax, DeviceFileDuplicateKey, DeviceFileTooComplex,
        DeviceFileInvalid, DeviceFileMisnamed: each with file, line, what is wrong and what to do.

    """
    found = read_device(path)
    require_name(found)
    return with_lists(found)


def read_device(path: Path) -> DeviceFile:
    """Read and validate a device file by itself; raises as :func:`load_device`."""
    device, document = _read(Device, path, "start from devices/openreg.yaml")
    found = DeviceFile(path, device, document.line_of)
    first, *others = (*_contradictions(found), None)
    if first is not None:
        raise DeviceFileInvalid(first.what, where=first.where, fix=first.fix, others=tuple(filter(None, others)))
    return found


def _contradictions(found: DeviceFile) -> Iterator[DeviceFileInvalid]:
    """What is wrong although each key by itself is right."""
    path, device = found.path, found.device
    if problem := amiss(device):
        keys, what = problem
        yield DeviceFileInvalid(what, where=found.place(*keys), fix="see docs/guides/container.md")
    source = device.plugin.path
    if source and not Path(os.path.normpath(path.parent.resolve() / source)).is_relative_to(checkout_of(path)):
        yield DeviceFileInvalid(
            f"`plugin.path`: `{source}` leads out of the checkout that has the device file",
            where=found.place("plugin", "path"),
            fix="name a folder of that checkout, or another repository with `plugin.git`",
        )
    yield from _contradictions_of_variants(found)


def checkout_of(file: Path) -> Path:
    """The git checkout that a device file is in; outside git its folder."""
    folder = file.parent.resolve()
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def _contradictions_of_variants(found: DeviceFile) -> Iterator[DeviceFileInvalid]:
    how = "see docs/guides/variants.md"
    if found.device.external is not None:
        if found.device.variants:
            what = "a device that is run elsewhere has no variants here; each has a file of its own"
            yield DeviceFileInvalid(what, where=found.place("variants"), fix=how)
        if found.device.torch.also:
            what = "a device that is run elsewhere is tested on no other torch here"
            yield DeviceFileInvalid(what, where=found.place("torch", "also"), fix="leave `also` out")
    try:
        list(on_other_torches(found.device))
    except ValidationError as error:
        what = f"with `torch.also` there is no device: {_first(error)}"
        yield DeviceFileInvalid(what, where=found.place("torch", "also"), fix="give a shorter name")
    for index, variant in enumerate(found.device.variants):
        where = found.place("variants", index)
        try:
            (made,) = variants_of(found.device.model_copy(update={"variants": (variant,)}))
            list(on_other_torches(made))
        except ValidationError as error:
            what = f"with the variant `{variant.name}` there is no device: {_first(error)}"
            yield DeviceFileInvalid(what, where=where, fix=how)
            continue
        if (problem := amiss(made)) and amiss(found.device) is None:
            yield DeviceFileInvalid(problem[1], where=where, fix="see docs/guides/container.md")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"`{'.'.join(map(str, first['loc']))}`: {first['msg']}"


def require_name(found: DeviceFile) -> None:
    """Hold a device file's name against the device's.

    Raises:
        DeviceFileMisnamed: they differ.

    """
    path, device = found.path, found.device
    if path.stem != device.name or path.suffix != ".yaml":
        raise DeviceFileMisnamed(
            f"the file is named `{path.name}` but the device `{device.name}`",
            where=found.place("name"),
            fix=f"rename the file to {device.name}.yaml, or change `name`",
        )


def with_lists(found: DeviceFile) -> RegisteredDevice:
    """A device with the lists in its folder; raises as :func:`load_device`."""
    path, device = found.path, found.device
    listed = path.parent / device.name / KNOWN_FAILURES
    for index, entry in enumerate(device.known_failures):
        _require_tests(device, entry, found.place("known_failures", index))
    if listed.exists():
        more, document = _read(
            KnownFailuresFile, listed, "write the key `known_failures` with its list, as in a device file"
        )
        for index, entry in enumerate(more.known_failures):
            _require_tests(device, entry, f"{listed.as_posix()}:{document.line_of(('known_failures', index))}")
        device = device.model_copy(update={"known_failures": (*device.known_failures, *more.known_failures)})
    content = b"".join(part.read_bytes() for part in (path, listed) if part.is_file())
    return RegisteredDevice(device=device, path=path, sha256=hashlib.sha256(content).hexdigest())


def _require_tests(device: Device, entry: KnownFailure, where: str) -> None:
    """Refuse an entry that would excuse a whole suite, on a device that can block the gate."""
    gates = device.gates or any(variant.tier in (Tier.REFERENCE, Tier.GATING) for variant in device.variants)
    required = {suite.name for suite in device.suites if suite.required}
    if gates and entry.suite in required and entry.covers_suite:
        raise DeviceFileInvalid(
            f"the known failure `{entry.id}` covers the whole suite `{entry.suite}`, which decides a gating device's "
            "verdict",
            where=where,
            fix="name the tests that fail, or make the suite or the device advisory",
        )


def _read(kind: type[R], path: Path, start: str) -> tuple[R, Document]:
    shown = path.as_posix()
    document = read_document(path, shown)
    if not isinstance(document.value, dict):
        raise DeviceFileInvalid(
            "the file holds no keys" if document.value is None else "the file is not a mapping of keys to values",
            where=f"{shown}:1",
            fix=start,
        )
    try:
        # Through JSON, because only there strict validation takes a list for a tuple and text for an enumeration.
        return kind.model_validate_json(json.dumps(document.value), strict=True), document
    except ValidationError as error:
        raise invalid(error, document, shown, kind) from error


def load_registry(folder: Path) -> tuple[RegisteredDevice, ...]:
    """Every device file of a folder, in registry order: reference first, then gating, then advisory, each by name.

    With each device come its variants, as devices. The ``bad_ranges`` of the folder's ``_all/bad_ranges.yaml`` are
    added to each, if there is one. The path of one device file is a registry of that device and its variants.

    Raises:
        NoDevices: the folder does not exist or holds no device file.
        InputError: a file is not valid, as for :func:`load_device`.

    """
    alone = [folder] if folder.is_file() and folder.suffix in (".yaml", ".yml") else []
    paths = sorted(folder.glob("*.y*ml")) if folder.is_dir() else alone
    if not paths:
        raise NoDevices(
            "no device files found",
            where=folder.as_posix(),
            fix="run this in a checkout of the repository, or name the folder, or one file, with --devices",
        )
    rank = {tier: index for index, tier in enumerate(Tier)}
    of_all = folder / BAD_RANGES
    ranges = load_bad_ranges(of_all) if of_all.exists() else ()
    devices = []
    for path in paths:
        item = _with_ranges(load_device(path), ranges)
        devices += [item, *(item.model_copy(update={"device": made}) for made in variants_of(item.device))]
    _require_distinct(devices)
    return tuple(sorted(devices, key=lambda item: (rank[item.device.tier], item.device.name)))


def load_bad_ranges(path: Path) -> tuple[BadRange, ...]:
    """The nights that are excluded for all devices.

    Raises:
        InputError: the file is not valid, as for :func:`load_device`.

    """
    found, _ = _read(BadRangesFile, path, "write the key `bad_ranges` with its list, as in a device file")
    return found.bad_ranges


def _with_ranges(item: RegisteredDevice, ranges: tuple[BadRange, ...]) -> RegisteredDevice:
    both = (*item.device.bad_ranges, *ranges)
    return item.model_copy(update={"device": item.device.model_copy(update={"bad_ranges": both})})


def _require_distinct(devices: list[RegisteredDevice]) -> None:
    paths: dict[str, Path] = {}
    for item in with_other_torches(devices):
        name, path = item.device.name, item.path
        if name in paths:
            raise DeviceFileInvalid(
                f"{paths[name].name} and {path.name} both make a device `{name}`",
                where=path.as_posix(),
                fix="give the variant another name",
            )
        paths[name] = path


def find_device(registry: tuple[RegisteredDevice, ...], name: str) -> RegisteredDevice:
    """The device of that name, or a device on one of the torches of its `torch.also`.

    Raises:
        NoSuchDevice: with the nearest names.

    """
    for item in with_other_torches(registry):
        if item.device.name == name:
            return item
    names = [item.device.name for item in registry]
    hint = did_you_mean(name, names)
    raise NoSuchDevice(
        f"there is no device `{name}`", where=registry[0].path.parent.as_posix(), fix=f"{hint}known: {', '.join(names)}"
    )


Keys = tuple[str, ...]


def amiss(device: Device) -> tuple[Keys, str] | None:
    """The problem with the credentials of a device's containers, and its place in the file; None without one."""
    used = device.credentials
    for keys, container in _containers(device):
        given = container.credentials
        if given is None or used is None:
            continue
        # A device file that names any secret of the repository could send it to a registry of its author.
        prefix = f"{device.torch_name.upper()}_REGISTRY_"
        for key, name in (("username", given.username), ("password", given.password)):
            if not name.startswith(prefix):
                return (*keys, "credentials", key), f"a device names secrets of its own, which begin with {prefix}"
        if given != used:
            return (*keys, "credentials"), "`runner` and `build.runner` name different `credentials`; name the same"
        if device.pull_requests:
            return ("pull_requests",), (
                "a device with `credentials` is not tested on pull requests: a stranger's code gets no secret"
            )
    return None


def _containers(device: Device) -> Iterator[tuple[Keys, Container]]:
    if device.runner.container is not None:
        yield ("runner", "container"), device.runner.container
    if device.build.runner is not None and device.build.runner.container is not None:
        yield ("build", "runner", "container"), device.build.runner.container
