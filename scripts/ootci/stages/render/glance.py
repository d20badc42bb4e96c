"""What a device's page says at its top, before anything is scrolled: tests, capabilities and the last nights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ootci.model.device import BadRange
from ootci.model.verdict import ChangeName, DeviceVerdict, KnownFailureState

from .nights import Strip, strip
from .run_view import CountRow, RunView
from .status import CHANGES, KNOWN, Status

NIGHTS = 30

_FLAKY = Status("flaky", "warn", "wave")


@dataclass(frozen=True)
class Tally:
    """How many tests are something; ``href`` leads to them."""

    status: Status
    href: str | None


@dataclass(frozen=True)
class Glance:
    """The top of a device's page.

    Attributes:
        passed: passed tests of executed ones, of the required suites; None where nothing was executed.
        tallies: new, known, flaky and fixed tests; none where there is no run.
        capabilities: each with what its tests say together.
        more: capabilities that are not named.
        strip: the last ``NIGHTS`` nights that concerned the device; None before the first.

    """

    passed: str | None
    tallies: tuple[Tally, ...]
    capabilities: tuple[CountRow, ...]
    more: int
    strip: Strip | None


def glance(verdict: DeviceVerdict, run: RunView | None, ranges: Sequence[BadRange]) -> Glance:
    """The top of a device's page.

    Args:
        verdict: what the judge found.
        run: the run that the verdict was derived from, as the page shows it.
        ranges: nights of the device that say nothing.

    """
    nights = [night.plan_id for night in verdict.history[-NIGHTS:]]
    return Glance(
        passed=str(verdict.counts.pass_rate) if run is not None and verdict.counts.executed else None,
        tallies=_tallies(verdict, run) if run is not None else (),
        capabilities=run.capabilities if run is not None else (),
        more=run.capabilities_more if run is not None else 0,
        strip=strip(verdict, nights, ranges, len(nights)) if nights else None,
    )


def _tallies(verdict: DeviceVerdict, run: RunView) -> tuple[Tally, ...]:
    fixed = sum(change.change is ChangeName.FIXED for change in verdict.changes)
    return (
        _tally(
            verdict.new_failures,
            "failing since the first run" if verdict.is_first and verdict.new_failures else "new",
            CHANGES[ChangeName.REGRESSION],
            "#failures" if run.failures_total else None,
        ),
        _tally(
            verdict.known,
            "known",
            KNOWN[KnownFailureState.COVERS],
            "#known-failures" if run.known_failures else None,
        ),
        _tally(verdict.counts.flaky, "flaky", _FLAKY, "../../flaky/index.html"),
        _tally(fixed, "fixed", CHANGES[ChangeName.FIXED], "#changes" if verdict.changes else None),
    )


def _tally(count: int, word: str, look: Status, href: str | None) -> Tally:
    if not count:
        return Tally(Status(f"0 {word}", "off", "never"), None)
    return Tally(Status(f"{count} {word}", look.tone, look.glyph), href)
