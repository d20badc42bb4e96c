"""What came of one test on one device: the newest nights as a picture, and all of it in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ootci.history.not_passing import Came, NotPassing
from ootci.model.device import Device
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.plan import Plan
from ootci.model.spell import Spell
from ootci.model.verdict import Change, DeviceVerdict, KnownFailureReview

from .links import device_path, web_address
from .listed import Alike, NamedDevice
from .status import KNOWN, OUTCOMES, Status
from .stretches import Stretches, stretches
from .text import one_line
from .words import day, many

NOW: Mapping[Came, Status] = {
    Came.ABSENT: Status("not in the run", "off", "never"),
    Came.PASSED: OUTCOMES[OutcomeName.PASSED],
    Came.FAILED: Status("failing", "bad", "cross"),
    Came.FLAKY: Status("flaky", "warn", "wave"),
    Came.XFAILED: OUTCOMES[OutcomeName.XFAILED],
    Came.XPASSED: OUTCOMES[OutcomeName.XPASSED],
    Came.NOT_RUN: OUTCOMES[OutcomeName.NOT_RUN],
    Came.SKIPPED: OUTCOMES[OutcomeName.SKIPPED],
    Came.UNSUPPORTED: OUTCOMES[OutcomeName.UNSUPPORTED],
    Came.SILENT: Status("no report", "warn", "silent"),
}
"""What came of a test on the newest nightly."""
_FAILED = (Came.FAILED, Came.FLAKY)
_RAN = (Came.PASSED, *_FAILED, Came.XFAILED, Came.XPASSED)


@dataclass(frozen=True)
class DeviceLives:
    """What the pages need of one device.

    Attributes:
        device: the device.
        found: its tests that were ever not passing.
        verdict: what the judge found.
        flaky: ids of its flaky tests.
        runs: by nightly, where the page of the run lies, from the top.

    """

    device: Device
    found: NotPassing
    verdict: DeviceVerdict
    flaky: frozenset[str]
    runs: Mapping[str, str]

    @cached_property
    def named(self) -> NamedDevice:
        """The device as lists name it."""
        return NamedDevice(self.device.name, one_line(self.device.display_name, 60), device_path(self.device.name))

    @cached_property
    def failing(self) -> Mapping[str, Change]:
        """What the judge found of the tests that fail, by id."""
        return {change.id: change for change in self.verdict.changes if change.after in FAILURES}


@dataclass(frozen=True)
class KnownMark:
    """What the vendor said beforehand of a test, and where."""

    status: Status
    href: str | None


@dataclass(frozen=True)
class LifeRow:
    """A test on one device.

    Attributes:
        device: the device.
        picture: what came of it night by night.
        now: what came of it on the newest nightly.
        words: the same in words, up to the date.
        last: the newest night on which it was not passing.
        last_href: the page of that night's run.
        spell: since when it fails, where the judge knows.
        alike: what fails alike, where it fails now.
        flaky: whether it is on the list of flaky tests.
        known: the vendor's entry that names it.

    """

    device: NamedDevice
    picture: Stretches
    now: Status
    words: str
    last: str
    last_href: str | None
    spell: Spell | None
    alike: Alike | None
    flaky: bool
    known: KnownMark | None


def newest(item: DeviceLives, rows: Sequence[int]) -> Came:
    """What came of a test on the newest nightly."""
    states = item.found.newest
    return Came(max((states[row] for row in rows if row < len(states)), default=0))


def life_row(
    item: DeviceLives, test_id: str, rows: Sequence[int], plans: Sequence[Plan], alike: Mapping[str, Alike]
) -> LifeRow:
    """A test on a device on which it was ever not passing.

    Args:
        item: the device.
        test_id: the test.
        rows: its rows in the table of tests.
        plans: every nightly, oldest first.
        alike: what fails alike on the newest nightly, by the signature's id.

    """
    nights, last, failed = test_nights(item, rows, plans)
    page = item.runs.get(last.id)
    change = item.failing.get(test_id)
    spell = spell_of(item, test_id)
    return LifeRow(
        device=item.named,
        picture=stretches(nights),
        now=NOW[Came(nights[-1])],
        words=in_words(nights),
        last=day(last.created_at),
        last_href=f"{page}#failures" if page and failed else page,
        spell=spell,
        alike=alike.get(change.signature) if change is not None and change.signature else None,
        flaky=test_id in item.flaky,
        known=_known(known_entry(item, test_id)),
    )


def test_nights(item: DeviceLives, rows: Sequence[int], plans: Sequence[Plan]) -> tuple[bytes, Plan, bool]:
    """What came of a test night by night, the last night on which it failed or was not passing, whether it failed."""
    places = [place for row in rows if (place := item.found.place(row)) is not None]
    nights, *others = (item.found.nights(place) for place in places)
    if others:
        # The rows of one test are never in one run together.
        nights = bytes(map(max, zip(nights, *others, strict=True)))
    failed = max(map(nights.rfind, _FAILED))
    if failed >= 0:
        return nights, plans[len(plans) - len(nights) + failed], True
    return nights, plans[max(item.found.last[place] for place in places)], False


def spell_of(item: DeviceLives, test_id: str) -> Spell | None:
    """Since when a test fails; None where it does not fail now, or the judge does not know."""
    change, spells = item.failing.get(test_id), item.verdict.spells
    known = change is not None and change.spell is not None and 0 <= change.spell < len(spells)
    return spells[change.spell or 0] if change is not None and known else None


def known_entry(item: DeviceLives, test_id: str) -> KnownFailureReview | None:
    """The first entry of the vendor's list that names a test."""
    return next((review for review in item.verdict.known_failures if review.entry.matches(test_id)), None)


@lru_cache(maxsize=2_000)
def in_words(nights: bytes) -> str:
    """What came of a test, without when: ``failed on 3 of 28 nights, passed again on 1 of them``."""
    ran = many(sum(map(nights.count, _RAN)), "night")
    parts = []
    if failed := sum(map(nights.count, _FAILED)):
        parts.append(f"failed on {failed} of {ran}")
    if again := nights.count(Came.FLAKY):
        parts.append(f"passed again on {again} of them")
    if expected := nights.count(Came.XFAILED):
        parts.append(f"failed as expected on {expected} of {ran}")
    if unexpected := nights.count(Came.XPASSED):
        parts.append(f"passed against expectation on {unexpected} of {ran}")
    if missing := nights.count(Came.NOT_RUN):
        parts.append(f"collected and not run on {many(missing, 'night')}")
    return ", ".join(parts) or "was not passing on an earlier night or in an attempt that was replaced"


def _known(review: KnownFailureReview | None) -> KnownMark | None:
    return KnownMark(KNOWN[review.state], web_address(review.entry.issue)) if review is not None else None
