"""The pages of a device's runs, and beside each the run's file for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ootci.history.base import as_planned, base_of, concerns
from ootci.history.compare import changes_between
from ootci.history.gc import TEXTS_NIGHTS
from ootci.history.reader import HistoryReader
from ootci.history.stored import StoredRun
from ootci.model.device import Device
from ootci.model.plan import Plan

from .changes import against
from .device_view import RunPage, by_nightly, last_report
from .facts import run_files
from .links import LATEST, device_path
from .looks import PageMaker
from .machines import API
from .publish import File
from .room import WHOLE, Room
from .run_files import by_age, run_file, run_path
from .run_view import run_view

NAMED_NIGHTS = TEXTS_NIGHTS
"""So long the page of a run says everything. Then it counts what works and the tests that neither passed nor failed,
and only names failures of which nothing more is known, or the pages of a few years would be more than GitHub Pages
takes. The run's file in the API has every test, for good."""

_TEMPLATE = "run.html"


@dataclass(frozen=True)
class Named:
    """All that the page of a run knows of its device: what else its file says changes, and the page must not."""

    name: str
    display_name: str


class RunPages:
    """Makes the files of a device's runs.

    Args:
        maker: makes pages.
        history: past runs.
        device: the device.
        pages: the pages of all its runs.
        plans: every nightly, oldest first, by id.
        place: where the nights of a test are shown, as an address from the top.

    """

    def __init__(
        self,
        maker: PageMaker,
        history: HistoryReader,
        device: Device,
        pages: Sequence[RunPage],
        plans: Mapping[str, Plan],
        place: Callable[[str], str | None],
    ) -> None:
        self._maker = maker
        self._history = history
        self._named = Named(device.name, device.display_name)
        self._pages = pages
        self._plans = plans
        self._place = place
        newest = max((plan.created_at for plan in plans.values()), default=None)
        self._named_since = newest - timedelta(days=NAMED_NIGHTS) if newest is not None else None
        self._counting = by_nightly(pages)

    def files(self) -> Iterator[File]:
        """A page and a file of every attempt; the newest report has its page once more at an address of its own."""
        base, last = None, last_report(self._pages)
        for page in by_age(self._pages, self._plans):
            plan = self._plans.get(page.past.plan_id)
            yield f"{API}/{run_path(page.past)}", run_file(page.stored, plan)
            values = self._values(page, plan, base)
            yield self._maker.show(page.path, _TEMPLATE, **values)
            if page is last:
                where = self._maker.canonical(page.path) or f"../{page.folder}/index.html"
                shown = {**values, "latest": True, "canonical": where}
                yield self._maker.show(device_path(self._named.name, LATEST), _TEMPLATE, **shown)
            # Attempts are in order, and the one that counts is the last of its nightly.
            if page.latest and plan is not None and concerns(plan, self._named.name):
                base = base_of(base, as_planned(plan, page.stored) or page.stored)

    def _values(self, page: RunPage, plan: Plan | None, base: StoredRun | None) -> dict[str, object]:
        """All that the page shows. Nothing of the verdicts is in it, so that it stays the same from night to night."""
        changes = changes_between(base, page.stored) if base is not None else ()
        run = self._history.whole(page.stored, passed_of=())
        is_short, whole = self._is_short(plan), Room(WHOLE)
        view = run_view(run, page.stored, plan, self._place, changes, is_short=is_short, whole=whole)
        against_it = None
        if base is not None:
            counting = self._counting.get(base.head.plan_id)
            page_of_it = counting.path if counting is not None else None
            against_it = against(base, page_of_it, changes, self._place, comparable=view.reported, whole=whole)
        return {
            "device": self._named,
            "page": page,
            "view": view,
            "against": against_it,
            "files": run_files(run),
            "named_in": f"{API}/{run_path(page.past)}" if is_short else None,
            "latest": False,
        }

    def _is_short(self, plan: Plan | None) -> bool:
        return plan is not None and self._named_since is not None and plan.created_at < self._named_since
