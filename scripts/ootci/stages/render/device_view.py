"""A device's page, and where the pages of its runs lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.history.nights import attempts_by_nightly
from ootci.history.stored import StoredRun
from ootci.model.cluster import Cluster
from ootci.model.compat import DevicePrediction
from ootci.model.device import BadRange, Device, RegisteredDevice, bad_range
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict

from .card import Card, card
from .changes import ChangeGroup, change_groups
from .commands import commands
from .links import RUNS, device_path, folder_name
from .nights import NightsOf, night_grid
from .run_view import RunView, run_view

NIGHTS = 30


@dataclass(frozen=True)
class RunPage:
    """The page of one attempt.

    Attributes:
        stored: the attempt, as the history keeps it.
        folder: its folder, relative to the device's.
        latest: whether it is the attempt that counts for its nightly.
        is_listed: whether it has no page of its own any more, only a row in the list of the device's runs.
        unsettled_rows: failing tests that are not counted against the device, see :mod:`ootci.history.parity`.

    """

    stored: StoredRun
    folder: str
    latest: bool
    is_listed: bool = False
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
    def below(self) -> str:
        """Address of the page, or of the row, from the device's folder."""
        return f"{RUNS}/index.html#{self.folder}" if self.is_listed else f"{self.folder}/index.html"

    @property
    def path(self) -> str:
        """Its address from the top."""
        return device_path(self.run.device).replace("index.html", self.below)


@dataclass(frozen=True)
class DevicePage:
    """What a device's page shows besides its device file and its verdict.

    Attributes:
        item: the device and its file.
        again: the command that tests it, with the torch and the plugin of the run.
        run: the run that the verdict was derived from; None where there is none, as is ``page``.
        hrefs: by nightly, the page of its run, relative to the device's.
        window: the last ``NIGHTS`` nights that concerned the device.
        bad_ranges: those of its ranges in which there was a nightly.
        last_report: the page of the newest report, where the verdict is derived from none.

    """

    item: RegisteredDevice
    again: str
    verdict: DeviceVerdict
    run: RunView | None
    page: RunPage | None
    hrefs: Mapping[str, str]
    window: NightsOf
    card: Card | None
    changes: tuple[ChangeGroup, ...]
    bad_ranges: tuple[BadRange, ...]
    earlier_attempts: tuple[RunPage, ...]
    last_report: RunPage | None
    predicted: DevicePrediction | None

    @property
    def device(self) -> Device:
        """The device."""
        return self.item.device


def run_pages(runs: Sequence[StoredRun]) -> tuple[RunPage, ...]:
    """A page for every attempt. The one that counts is at the nightly's id, earlier ones beneath it."""
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
    item: RegisteredDevice,
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
        run: the run that the verdict was derived from; tests that passed may be left out of it.
        plan: the nightly of that run.
        cluster: the failures that most of what is wrong with it is part of.
        address: where the site is published, if that is known.

    """
    device, page = item.device, judged_page(pages, verdict)
    ranges = (bad_range(device.bad_ranges, night.date) for night in verdict.history)
    # Without anything before it, no test of a run is new or changed.
    changed = () if verdict.is_first else verdict.changes
    hrefs = {plan_id: counting.below for plan_id, counting in by_nightly(pages).items()}
    grid = night_grid((night.plan_id, night.date) for night in verdict.history[-NIGHTS:])
    return DevicePage(
        item=item,
        again=commands(item, verdict)[0],
        verdict=verdict,
        run=run_view(item, run, page.stored, plan, changed, page.unsettled, claims=verdict.unsupported)
        if run and page
        else None,
        page=page,
        hrefs=hrefs,
        window=grid.row(verdict, hrefs, device.bad_ranges),
        card=card(item, verdict, run, cluster, address),
        changes=change_groups(changed),
        bad_ranges=tuple(dict.fromkeys(filter(None, ranges))),
        earlier_attempts=tuple(
            other for other in pages if page and other.run.plan_id == page.run.plan_id and not other.latest
        ),
        last_report=last_report(pages) if page is None else None,
        predicted=predicted,
    )
