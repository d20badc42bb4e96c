"""compat.json: breaks that are predicted from a plugin's published wheel or source, without its hardware.

Next, the judge's summary of a nightly's predictions; nothing in it was measured on a device either.
"""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from ootci.model.cluster import Mark
from ootci.model.record import Record, StageFile
from ootci.model.torch_build import TorchBuild


class Forecast(str, Enum):
    """A prediction in words. None of them means that a plugin works: behavior and layout are not seen."""

    BREAK = "break predicted"
    NO_BREAK = "no break found"
    NOTHING = "nothing public to check"
    UNCHECKED = "cannot be checked"
    """No prediction: what is public could not be downloaded, its wheel is refused, there is no other torch to compare
    with, or its source was not compiled."""

    __str__ = str.__str__


class FindingKind(str, Enum):
    """A part of PyTorch that a plugin needs and a torch lacks."""

    SYMBOL = "symbol"
    """A symbol that a shared object needs from PyTorch's libraries."""
    NAME = "name"
    """A name of ``torch.*`` that a source imports or reaches as an attribute of a module."""
    OPERATOR = "operator"
    """An overload of ``aten`` that the plugin registers or names."""
    SCHEMA = "schema"
    """The schema of an overload that the plugin registers a kernel for."""
    ENTRY_POINT = "entry point"
    """The function that ``import torch`` calls (entry points of the group ``torch.backends``)."""
    PYTHON = "Python"
    """The version of Python that the wheel is for."""
    COMPILE_ERROR = "compile error"
    """The compiler's first error in the plugin's source."""

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


ShortLine = Annotated[str, StringConstraints(max_length=1000)]
"""A text from a job that ran the vendor's build, bounded because the history keeps it."""


class SourceCheck(Record):
    """Compiling a plugin's source against one torch, without its hardware; vendors' code ran, so it is untrusted."""

    forecast: Literal[Forecast.BREAK, Forecast.NO_BREAK, Forecast.UNCHECKED]
    """The prediction. A break only where the source compiles on another torch."""
    why: ShortLine
    """One line."""
    commit: Annotated[str, StringConstraints(max_length=80)] | None = None
    """Commit of the source, where there is one."""
    baseline: Annotated[str, StringConstraints(max_length=80)] | None = None
    """Version of the other torch on which it was compiled, because it does not compile on this one."""
    place: ShortLine | None = None
    """File and line of the compiler's first error; null where it compiles or no compiler was reached."""
    error: ShortLine | None = None
    """That error."""


class Checked(Record):
    """How much was looked at."""

    objects: int = 0
    """Shared objects."""
    symbols: int = 0
    """Different symbols that they need from PyTorch."""
    sources: int = 0
    """Python sources."""
    names: int = 0
    """Different names of ``torch.*`` that they import or reach as attributes of modules."""
    operators: int = 0
    """Different overloads of ``aten`` that objects and sources name."""


class Parts(Record):
    """Parts of PyTorch, each list in alphabetical order."""

    symbols: tuple[str, ...]
    """Symbols that PyTorch's libraries export."""
    names: tuple[str, ...]
    """Names of ``torch.*`` that a source can import."""
    operators: tuple[str, ...]
    """Overloads of ``aten``."""


class Needs(Parts):
    """What a plugin's wheel needs of PyTorch, with its symbols demangled.

    Symbols are those that its shared objects need and a torch at hand exports, names those that its sources import, or
    reach as attributes of modules, comments included, and overloads those that both name.
    """

    @property
    def digest(self) -> str:
        """The key in its name."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:32]


class ExportChanges(Record):
    """How the exports of a nightly of PyTorch differ from those of the nightly before it on the package index."""

    before: TorchBuild
    """The nightly before."""
    after: TorchBuild
    """The nightly."""
    removed: Parts
    """What only the nightly before has. Symbols are mangled; a module stands for all names in it."""
    added: Parts
    """What only the nightly has, in the same form."""
    schemas: tuple[str, ...]
    """Overloads that both have, with different types, in alphabetical order."""


class Prediction(Record):
    """One plugin compared with one torch."""

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
    """Version of the torch that it was compared with."""
    baseline: str | None = None
    """Version of the torch that the plugin was made for; only what that one has can be missing. Null where no torch was
    at hand to compare with."""
    baseline_guessed: bool = False
    """Whether the baseline is not from the plugin's metadata, but is the torch with the fewest missing symbols."""
    findings: tuple[Finding, ...] = ()
    """What is missing."""
    more: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many findings were left out because there were too many; absent where there are none."""
    checked: Checked = Checked()
    """How much was looked at."""
    notes: tuple[str, ...] = ()
    """Facts that are no break by themselves, such as a requirement that excludes this torch."""
    source: Annotated[SourceCheck | None, Field(exclude_if=lambda check: check is None)] = None
    """The prediction from the plugin's source, which is part of the fields above; absent where it was not compiled."""
    needs: Annotated[str | None, Field(exclude_if=lambda digest: digest is None)] = None
    """The digest of what the plugin needs; absent where that is not kept."""

    def count(self, *kinds: FindingKind) -> int:
        """Findings of some kinds."""
        return sum(finding.kind in kinds for finding in self.findings)

    def with_source(self, source: SourceCheck) -> Prediction:
        """The prediction from a plugin's wheel, joined with that from its source."""
        findings, notes, texts = self.findings, self.notes, [source.why]
        if source.forecast is Forecast.BREAK and source.error and source.place:
            kind, name = FindingKind.COMPILE_ERROR, source.error
            findings = (Finding(kind=kind, name=name, text=name, needed_by=(source.place,)), *findings)
            notes = (*notes, f"its source compiles on torch {source.baseline}")
        if self.forecast is not Forecast.NOTHING:
            first = source.forecast is Forecast.BREAK and self.forecast is not Forecast.BREAK
            texts = [source.why, self.why] if first else [self.why, source.why]
        return self.model_copy(
            update={
                "forecast": _joined(self.forecast, source.forecast),
                "why": " · ".join(texts),
                "findings": findings,
                "notes": notes,
                "source": source,
            }
        )


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
    exports: Annotated[ExportChanges | None, Field(exclude_if=lambda found: found is None)] = None
    """What the nightly changed of PyTorch's exports; absent where a person requested it, and where no nightly before is
    available."""


class MissingPart(Record):
    """A part of PyTorch that is gone and that published plugins need."""

    kind: FindingKind
    """Its kind."""
    name: str
    """The mangled symbol, the dotted name, or the overload."""
    text: str
    """The same for people."""
    header: str | None = None
    """The header of PyTorch that mentions it, where a symbol comes from an inline function."""


class Removal(Record):
    """When parts of PyTorch were removed."""

    since: Mark
    """The first nightly of the streak without them; where `last_present` is absent, perhaps not the first."""
    last_present: Annotated[TorchBuild | None, Field(exclude_if=lambda torch: torch is None)] = None
    """The last nightly of PyTorch that had them; absent where none is known."""
    commits: str | None = None
    """PyTorch's commits in between, as ``abc1234...def5678``; null where they are unknown."""
    commits_url: str | None = None
    """The page that lists them."""
    commits_count: Annotated[int | None, Field(exclude_if=lambda count: count is None)] = None
    """How many there are; absent where it is not known."""


class PredictedBreak(Removal):
    """Parts of PyTorch that were removed together and that the same plugins need."""

    parts: tuple[MissingPart, ...]
    """The parts."""
    more: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many parts were left out because there were too many; absent where there are none."""
    devices: tuple[str, ...]
    """Names of the devices whose plugins need them."""

    @property
    def count(self) -> int:
        """How many parts are missing."""
        return len(self.parts) + self.more


class DevicePrediction(Record):
    """What is predicted of one device."""

    device: str
    """Name of the device."""
    predictions: tuple[Prediction, ...]
    """For the nightly's torch, then for the others, each with its first findings."""
    more: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many findings of the nightly were left out because there were too many; absent where there are none."""
    since: Annotated[Mark | None, Field(exclude_if=lambda mark: mark is None)] = None
    """The first nightly of the streak of predicted breaks, or of what is missing where the streak's begin is not known;
    absent where no break is predicted."""
    explains: Annotated[MissingPart | None, Field(exclude_if=lambda part: part is None)] = None
    """The missing part that the measured failure names, where the import is broken; absent where it names none."""

    @property
    def nightly(self) -> Prediction:
        """The prediction for the nightly's torch."""
        return self.predictions[0]

    @property
    def is_break(self) -> bool:
        """Whether a break is predicted for the nightly's torch."""
        return self.nightly.forecast is Forecast.BREAK


class Predicted(Record):
    """The predictions for the newest nightly that has some."""

    plan_id: str
    """That nightly."""
    torches: tuple[TorchBuild, ...]
    """The nightly's torch, then releases."""
    checked: int
    """How many plugins were read."""
    devices: tuple[DevicePrediction, ...]
    """One for each registered device that was looked at, in registry order."""
    breaks: tuple[PredictedBreak, ...]
    """What is missing from the nightly's torch; what most devices need comes first."""
    more: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many breaks were left out because there were too many; absent where there are none."""

    def of(self, device: str) -> DevicePrediction | None:
        """What is predicted of a device; None where it was not looked at."""
        return next((item for item in self.devices if item.device == device), None)

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the devices for which a break is predicted."""
        return tuple(item.device for item in self.devices if item.is_break)

    @property
    def removals(self) -> dict[tuple[FindingKind, str], Removal]:
        """When each missing part was removed, by its kind and text."""
        return {(part.kind, part.text): item for item in self.breaks for part in item.parts}


def _joined(wheel: Forecast, source: Forecast) -> Forecast:
    if Forecast.BREAK in (wheel, source):
        return Forecast.BREAK
    # A wheel that cannot be read tonight is read on other nights: the source's prediction does not replace its own.
    return source if wheel is Forecast.NOTHING else wheel
