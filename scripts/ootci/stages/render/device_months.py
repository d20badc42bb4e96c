"""What each month of a device's runs comes to, kept beside the pages so that a month that is over is not read again.

A month's file is taken from the site of before only where its key is the same: a digest of the lines that the month is
made from, of this program, and of the months before. It says no more than the runs themselves do, and is made of them
again wherever it is missing; so nothing depends on it but the time that rendering takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from ootci.history.base import BaseParts, as_planned, base_from, concerns, parts_after
from ootci.history.fingerprint import fingerprint
from ootci.history.named import NamedFailure, NightNames, night_names
from ootci.history.not_passing import Listed, listed_on
from ootci.history.reader import HistoryReader
from ootci.history.stored import StoredRun
from ootci.history.trends import Measured, measured
from ootci.model.plan import Plan
from ootci.model.record import Record

from .device_view import RunPage
from .nightlies import NightReport, night_reports
from .reuse import Reusable, digest

MONTHS = ".months"
"""Its name begins with a dot so that GitHub Pages leaves it out."""
NAMES = 20_000
"""A month in which more names of failures were given, nights counted, does not keep them."""


class Base(Record):
    """What a night's run is compared with, and its digest."""

    parts: BaseParts
    fingerprint: str


class Facts(Record):
    """What tells whether a run's page is the same: runs by nightly and attempt, with their digests."""

    runs: tuple[tuple[str, int, str], ...]
    bases: dict[str, Base]
    after: BaseParts | None
    """What the first night of the next month is compared with."""
    listed: tuple[Listed, ...]


class Lately(Record):
    """What only the pages that look back three months need."""

    measured: dict[str, Measured]
    names: dict[str, tuple[str, ...]] | None
    """By nightly, the ids of all names of failures."""
    failures: tuple[NamedFailure, ...]
    """Each name, on the newest nightly of the month that has it."""


class Reports(Record):
    """What the pages of nightlies say of the device."""

    reports: dict[str, NightReport]


class DeviceMonth:
    """A month of a device, each part of it read when it is asked for.

    Args:
        parts: its parts as JSON.

    """

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = parts

    @cached_property
    def facts(self) -> Facts:
        """What tells whether pages of runs are the same."""
        return Facts.model_validate_json(self._parts[0])

    @cached_property
    def lately(self) -> Lately:
        """What is needed for three months."""
        return Lately.model_validate_json(self._parts[1])

    @cached_property
    def reports(self) -> Mapping[str, NightReport]:
        """What the pages of nightlies say, by nightly."""
        return Reports.model_validate_json(self._parts[2]).reports

    @cached_property
    def failures(self) -> Mapping[str, NamedFailure]:
        """The names by their ids."""
        return {item.signature.id: item for item in self.lately.failures}

    @cached_property
    def fingerprints(self) -> Mapping[tuple[str, int], str]:
        """The digests of its runs, by nightly and attempt."""
        return {(plan_id, attempt): found for plan_id, attempt, found in self.facts.runs}


class DeviceMonths:
    """All months of a device.

    Args:
        history: past runs.
        device: name of the device.
        pages: the pages of all its runs.
        plans: every nightly, oldest first, by id.
        makers: a digest of this program.
        kept: reads a file of the site of before; None where there is none.

    """

    def __init__(
        self,
        history: HistoryReader,
        device: str,
        pages: Sequence[RunPage],
        plans: Mapping[str, Plan],
        makers: str,
        kept: Callable[[str], bytes | None],
    ) -> None:
        self._history = history
        self._device = device
        self._plans = plans
        self._makers = makers
        self._counting = {page.past.plan_id: page for page in pages if page.latest}
        self._planned: dict[str, StoredRun] = {}
        self._fingerprints: dict[int, tuple[StoredRun, str]] = {}
        self._months: dict[str, DeviceMonth] = {}
        self._keys: dict[str, str] = {}
        self._files: list[Reusable] = []
        self._nightlies: dict[str, list[Plan]] = defaultdict(list)
        for plan in plans.values():
            self._nightlies[history.month_of(plan.id, plan.id)].append(plan)
        by_month: dict[str, list[RunPage]] = defaultdict(list)
        for page in pages:
            by_month[history.month_of(page.past.plan_id, page.past.id)].append(page)
        self.pages: Mapping[str, Sequence[RunPage]] = dict(sorted(by_month.items()))
        """The pages of the runs of each month's nightlies, oldest month first."""
        self._read(kept)

    def files(self) -> Sequence[Reusable]:
        """The files of the months that are over."""
        return self._files

    def key(self, month: str) -> str | None:
        """A digest of the runs of a month that is over, of its nightlies and of all before; None of one that is not."""
        return self._keys.get(month)

    def fingerprint(self, page: RunPage) -> str:
        """The digest of a run."""
        return self._month(page.past.plan_id).fingerprints[page.past.plan_id, page.past.attempt]

    def base(self, plan_id: str) -> Base | None:
        """What the run of a nightly is compared with; None where there was no report before."""
        return self._month(plan_id).facts.bases.get(plan_id)

    def base_run(self, base: Base) -> StoredRun:
        """The run that another is compared with."""
        return base_from(base.parts, self._as_planned)

    def counting(self, plan_id: str) -> StoredRun | None:
        """The attempt that counts of a nightly."""
        page = self._counting.get(plan_id)
        return page.past.stored if page is not None else None

    def listed(self) -> Iterator[Listed]:
        """The tests that were ever not passing, newest nightly first."""
        return (item for month in sorted(self._months, reverse=True) for item in self._months[month].facts.listed)

    def measured(self, plan_id: str) -> Measured | None:
        """What the run of a nightly says for the trends."""
        return self._month(plan_id).lately.measured.get(plan_id) if plan_id in self._counting else None

    def names(self, plan_id: str) -> NightNames | None:
        """What failed on a nightly, by name; None without a report."""
        if plan_id not in self._counting:
            return None
        month = self._month(plan_id)
        if month.lately.names is None:
            return night_names(self._counting[plan_id].past.stored)
        found = month.failures
        return NightNames(
            frozenset(month.lately.names[plan_id]), lambda names: {name: found[name] for name in sorted(names)}
        )

    def report(self, plan_id: str) -> NightReport | None:
        """What the page of a nightly says of the device; None where it is not named there."""
        return self._month(plan_id).reports.get(plan_id) if plan_id in self._counting else None

    def _month(self, plan_id: str) -> DeviceMonth:
        return self._months[self._history.month_of(plan_id, plan_id)]

    def _read(self, kept: Callable[[str], bytes | None]) -> None:
        open_month = max(self._nightlies, default="")
        before: BaseParts | None = None
        key = ""
        for month, pages in self.pages.items():
            path = f"{MONTHS}/{self._device}/{month}.txt"
            since = digest(self._makers, self._device, key, self._history.sources_fingerprint(self._device, month))
            text = kept(path) if month < open_month else None
            parts = self._checked(text, since) if text is not None else None
            if parts is None:
                parts = self._made(month, pages, before)
                rows = max(len(page.past.stored.states.rstrip(b"\0")) for page in pages)
                text = self._sealed(since, rows, parts)
            head = text.partition(b"\n")[0] if text is not None else b""
            key = head.decode("ascii", "replace")
            if month < open_month and text is not None:
                self._keys[month] = key
                self._files.append(Reusable(path, digest(key), lambda text=text: text))  # type: ignore[misc]
            self._months[month] = DeviceMonth(parts)
            before = self._months[month].facts.after

    def _head(self, since: str, rows: int, parts: Sequence[bytes]) -> bytes:
        return f"{rows} {digest(since, self._history.tests.digest(rows), *parts)}".encode()

    def _sealed(self, since: str, rows: int, parts: Sequence[bytes]) -> bytes:
        return b"\n".join((self._head(since, rows, parts), *parts, b""))

    def _checked(self, text: bytes, since: str) -> Sequence[bytes] | None:
        """The parts of a month's file; None where it was made from something else, or is no such file."""
        head, *parts = text.split(b"\n")
        rows = head.partition(b" ")[0]
        if not rows.isdigit() or len(rows) > 9 or int(rows) > len(self._history.tests) or parts[-1:] != [b""]:
            return None
        return parts[:-1] if self._head(since, int(rows), parts[:-1]) == head else None

    def _made(self, month: str, pages: Sequence[RunPage], before: BaseParts | None) -> Sequence[bytes]:
        plans = self._nightlies[month]
        counting = {page.past.plan_id: page.past.stored for page in pages if page.latest}
        bases, parts = {}, before
        for plan in plans:
            if plan.id not in counting:
                continue
            if parts is not None:
                base = base_from(parts, self._as_planned)
                bases[plan.id] = Base(parts=parts, fingerprint=self._fingerprint(base))
            if concerns(plan, self._device):
                parts = parts_after(parts, self._as_planned(plan.id))
        facts = Facts(
            runs=tuple((page.past.plan_id, page.past.attempt, self._fingerprint(page.past.stored)) for page in pages),
            bases=bases,
            after=parts,
            listed=listed_on(plans, (page.past.stored for page in pages)),
        )
        reports = Reports(reports=night_reports(self._device, pages, self._plans))
        records = facts, _lately(self._device, plans, counting), reports
        return [record.model_dump_json().encode("utf-8", "surrogatepass") for record in records]

    def _as_planned(self, plan_id: str) -> StoredRun:
        """The attempt that counts of a nightly on which there was one, as it was planned."""
        if plan_id not in self._planned:
            run = self._counting[plan_id].past.stored
            self._planned[plan_id] = as_planned(self._plans[plan_id], run) or run
        return self._planned[plan_id]

    def _fingerprint(self, run: StoredRun) -> str:
        """The digest of a run, made once: most runs are also what another is compared with."""
        if id(run) not in self._fingerprints:
            self._fingerprints[id(run)] = run, fingerprint(run)
        return self._fingerprints[id(run)][1]


def _lately(device: str, plans: Sequence[Plan], counting: Mapping[str, StoredRun]) -> Lately:
    nights = [(plan.id, night_names(counting[plan.id])) for plan in reversed(plans) if plan.id in counting]
    failures: dict[str, NamedFailure] = {}
    for _, night in nights:
        failures |= night.last(night.names - failures.keys())
    is_long = sum(len(night.names) for _, night in nights) > NAMES
    return Lately(
        measured={
            plan.id: measured(counting[plan.id].head, expected)
            for plan in plans
            if plan.id in counting and (expected := plan.expected(device)) is not None
        },
        names=None if is_long else {plan_id: tuple(sorted(night.names)) for plan_id, night in nights},
        failures=() if is_long else tuple(failures.values()),
    )
