"""The pages of a device's runs, and beside each the run's file for programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise

from ootci.history.baseline import Earlier, as_planned, concerns
from ootci.history.difference import changes_between
from ootci.history.gc import TEXTS_NIGHTS
from ootci.history.nights import CommitCounts
from ootci.history.reader import HistoryReader, Withdrawn
from ootci.history.stored import StoredRun
from ootci.model.device import Device
from ootci.model.outcome import FAILURES, NOT_PASSED
from ootci.model.plan import Plan
from ootci.model.torch_build import Channel
from ootci.model.verdict import AS_EXPECTED, BROKEN, NEW_FAILURES, Change, ChangeName, DeviceVerdict, Night

from ..changes import FEW, change_groups
from ..commands import commands
from ..links import LATEST, device_path
from ..page_maker import PageMaker
from ..publish import File
from ..run_pages import RunPage, by_nightly, last_report
from ..run_view import run_view
from .device import DevicePage
from .night_failure import plugin_counts, streak, streaks_of
from .published import API, api_file
from .run_files import RunFile, by_age, run_file, run_path

_LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)
RECENT_NIGHTS = 14
"""The page of an older run shows only new failures at length: the others are on the page of the run on which they were
new. Tests that neither passed nor failed are on the page of the newest run only. The file of a run has every test.
Full pages of all runs would be more than GitHub Pages takes in a few years."""
PAGE_NIGHTS = TEXTS_NIGHTS
"""An older run, or one as expected that is not recent, is a row of the list of the device's runs and has no page."""


def with_listed(pages: Sequence[RunPage], verdict: DeviceVerdict, plans: Mapping[str, Plan]) -> tuple[RunPage, ...]:
    """The pages, with those marked that are only listed. The newest report always has a page."""
    expected = {night.run_id for night in verdict.history if night.verdict in AS_EXPECTED}
    recent, kept = _since(RECENT_NIGHTS, plans), _since(PAGE_NIGHTS, plans)
    last = last_report(pages)

    def is_listed(page: RunPage) -> bool:
        plan = plans.get(page.run.plan_id)
        if plan is None or page is last:
            return False
        return plan.created_at < (recent if page.latest and page.run.id in expected else kept)

    return tuple(replace(page, is_listed=is_listed(page)) for page in pages)


def _since(nights: int, plans: Mapping[str, Plan]) -> datetime:
    """When the first of the newest nights began."""
    return max((plan.created_at for plan in plans.values()), default=_LONG_AGO) - timedelta(days=nights)


class RunPages:
    """Makes the files of a device's runs."""

    def __init__(
        self,
        maker: PageMaker,
        history: HistoryReader,
        device: Device,
        pages: Sequence[RunPage],
        plans: Mapping[str, Plan],
        shown: DevicePage,
    ) -> None:
        self._maker = maker
        self._history = history
        self._device = device
        self._pages = pages
        self._plans = plans
        self._counting = by_nightly(pages)
        self._shown = shown
        self._judged = {night.run_id: night for night in shown.file.verdict.history}
        self._streaks = streaks_of(shown.file.verdict)
        self._told = {plan_id: page.run for plan_id, page in self._counting.items()}
        self._counts = CommitCounts(plan.new_commits for plan in plans.values())
        self._of_plugin = plugin_counts(self._told)
        nights = list(pairwise(page for page in by_age(pages, plans) if page.latest))
        self._before = {after.run.id: before for before, after in nights}
        self._after = {before.run.id: after for before, after in nights}

    def files(self) -> Iterator[File]:
        """A file of every attempt, and the pages of those that are not only listed; the newest report has two."""
        earlier: dict[Channel | None, Earlier] = defaultdict(Earlier)
        last, recent = last_report(self._pages), _since(RECENT_NIGHTS, self._plans)
        for page in by_age(self._pages, self._plans):
            plan = self._plans.get(page.run.plan_id)
            file = run_file(page.stored, plan)
            yield api_file(run_path(file), file)
            if not page.is_listed:
                is_recent = page is last or plan is None or plan.created_at >= recent
                base = earlier[page.run.channel].of(page.stored).before
                yield from self._page(page, file, plan, base, is_recent=is_recent, is_last=page is last)
            # Attempts are in order, and the one that counts is the last of its nightly.
            counts = page.latest and plan is not None and concerns(plan, self._device.name)
            if plan is not None and counts and page.run.channel is not None:
                earlier[page.run.channel].add(as_planned(plan, page.stored) or page.stored)

    def withdrawn(self, pages: Sequence[RunPage], nights: Mapping[str, Withdrawn]) -> Iterator[File]:
        """A page and a file of every attempt on a nightly that does not count any more: their addresses stay."""
        for page in pages:
            night = nights[page.run.plan_id]
            file = run_file(page.stored, night.plan)
            yield api_file(run_path(file), file)
            values = self._values(page, file, night.plan, (), is_whole=True, is_recent=True)
            yield self._maker.show(page.path, "run.html", **{**values, "withdrawn": night}, latest=False)

    def _night(self, page: RunPage) -> Night | None:
        """What the judge found, where the attempt counts."""
        return self._judged.get(page.run.id) if page.latest else None

    def _page(
        self,
        page: RunPage,
        file: RunFile,
        plan: Plan | None,
        base: StoredRun | None,
        *,
        is_recent: bool,
        is_last: bool,
    ) -> Iterator[File]:
        reported = any(page.stored.states)
        comparable = base is not None and reported
        changes = changes_between(base, page.stored, unsettled=page.unsettled) if comparable else ()
        values = self._values(page, file, plan, changes, is_whole=is_last, is_recent=is_recent)
        if base is not None:
            news = [change for change in changes if change.change is not ChangeName.STILL_FAILING]
            values |= {
                "base": base.head,
                "base_page": self._counting.get(base.head.plan_id),
                "groups": change_groups(news),
                # The page of an older run has its new failures once, with their texts.
                "listed": change_groups(news)
                if is_recent
                else change_groups((change for change in news if change.change not in NEW_FAILURES), FEW),
            }
        yield self._maker.show(page.path, "run.html", **values, latest=False)
        if is_last:
            where = self._maker.canonical(page.path) or f"../{page.folder}/index.html"
            path = device_path(self._device.name, LATEST)
            yield self._maker.show(path, "run.html", **{**values, "canonical": where}, latest=True)

    def _values(
        self,
        page: RunPage,
        file: RunFile,
        plan: Plan | None,
        changes: Sequence[Change],
        *,
        is_whole: bool,
        is_recent: bool,
    ) -> dict[str, object]:
        """What the page of a run is made of, as far as it compares the run with no other."""
        run = self._history.whole(page.stored, page.stored.with_outcomes(NOT_PASSED if is_whole else FAILURES))
        night = self._night(page)
        # What the device's page shows, where its verdict is about this run.
        about = self._shown.file
        whole = about if night and night.run_id == about.verdict.run_id else None
        failing = [outcome.id for outcome in run.outcomes if outcome.is_failure]
        is_broken = bool(failing) or (night is not None and night.verdict in BROKEN)
        ends = self._streaks.get(night.plan_id) if night else None
        return {
            "device": self._device,
            "page": file,
            "permalink": page.path,
            "attempt_counts": page.latest,
            "view": run_view(
                self._shown.item,
                run,
                page.stored,
                plan,
                changes,
                page.unsettled,
                is_whole=is_whole,
                is_recent=is_recent,
            ),
            "file": None if is_whole else f"{API}/{run_path(file)}",
            "base": None,
            "groups": (),
            "withdrawn": None,
            "judged": night,
            "streak": streak(self._device, ends, self._told, self._counts, self._of_plugin)
            if ends and not (whole and whole.card)
            else None,
            "whole": whole,
            "again": commands(self._shown.item, run, failing) if is_broken and not (whole and whole.card) else (),
            "before": self._before.get(page.run.id),
            "after": self._after.get(page.run.id),
        }
