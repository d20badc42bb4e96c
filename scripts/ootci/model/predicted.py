"""What is predicted for a nightly, derived once by the judge; nothing here was measured on a device."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ootci.model.compat import FindingKind, Forecast, Prediction
from ootci.model.record import Record
from ootci.model.spell import Mark
from ootci.model.torch_build import TorchBuild


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


class PredictedBreak(Record):
    """Parts of PyTorch that went missing on one nightly and that the same plugins need."""

    parts: tuple[MissingPart, ...]
    """The parts."""
    more: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many parts were left out because there were too many; absent where there are none."""
    devices: tuple[str, ...]
    """Names of the devices whose plugins need them."""
    since: Mark
    """The first nightly of the streak without them; where `last_present` is absent, perhaps not the first."""
    last_present: Annotated[Mark | None, Field(exclude_if=lambda mark: mark is None)] = None
    """The last nightly that had them, read for the same version of a plugin; absent where none is known."""
    commits: str | None = None
    """PyTorch's commits in between, as ``abc1234...def5678``; null where they are unknown."""
    commits_url: str | None = None
    """The page that lists them."""

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
    """The first nightly of the streak of predicted breaks; absent where no break is predicted."""
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
