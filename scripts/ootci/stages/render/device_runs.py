"""The files of a device's runs: a page and a file for programs of each attempt, a month at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ootci.model.plan import Plan

from .device_months import DeviceMonths
from .device_view import RunPage
from .links import LATEST, device_path
from .machines import API
from .page_maker import PageMaker
from .reuse import Batch, File, Files, Reusable, digest
from .run_files import run_file, run_path
from .run_page import RunSources

_TEMPLATE = "run.html"


class DeviceRuns:
    """Makes the files of a device's runs.

    Args:
        maker: makes pages.
        sources: what the pages are made from.
        months: what each month of the device comes to.
        plans: every nightly, by id.
        planned: a digest of each of them.
        last: the page of the newest report.

    """

    def __init__(
        self,
        maker: PageMaker,
        sources: RunSources,
        months: DeviceMonths,
        plans: Mapping[str, Plan],
        planned: Mapping[str, str],
        last: RunPage | None,
    ) -> None:
        self._maker = maker
        self._sources = sources
        self._months = months
        self._plans = plans
        self._planned = planned
        self._last = last
        self._of_last: Mapping[str, object] | None = None

    def files(self) -> Iterator[Files]:
        """The files of all runs. Those of a month that is over stay the same together, however many they are."""
        for month, pages in self._months.pages.items():
            since = self._months.key(month)
            if since is None:
                yield from self._of(pages)
            else:
                key = digest(self._maker.makers_and_address, since, *self._sources.key_of_all(pages))
                paths = [path for page in pages for path in (_file_path(page), page.path)]
                name = f"runs of {pages[0].past.device} in {month}"
                yield Batch(name, key, paths, partial(self._of, pages))

    def latest(self) -> Iterator[File]:
        """The page of the newest report, shown once more where it can be found without knowing the nightly."""
        page = self._last
        if page is not None:
            where = self._maker.canonical(page.path) or f"../{page.folder}/index.html"
            shown = {**self._values(page), "latest": True, "canonical": where}
            yield self._maker.show(device_path(page.past.device, LATEST), _TEMPLATE, **shown)

    def _of(self, pages: Sequence[RunPage]) -> Iterator[Reusable]:
        for page in pages:
            past, plan = page.past, self._plans.get(page.past.plan_id)
            facts = self._months.fingerprint(page), self._planned.get(past.plan_id, "")
            yield Reusable(_file_path(page), digest(self._maker.makers, *facts), partial(_run_file, page, plan))
            key = (*facts, *self._sources.key(page))
            yield self._maker.reusable(page.path, _TEMPLATE, key, partial(self._values, page))

    def _values(self, page: RunPage) -> Mapping[str, object]:
        if page is not self._last:
            return self._sources.values(page)
        # It is shown twice.
        self._of_last = self._of_last or self._sources.values(page)
        return self._of_last


def _file_path(page: RunPage) -> str:
    return f"{API}/{run_path(page.past)}"


def _run_file(page: RunPage, plan: Plan | None) -> bytes:
    return run_file(page.stored, plan)
