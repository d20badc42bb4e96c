"""The pages of a device's runs: what each shows, and what tells whether it must be made again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ootci.history.compare import changes_between
from ootci.history.gc import TEXTS_NIGHTS
from ootci.history.reader import HistoryReader
from ootci.model.device import Device
from ootci.model.plan import Plan

from .changes import against
from .device_months import DeviceMonths
from .device_view import RunPage, by_nightly
from .facts import run_files
from .machines import API
from .room import WHOLE, Room
from .run_files import run_path
from .run_view import run_view

NAMED_NIGHTS = TEXTS_NIGHTS
"""So long the page of a run says everything. Then it counts what works and the tests that neither passed nor failed,
and only names failures of which nothing more is known, or the pages of a few years would be more than GitHub Pages
takes. The run's file in the API has every test, for good."""


@dataclass(frozen=True)
class Named:
    """All that the page of a run knows of its device: what else its file says changes, and the page must not."""

    name: str
    display_name: str


class RunSources:
    """What the pages of a device's runs are made from.

    Args:
        history: past runs.
        device: the device.
        pages: the pages of all its runs.
        plans: every nightly, oldest first, by id.
        place: where the nights of a test are shown, which is made of nothing but the rows of tests up to its own.
        months: what each month of the device comes to.

    """

    def __init__(
        self,
        history: HistoryReader,
        device: Device,
        pages: Sequence[RunPage],
        plans: Mapping[str, Plan],
        place: Callable[[str], str | None],
        months: DeviceMonths,
    ) -> None:
        self._history = history
        self._place = place
        self._months = months
        self._named = Named(device.name, device.display_name)
        self._plans = plans
        newest = max((plan.created_at for plan in plans.values()), default=None)
        self._named_since = newest - timedelta(days=NAMED_NIGHTS) if newest is not None else None
        self._paths = {plan_id: page.path for plan_id, page in by_nightly(pages).items()}

    def key(self, page: RunPage) -> tuple[str, ...]:
        """What differs as soon as :meth:`values` does, apart from the run itself and its plan."""
        base = self._months.base(page.past.plan_id)
        return (
            self._history.details_fingerprint(page.past),
            base.fingerprint if base is not None else "",
            repr((self._named, page.folder, page.latest, base and self._paths.get(base.parts.plan_id))),
            repr(self._is_short(page)),
        )

    def key_of_all(self, pages: Sequence[RunPage]) -> tuple[str, ...]:
        """What differs as soon as the :meth:`key` of one of them does, apart from the runs and what they follow."""
        shown = []
        for page in pages:
            base = self._months.base(page.past.plan_id)
            path = self._paths.get(base.parts.plan_id) if base is not None else None
            shown.append((page.folder, page.latest, path, self._is_short(page)))
        details = (self._history.details_fingerprint(page.past) for page in pages)
        return repr((self._named, shown)), *details

    def _is_short(self, page: RunPage) -> bool:
        plan = self._plans.get(page.past.plan_id)
        return plan is not None and self._named_since is not None and plan.created_at < self._named_since

    def values(self, page: RunPage) -> dict[str, object]:
        """All that the page shows. Nothing of the verdicts is in it, so that it stays the same from night to night."""
        found = self._months.base(page.past.plan_id)
        base = self._months.base_run(found) if found is not None else None
        changes = changes_between(base, page.stored) if base is not None else ()
        run = self._history.whole(page.stored, passed_of=())
        is_short, whole = self._is_short(page), Room(WHOLE)
        view = run_view(
            run, page.stored, self._plans.get(run.plan_id), self._place, changes, is_short=is_short, whole=whole
        )
        against_it = None
        if base is not None:
            page_of_it = self._paths.get(base.head.plan_id)
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
