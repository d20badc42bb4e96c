"""A device's page, and where the pages of its runs lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.history.nights import attempts_by_nightly
from ootci.history.stored import StoredRun
from ootci.model.cluster import Cluster
from ootci.model.compat import DevicePrediction
from ootci.model.device import BadRange, Device, bad_range
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import ChangeName, DeviceVerdict, KnownFailureState

from .card import Card, card
from .changes import ChangeGroup, change_groups
from .facts import Fact, TorchView, contacts, device_facts, torch_view
from .links import device_path, folder_name
from .nights import NightRow, NightsOf, in_words, night_grid, night_rows
from .run_view import RunView, run_view
from .status import CHANGES, KNOWN, VERDICTS, WHERE, Status
from .words import changed, day, many

NIGHTS = 30

_FLAKY = Status("flaky", "warn", "wave")


@dataclass(frozen=True)
class RunPage:
    """The page of one attempt.

    Attributes:
        stored: the attempt, as the history keeps it.
        folder: its folder, relative to the device's.
        latest: whether it is the attempt that counts for its nightly.
        unsettled_rows: failing tests that are not held against the device, see :mod:`ootci.history.parity`.

    """

    stored: StoredRun
    folder: str
    latest: bool
    unsettled_rows: Sequence[int] = ()

    @property
    def unsettled(self) -> frozenset[str]:
        """Their ids."""
        return frozenset(self.stored.ids(self.unsettled_rows))

    @property
    def run(self) -> Run:
        """The attempt without its tests."""
        return self.stored.head

    @property
    def path(self) -> str:
        """Where the page lies, from the top."""
        return device_path(self.run.device, self.folder)


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
        nights: the last ``NIGHTS`` nights that concerned the device; None before the first.

    """

    passed: str | None
    tallies: tuple[Tally, ...]
    nights: NightsOf | None


@dataclass(frozen=True)
class DevicePage:
    """Everything that a device's page shows."""

    device: Device
    verdict: DeviceVerdict
    status: Status
    where: str | None
    since: str | None
    nights_in_a_row: str | None
    torch: TorchView | None
    run: RunView | None
    glance: Glance
    card: Card | None
    run_href: str | None
    changes: tuple[ChangeGroup, ...]
    has_run_before: bool
    torch_changed: str
    plugin_changed: str
    nights: tuple[NightRow, ...]
    nights_words: str
    bad_ranges: tuple[BadRange, ...]
    earlier_attempts: tuple[RunPage, ...]
    last_report: RunPage | None
    facts: tuple[Fact, ...]
    contacts: tuple[Fact, ...]
    predicted: DevicePrediction | None


def run_pages(runs: Sequence[StoredRun]) -> tuple[RunPage, ...]:
    """A page for every attempt. The one that counts lies at the nightly's id, earlier ones beneath it."""
    latest = {plan_id: found[-1].head.attempt for plan_id, found in attempts_by_nightly(runs).items()}
    return tuple(
        RunPage(run, folder_name(head.plan_id), True)
        if head.attempt == latest[head.plan_id]
        else RunPage(run, f"{folder_name(head.plan_id)}/attempt-{head.attempt}", False)
        for run, head in ((run, run.head) for run in runs)
    )


def by_nightly(pages: Sequence[RunPage]) -> dict[str, RunPage]:
    """The page of the attempt that counts, by nightly."""
    return {page.run.plan_id: page for page in pages if page.latest}


def last_report(pages: Sequence[RunPage]) -> RunPage | None:
    """The page of the newest report, of the attempts that count."""
    return next((page for page in reversed(pages) if page.latest), None)


def judged_page(pages: Sequence[RunPage], verdict: DeviceVerdict) -> RunPage | None:
    """The page of the run that the verdict was derived from."""
    return next((page for page in pages if page.latest and page.run.id == verdict.run_id), None)


def device_page(
    device: Device,
    verdict: DeviceVerdict,
    pages: Sequence[RunPage],
    run: Run | None,
    plan: Plan | None,
    cluster: Cluster | None = None,
    address: str | None = None,
    predicted: DevicePrediction | None = None,
) -> DevicePage:
    """A device's page.

    Args:
        device: the device.
        verdict: what the judge found.
        pages: every page of its runs.
        run: the run that the verdict was derived from; tests that passed may be left out of it.
        plan: the nightly of that run.
        cluster: the failures that most of what is wrong with it is part of.
        address: where the site is published, if that is known.
        predicted: what is predicted of the device, if anything.

    """
    page = judged_page(pages, verdict)
    ranges = (bad_range(device.bad_ranges, night.date) for night in verdict.history)
    # Without anything before it, no test of a run is new or changed.
    changed_tests = () if verdict.is_first else verdict.changes
    changes = change_groups(changed_tests)
    view = run_view(run, page.stored, plan, changed_tests, page.unsettled) if run and page else None
    hrefs = {plan_id: f"{counting.folder}/index.html" for plan_id, counting in by_nightly(pages).items()}
    return DevicePage(
        device=device,
        verdict=verdict,
        status=VERDICTS[verdict.verdict],
        where=WHERE.get(verdict.verdict),
        since=day(verdict.since) if verdict.since else None,
        nights_in_a_row=many(verdict.nights_since, "night") if verdict.nights_since else None,
        torch=torch_view(verdict.torch_request, verdict.torch) if verdict.torch_request else None,
        run=view,
        glance=glance(verdict, view, device.bad_ranges, hrefs),
        card=card(device, verdict, run, cluster, address),
        run_href=f"{page.folder}/index.html" if page else None,
        changes=changes,
        has_run_before=len(hrefs) > 1,
        torch_changed=changed(verdict.torch_changed),
        plugin_changed=changed(verdict.plugin_changed),
        nights=night_rows(verdict, hrefs, device.bad_ranges),
        nights_words=in_words(verdict.history, device.bad_ranges),
        bad_ranges=tuple(dict.fromkeys(filter(None, ranges))),
        earlier_attempts=tuple(
            other for other in pages if page and other.run.plan_id == page.run.plan_id and not other.latest
        ),
        last_report=last_report(pages) if page is None else None,
        facts=device_facts(device),
        contacts=contacts(device),
        predicted=predicted,
    )


def glance(verdict: DeviceVerdict, run: RunView | None, ranges: Sequence[BadRange], pages: Mapping[str, str]) -> Glance:
    """The top of a device's page.

    Args:
        verdict: what the judge found.
        run: the run that the verdict was derived from, as the page shows it.
        ranges: nights of the device that say nothing.
        pages: the page of each of its nights, by nightly.

    """
    grid = night_grid((night.plan_id, night.date) for night in verdict.history[-NIGHTS:])
    return Glance(
        passed=str(verdict.counts.pass_rate) if run is not None and verdict.counts.executed else None,
        tallies=_tallies(verdict, run) if run is not None else (),
        nights=grid.row(verdict, pages, ranges) if verdict.history else None,
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
