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
from .python_names import MAX_SOURCE, Modules
from .wheel import Wheel

LIBRARIES = ("libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so", "libshm.so")
"""The libraries that a plugin can link to, whatever build torch is (torch/CMakeLists.txt, caffe2/CMakeLists.txt)."""
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
    for library in LIBRARIES:
        name = f"torch/lib/{library}"
        if name in wheel.members:
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
    """A schema without names and defaults, because a kernel's C++ signature has neither."""
    arguments, _, result = signature.rpartition(" -> ")
    plain = re.sub(r"\b([A-Za-z_]\w*)\([a-z!|* >-]+\)", r"\1", arguments.strip()[1:-1])
    depth, parts, part = 0, [], ""
    for character in plain + ",":
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        depth += (character in "[(") - (character in "])")
        part += character
    kept = [item.partition("=")[0].rpartition(" ")[0] or item for item in parts if item]
    return f"({', '.join(kept)}) -> {re.sub(r'[(][a-z!|* >-]+[)]', '', result)}"
