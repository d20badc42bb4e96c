"""Where the pages of a device's runs lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ootci.history.nights import attempts_by_nightly
from ootci.history.stored import StoredRun
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict

from .links import RUNS, device_path, folder_name


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
