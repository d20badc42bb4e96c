"""compat.json: breaks that are predicted from a plugin's published wheel, without its hardware; nothing was run."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import Annotated, ClassVar

from pydantic import Field

from ootci.model.record import Record, StageFile
from ootci.model.torch_build import TorchBuild


class Forecast(str, Enum):
    """A prediction in words. None of them says that a plugin works: behavior and layout are not seen."""

    BREAK = "break predicted"
    NO_BREAK = "no break found"
    NOTHING = "nothing public to check"
    UNCHECKED = "cannot be checked"
    """No prediction: what is public could not be downloaded, or its wheel is refused."""

    __str__ = str.__str__


class FindingKind(str, Enum):
    """What a plugin needs and a torch lacks."""

    SYMBOL = "symbol"
    """A symbol that a shared object needs from PyTorch's libraries."""
    NAME = "name"
    """A name of ``torch.*`` that a source imports."""
    OPERATOR = "operator"
    """An overload of ``aten`` that the plugin registers or names."""
    SCHEMA = "schema"
    """The schema of an overload that the plugin registers a kernel for."""
    ENTRY_POINT = "entry point"
    """The function that ``import torch`` calls (entry points of the group ``torch.backends``)."""
    PYTHON = "Python"
    """The version of Python that the wheel is for."""

    __str__ = str.__str__


OF_PYTORCH = frozenset({FindingKind.SYMBOL, FindingKind.NAME, FindingKind.OPERATOR, FindingKind.SCHEMA})
"""The kinds that a change of PyTorch alone brings about."""


class Finding(Record):
    """One thing that a plugin needs and a torch lacks, and the torch that the plugin was made for has."""

    kind: FindingKind
    """Its kind."""
    name: str
    """The symbol as it is in the object, the dotted name, or the overload."""
    text: str
    """The same for people: a demangled symbol, or what changed."""
    needed_by: tuple[str, ...]
    """The shared objects that need it, or the first place in the sources that imports it."""
    header: str | None = None
    """The header of PyTorch that mentions it, where the symbol comes from an inline function."""


class Checked(Record):
    """How much was looked at."""

    objects: int = 0
    """Shared objects."""
    symbols: int = 0
    """Different symbols that they need from PyTorch."""
    sources: int = 0
    """Python sources."""
    names: int = 0
    """Different names of ``torch.*`` that they import."""
    operators: int = 0
    """Different overloads of ``aten`` that objects and sources name."""


class Needs(Record):
    """What a plugin's wheel needs of PyTorch, each list in alphabetical order."""

    symbols: tuple[str, ...]
    """Symbols that its shared objects need and a torch at hand exports, demangled."""
    names: tuple[str, ...]
    """Names of ``torch.*`` that its sources import."""
    operators: tuple[str, ...]
    """Overloads of ``aten`` that its objects and sources name."""

    @property
    def digest(self) -> str:
        """What it is named by."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:32]


class Prediction(Record):
    """One plugin held against one torch."""

    plugin: str
    """Name of the device, or the distribution's name for a wheel that was given."""
    forecast: Forecast
    """The prediction."""
    why: str
    """What breaks, what was checked, what was looked for, or why it cannot be checked: one line."""
    wheel: str | None = None
    """File name of the plugin's wheel."""
    version: str | None = None
    """Version of the plugin."""
    torch: str
    """Version of the torch that it was held against."""
    baseline: str | None = None
    """Version of the torch that the plugin was made for; only what that one has can be missing. Null where no torch was
    at hand to compare with."""
    baseline_guessed: bool = False
    """Whether the baseline is not from the plugin's metadata, but is the torch with the fewest missing symbols."""
    findings: tuple[Finding, ...] = ()
    """What is missing."""
    checked: Checked = Checked()
    """How much was looked at."""
    notes: tuple[str, ...] = ()
    """Facts that are no break by themselves, such as a requirement that excludes this torch."""
    needs: Annotated[str | None, Field(exclude_if=lambda digest: digest is None)] = None
    """The digest of what the plugin needs; absent where that is not kept."""

    def count(self, *kinds: FindingKind) -> int:
        """Findings of some kinds."""
        return sum(finding.kind in kinds for finding in self.findings)


class Compat(StageFile):
    """Predictions for plugins and torches."""

    FILE: ClassVar[str] = "compat.json"
    WRITTEN_BY: ClassVar[str] = "ootci compat"

    plan_id: str | None = None
    """The nightly for which it was made; null where somebody asked."""
    torches: tuple[TorchBuild, ...] = ()
    """The torches, in the order given; the nightly's torch first where there is a nightly."""
    predictions: tuple[Prediction, ...]
    """One for each plugin and torch, by plugin in the order given, then by torch."""
    needs: Annotated[tuple[Needs, ...], Field(exclude_if=lambda found: not found)] = ()
    """What plugins need of PyTorch, which predictions name by digest; absent where nobody keeps it."""
