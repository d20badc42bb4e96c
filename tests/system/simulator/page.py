"""What the judge has to find on a night, device by device."""

from __future__ import annotations

from dataclasses import dataclass, field

from ootci.model.verdict import ChangeName, VerdictName

from .event import Blame, Event


@dataclass(frozen=True)
class Expected:
    """What the page of a night has to say of one device.

    Attributes:
        device: its place in the registry.
        verdict: its verdict.
        verdict_since: the first night of the unbroken row of nights with that verdict.
        broken_since: the first night of the row of nights on which it was broken; None where it is not.
        news: what has to be told on this very page, because it shows for the first time.
        mended: what is over, as this page shows for the first time.
        changes: for each of both, by its number, the tests that it changed and how, by id.
        blames: for each piece of news, whose fault it is as far as the reports can tell.
        failing: ids of all tests that really fail.
        broken_by: numbers of the events that break it.
        good: so many nights in a row, up to this one, it was not broken; nights that tell nothing are left out.
        empty: whether the report was there and a suite in it without any test.
        stands_in: whether a release was tested instead of the nightly.
        rows: of what fails for a reason, by a test: the night on which it passed last, if it ever did, and the one on
            which it failed first.

    """

    device: int
    verdict: VerdictName
    verdict_since: int
    broken_since: int | None = None
    news: tuple[Event, ...] = ()
    mended: tuple[Event, ...] = ()
    changes: dict[int, dict[str, ChangeName]] = field(default_factory=dict)
    blames: dict[int, Blame] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()
    broken_by: frozenset[int] = frozenset()
    good: int = 0
    empty: bool = False
    stands_in: bool = False
    rows: dict[int, tuple[int | None, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Shared:
    """A failure that several devices show on a night, which has to be one cluster.

    Attributes:
        event: what happened.
        devices: those that show it.
        last_passed: the last night on which one of them passed; None where none ever did.
        first_failed: the first night on which one of them failed, after which nobody passed.
        alone: whether nothing else fails with the same error, or in the same tests, that it may be taken together with.

    """

    event: Event
    devices: tuple[int, ...]
    last_passed: int | None
    first_failed: int
    alone: bool


@dataclass(frozen=True)
class Page:
    """What the page of a night has to say.

    Attributes:
        devices: of every registered device.
        shared: the failures of several devices.
        gate: the gate's answer.

    """

    devices: tuple[Expected, ...]
    shared: tuple[Shared, ...]
    gate: str
