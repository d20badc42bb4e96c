"""The file below ``api/v1`` of a site that says what to fix first on a device; see ``published``."""

from __future__ import annotations

from ootci.model.published import Published
from ootci.model.record import Record


class Finding(Record):
    """One thing that is wrong or missing, and the tests that it explains."""

    text: str
    """What is missing, or what the tests say."""
    tests: int
    """How many tests it explains; 0 where the device was only asked for it before the tests."""
    refused: bool
    """Whether the device refuses or lacks it; else it fails."""
    first: str | None
    """One of the tests; null where it explains none."""
    capability: str | None
    """The capability whose page, `docs/capabilities/<capability>.md` in the repository of ootci, says more; null where
    there is no such page."""
    needed_for: str | None
    """One sentence: what PyTorch needs it for; null where that is not known."""
    implement: str | None
    """One sentence: where to implement it; null where that is not known."""


class FindingsFile(Published):
    """findings/<device>.json: what to fix first, by the run that the device's verdict is about."""

    device: str
    """Name of the device."""
    run_id: str | None
    """The run; null when nothing was reported."""
    findings: tuple[Finding, ...]
    """What explains most tests first. A device of which less than a tenth of the tests does not pass has only what it
    lacks."""
