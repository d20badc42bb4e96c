"""The interface of a torch wheel for plugins: exported symbols, Python names, operator schemas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from packaging.tags import Tag
from packaging.version import Version

from ootci.adapters.python_env import stated_git_version
from ootci.model.compat import ExportChanges, Parts
from ootci.model.torch_build import TorchBuild

from .objects import NoObject, symbols_of
from .python_names import MAX_SOURCE
from .torch_modules import Modules
from .wheel import Wheel

LIBRARY = re.compile(r"torch/lib/lib(?:c10|torch|shm)(?!\w*_(?:cuda|hip|xpu|nvshmem|test))\w*\.so")
"""The libraries that a plugin can link to. Those of accelerators are left out: two builds may be compared."""
OPERATORS = "torchgen/packaged/ATen/native/native_functions.yaml"
_FUNCTION = re.compile(r"^- func: ['\"]?([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)?)(\(.*?)['\"]?$", re.MULTILINE)
_GENERATED = re.compile(r"^\s+autogen: (.+)$", re.MULTILINE)
VERSION = "torch/version.py"
MAX_HEADER = 2 << 20


@dataclass(frozen=True)
class TorchWheel:
    """A torch to compare plugins with; its Python modules are read on demand.

    Attributes:
        commit: the commit of PyTorch that it names as its source; None where it names none.
        tags: the Pythons and machines that it is for.
        symbols: mangled C++ names of PyTorch that its libraries export.
        operators: the types of arguments and results of each overload of ``aten``; empty text where it is generated.

    """

    wheel: Wheel
    version: Version
    commit: str | None
    tags: frozenset[Tag]
    symbols: frozenset[str]
    modules: Modules
    operators: Mapping[str, str]
    _headers: dict[str, str | None] = field(default_factory=dict)

    @property
    def build(self) -> TorchBuild:
        """Its version and commit."""
        return TorchBuild(version=str(self.version), git_version=self.commit)

    def header_of(self, identifier: str) -> str | None:
        """The first header of c10 that mentions an identifier; None where none does."""
        if identifier not in self._headers:
            self._headers[identifier] = self._header_of(identifier)
        return self._headers[identifier]

    def _header_of(self, identifier: str) -> str | None:
        word = re.compile(rb"\b" + identifier.encode() + rb"\b")
        for name in self.wheel.members:
            is_header = name.startswith("torch/include/c10/") and name.endswith(".h")
            if is_header and word.search(self.wheel.read(name, MAX_HEADER)):
                return name.removeprefix("torch/include/")
        return None


def read_torch(path: Path) -> TorchWheel:
    """Read a wheel of torch, which stays open. Only members are read; nothing of it is loaded or imported.

    Raises:
        WheelRefused: it is no wheel of torch, is damaged, or is beyond the limits.

    """
    wheel = Wheel(path)
    try:
        symbols = _exported(wheel)
        schemas = wheel.read(OPERATORS, MAX_SOURCE).decode("utf-8", "replace") if OPERATORS in wheel.members else ""
        commit = stated_git_version(wheel.read(VERSION, MAX_SOURCE)) if VERSION in wheel.members else None
    except BaseException:
        wheel.close()
        raise
    modules = Modules(wheel.members, lambda file: wheel.read(file, MAX_SOURCE))
    return TorchWheel(wheel, wheel.version, commit, wheel.tags, frozenset(symbols), modules, operators(schemas))


def export_changes(before: TorchWheel, after: TorchWheel) -> ExportChanges:
    """How the exports of a torch differ from those of an earlier one."""
    gone, come = before.modules.beyond(after.modules), after.modules.beyond(before.modules)
    old, new = before.operators, after.operators
    return ExportChanges(
        before=before.build,
        after=after.build,
        removed=_parts(before.symbols - after.symbols, gone, old.keys() - new.keys()),
        added=_parts(after.symbols - before.symbols, come, new.keys() - old.keys()),
        schemas=tuple(sorted(name for name in old.keys() & new.keys() if old[name] != new[name])),
    )


def _parts(symbols: Set[str], names: Set[str], operators: Set[str]) -> Parts:
    return Parts(symbols=tuple(sorted(symbols)), names=tuple(sorted(names)), operators=tuple(sorted(operators)))


def _exported(wheel: Wheel) -> set[str]:
    if wheel.project != "torch":
        raise wheel.refused(f"it holds {wheel.project}, not torch")
    symbols: set[str] = set()
    for name in wheel.members:
        if LIBRARY.fullmatch(name):
            with wheel.unpacked(name) as stream:
                try:
                    symbols |= symbols_of(stream, needed=False).defined
                except NoObject as error:
                    raise wheel.refused(f"{name}: {error}") from error
    if not symbols:
        raise wheel.refused("it has none of PyTorch's libraries")
    return symbols


def operators(schemas: str) -> dict[str, str]:
    """The overloads of ``native_functions.yaml``, with the types of each."""
    found = {name: _types(signature) for name, signature in _FUNCTION.findall(schemas)}
    for names in _GENERATED.findall(schemas):
        for name in names.split(","):
            found.setdefault(name.strip(), "")
    return found


def _types(signature: str) -> str:
    """The types of a schema, which are all that registering an unboxed kernel compares (c10::findSchemaDifferences).

    A kernel for ``int`` may implement ``SymInt``, and lists of any length are one type, but for ``bool``.
    """
    plain = re.sub(r"\(([a-z]\d?)?[!|a-z* >-]*\)(?=[?\[ ,)]|$)", "", signature.replace("SymInt", "int"))
    plain = re.sub(r"(?<!bool)\[\d+\]", "[]", plain)
    arguments, _, results = plain.rpartition(" -> ")
    return f"({_listed(arguments)}) -> {_listed(results)}"


def _listed(schema: str) -> str:
    """The types of some arguments or results, without names, defaults, and the mark of keyword-only ones."""
    items = re.sub(r"=(?:\[[^]]*\]|[\"'][^\"']*[\"']|[^,)]*)", "", schema).strip("()").split(",")
    return ", ".join(item.strip().partition(" ")[0] for item in items if item.strip() not in ("", "*"))
