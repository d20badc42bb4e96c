"""A device's page: its verdict, what broke and how to reproduce it, and its newest run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ootci.history.readiness import Readiness
from ootci.model.cluster import Cluster
from ootci.model.compat import DevicePrediction
from ootci.model.device import BadRange, RegisteredDevice, bad_range
from ootci.model.plan import Plan
from ootci.model.record import Record, Time
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict

from ..card import Card, card
from ..changes import ChangeGroup, change_groups
from ..commands import commands
from ..links import device_path
from ..nights import NightsOf, night_grid
from ..publish import File
from ..run_pages import RunPage, by_nightly, judged_page, last_report
from ..run_view import RunView, run_view
from .findings import Finding
from .published import Compact, RegisteredEntry, api_file

if TYPE_CHECKING:
    from ..page_maker import PageMaker  # imports Jinja, which readers of the file do without

NIGHTS = 30
_TOP = "../../../"


class EarlierAttempt(Record):
    """An attempt on the newest nightly that a later one replaced."""

    attempt: int
    """1 for the first attempt."""
    page: str
    """Address of its page, or of its row in the list of the device's runs."""


class LastReport(Record):
    """The newest report of a device."""

    finished_at: Time
    """When its last stage ended."""
    page: str
    """Address of its page."""


class DeviceFile(RegisteredEntry, Compact):
    """devices/<device>.json: a device on the newest nightly. Its runs, operators and trends have files of their own."""

    torch_name: str
    """Its name in ``torch.device``."""
    description: str | None
    """What it is, by its device file."""
    verdict: DeviceVerdict
    """The verdict, as in verdicts.json."""
    card: Card | None
    """What broke, since when, whose it is and how to reproduce it; null where the device is not broken."""
    command: str
    """The command that tests it, with the torch and the plugin of the run."""
    run_page: str | None
    """Address of the permanent page of the run that the verdict was derived from; null where there is none."""
    findings: tuple[Finding, ...]
    """What to fix first by that run: errors, because they decide the verdict, then refusals; of each what explains most
    tests first. A device of which less than a tenth of the tests does not pass has only what it lacks."""
    earlier_attempts: tuple[EarlierAttempt, ...]
    """Earlier attempts of that run."""
    last_report: LastReport | None
    """The newest report, where the verdict is derived from none."""
    predicted: DevicePrediction | None
    """What is predicted from its public wheel or source; null where nothing was."""
    readiness: Readiness | None
    """Whether it meets the criteria of the CI relay for level L3; null where it does not test pull requests."""


@dataclass(frozen=True)
class DevicePage:
    """A device's page: its file, and what it shows besides.

    Attributes:
        item: the device and its file.
        run: the run that the verdict was derived from; None where there is none.
        hrefs: by nightly, the page of its run, relative to the device's.
        window: the last ``NIGHTS`` nights that concerned the device.
        bad_ranges: those of its ranges in which there was a nightly.

    """

    item: RegisteredDevice
    file: DeviceFile
    run: RunView | None
    hrefs: Mapping[str, str]
    window: NightsOf
    changes: tuple[ChangeGroup, ...]
    bad_ranges: tuple[BadRange, ...]

    def files(self, maker: PageMaker, **others: object) -> Iterator[File]:
        """The page and its file; ``others`` are the parts that have a file of their own."""
        yield maker.show(
            device_path(self.file.device),
            "device.html",
            page=self.file,
            item=self.item,
            view=self.run,
            hrefs=self.hrefs,
            window=self.window,
            changes=self.changes,
            bad_ranges=self.bad_ranges,
            **others,
        )
        yield api_file(f"devices/{self.file.device}.json", self.file)


def device_page(
    item: RegisteredDevice,
    verdict: DeviceVerdict,
    pages: Sequence[RunPage],
    run: Run | None,
    plan: Plan | None,
    cluster: Cluster | None = None,
    address: str | None = None,
    predicted: DevicePrediction | None = None,
    readiness: Readiness | None = None,
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
    view = (
        run_view(item, run, page.stored, plan, changed, page.unsettled, claims=verdict.unsupported)
        if run and page
        else None
    )
    last = last_report(pages) if page is None else None
    registered: dict[str, Any] = {**RegisteredEntry.of(device), "page": f"{_TOP}{device_path(device.name)}"}
    file = DeviceFile(
        **registered,
        torch_name=device.torch_name,
        description=device.description,
        verdict=verdict,
        card=card(item, verdict, run, cluster, address),
        command=commands(item, verdict)[0],
        run_page=f"{_TOP}{page.path}" if page else None,
        findings=view.findings if view else (),
        earlier_attempts=tuple(
            EarlierAttempt(attempt=other.run.attempt, page=f"{_TOP}{other.path}")
            for other in pages
            if page and other.run.plan_id == page.run.plan_id and not other.latest
        ),
        last_report=LastReport(finished_at=last.run.finished_at, page=f"{_TOP}{last.path}") if last else None,
        predicted=predicted,
        readiness=readiness,
    )
    return DevicePage(
        item=item,
        file=file,
        run=view,
        hrefs=hrefs,
        window=grid.row(verdict, hrefs, device.bad_ranges),
        changes=change_groups(changed),
        bad_ranges=tuple(dict.fromkeys(filter(None, ranges))),
    )
