"""The whole site: which pages there are, and what each is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from ootci.history.accuracy import accuracy_nights
from ootci.history.ever_failed import NIGHTS, ever_failed
from ootci.history.named import named_failures
from ootci.history.nights import CommitCounts
from ootci.history.operators import SUITE as OPERATORS_SUITE
from ootci.history.operators import operators_of
from ootci.history.parity import parity_nights
from ootci.history.readiness import readiness
from ootci.history.store import History
from ootci.history.stored import StoredRun
from ootci.model.device import Device, RegisteredDevice
from ootci.model.outcome import NOT_PASSED
from ootci.model.run import CapabilityCounts, Run
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import DeviceVerdict, OtherTorchVerdict, Verdicts
from ootci.resources import dashboard_folder

from .badge import tests_releases
from .card import Card
from .facts import age_when_taken
from .link_pictures import link_pictures
from .links import cluster_path, device_path, site_address
from .machines import News, machine_files
from .method import method_page
from .page_maker import PageMaker, in_the_page
from .pages.accuracy import (
    DeviceAccuracyFile,
    DeviceErrors,
    OperatorRegression,
    accuracy_file,
    accuracy_page,
    device_accuracy_page,
    errors_in_short,
    operator_regressions,
    regressions_by_nightly,
)
from .pages.board import board
from .pages.capabilities import capabilities_page
from .pages.clusters import Clusters
from .pages.compat import compat_page, symbols_page
from .pages.device import device_page
from .pages.diff import NewestRuns, diff_page, newest_runs
from .pages.flaky import FlakyFile, flaky_of_device, flaky_page
from .pages.front import by_urgency, devices_file, front_grid, front_page, groups_of, nights_of_each
from .pages.health import health_page
from .pages.known import known_page
from .pages.lives import DeviceLives, Lives
from .pages.models import DeviceModels, device_models, models_page
from .pages.night_failure import night_failures
from .pages.nightlies import (
    NightReport,
    builds_of,
    night_reports,
    nightly_files,
    nightly_pages,
    withdrawn_nightlies,
)
from .pages.operators import (
    DeviceCoverage,
    device_coverage,
    device_operators_file,
    device_operators_page,
    operators_page,
)
from .pages.parity import DeviceParityFile, ParityNights, device_parity, parity_page
from .pages.past_errors import DeviceFailures, Names
from .pages.registry import add_page, registry_page
from .pages.run_files import runs_files
from .pages.runs import RunPages, with_listed
from .pages.support import SupportCell, support_of, support_page
from .pages.test_nights import TestNights, recent_failures
from .pages.trends import device_trends_page, trends_page
from .places import Places
from .publish import File, documentation_files, publish, require_documentation
from .run_pages import RunPage, by_nightly, judged_page, last_report, run_pages
from .search import Entry, search_index
from .trend_series import TrendDay, trend

STATIC = "static"
VENDOR = "vendor"


def render(
    registry: tuple[RegisteredDevice, ...],
    history: History,
    verdicts: Verdicts,
    site: Path,
    address: str | None = None,
    *,
    preview_of: str | None = None,
    docs: Path | None = None,
) -> None:
    """Write the whole dashboard. The same inputs give the same bytes; the only clock is ``verdicts.judged_at``.

    Args:
        registry: every registered device, in registry order; each gets a row and a page.
        verdicts: what the judge found; nothing is judged here.
        site: the folder to write; it is replaced as a whole.
        address: where the site is published, if that is known; pages then name their own address.
        preview_of: the device file that the pages preview, with a banner; None for the site itself.
        docs: a documentation site that is put beside the pages, which then link to it.

    Raises:
        BadOption: the address is none, or the documentation.
        HistoryCorrupt: a record of the history cannot be read back.
        HostFailure: the folder cannot be written or holds something else.

    """
    address = site_address(address) if address else None
    if docs is not None:
        require_documentation(docs)
    pages = _Pages(registry, history, verdicts, address, preview_of=preview_of, docs=docs is not None)
    beside = documentation_files(docs) if docs is not None else ()
    publish(chain(pages.files(), beside), site)


class _Pages:
    """Makes the pages one by one, and gathers on the devices' pages what those after them need."""

    def __init__(
        self,
        registry: tuple[RegisteredDevice, ...],
        history: History,
        verdicts: Verdicts,
        address: str | None,
        **known: object,
    ) -> None:
        self._registry = registry
        self._history = history
        self._verdicts = verdicts
        self._looks = dashboard_folder()
        self._nightlies = history.plans()
        self._plans = {plan.id: plan for plan in self._nightlies}
        self._withdrawn = {item.plan.id: item for item in history.withdrawn()}
        self._places = Places(history.tests)
        self._clusters = found = Clusters(registry, verdicts)
        shown = groups_of(by_urgency(devices_file(registry, verdicts).devices))
        self._order = [row.device for group in shown for row in group.rows]
        known |= {"place": self._places.of, "alike": found.alike, "control": found.control}
        known["is_first_run"] = found.is_first_run
        self._pages = PageMaker(self._looks / "templates", registry, verdicts, address, **known)
        self._ages: dict[str, str] = {}
        self._cards: dict[str, Card | None] = {}
        self._flaky: list[FlakyFile] = []
        self._lives: list[DeviceLives] = []
        self._named: list[DeviceFailures] = []
        self._newest: list[NewestRuns] = []
        self._reports: dict[str, tuple[datetime, str]] = {}
        self._capabilities: dict[str, tuple[CapabilityCounts, ...]] = {}
        self._coverage: dict[str, DeviceCoverage] = {}
        self._reports_of: dict[str, Mapping[str, NightReport]] = {}
        self._reports_withdrawn: dict[str, Mapping[str, NightReport]] = {}
        self._trends: dict[str, list[TrendDay]] = {}
        self._parity: dict[str, DeviceParityFile] = {}
        self._accuracy: dict[str, DeviceErrors] = {}
        self._models: dict[str, DeviceModels] = {}
        self._builds: dict[str, TorchBuild] = {}
        self._support: dict[str, tuple[SupportCell, ...]] = {}

    def files(self) -> Iterator[File]:
        """Every file of the site."""
        for item in self._registry:
            yield from self._device(item, self._pages.judged[item.device.name])
        plans = self._nightlies
        self._builds = builds_of(self._plans, self._reports_of)
        names = Names(self._named, plans, self._clusters.names, self._builds)
        counts = CommitCounts(plan.new_commits for plan in plans)
        broke = night_failures(self._registry, self._verdicts, self._reports_of, names, counts)
        by_operator = operator_regressions(self._accuracy.values())
        regressions = regressions_by_nightly(by_operator)
        told = self._reports_of, self._builds, names.began(), broke, regressions
        nightlies = nightly_files(self._registry, self._verdicts, plans, *told)
        gone = tuple(self._withdrawn.values())
        withdrawn = tuple(withdrawn_nightlies(self._registry, gone, self._reports_withdrawn))
        drawn = board(self._pages, self._builds, gone)
        yield from nightly_pages(self._pages, nightlies, plans, drawn, withdrawn, names.cut)
        lives = Lives(self._places, self._lives, plans, self._builds)
        yield from lives.pages(self._pages)
        yield from self._failures(lives, names)
        yield from self._others(by_operator)
        parity = {name: found.newest for name, found in self._parity.items()}
        clusters = self._clusters.names
        news = News(self._cards, broke, plans)
        yield from machine_files(self._pages, self._history.tests, clusters, parity, self._support, regressions, news)
        vendored = (path for path in (self._looks / VENDOR).iterdir() if path.suffix in (".js", ".woff2"))
        for path in sorted([*(self._looks / STATIC).iterdir(), *vendored]):
            yield f"{STATIC}/{path.name}", path.read_bytes()

    def _device(self, item: RegisteredDevice, verdict: DeviceVerdict) -> Iterator[File]:
        device = item.device
        name = device.name
        pages, nights = self._runs(device, verdict)
        counting = by_nightly(pages)
        if own_tests := device_parity(name, nights):
            self._parity[name] = own_tests
        self._reports_of[name] = night_reports(name, pages, self._plans)
        last = last_report(pages)
        if last is not None:
            self._reports[name] = (last.run.finished_at, last.path)
        self._flaky.append(flaky_of_device(device, pages, self._plans, self._places.of))
        self._pages.runs[name] = {plan_id: page.path for plan_id, page in counting.items()}
        if pages:
            self._gather(device, verdict, pages)
        judged = judged_page(pages, verdict)
        run = self._whole(judged.stored) if judged is not None else None
        plan = self._plans.get(run.plan_id) if run is not None else None
        if run is not None:
            self._capabilities[name] = run.capabilities
            if age := age_when_taken(run):
                self._ages[name] = age
        predicted = self._verdicts.predicted.of(name) if self._verdicts.predicted else None
        own = (judged.stored.without(judged.unsettled_rows), judged.path) if judged is not None else None
        others = [(other, self._run_of(other, device)) for other in self._verdicts.also if other.device == name]
        support = self._support[name] = support_of(device, verdict, own, others, predicted)
        address = self._pages.canonical("")
        heads = {plan_id: page.run for plan_id, page in counting.items()}
        ready = readiness(verdict, heads) if device.pull_requests else None
        shown = device_page(item, verdict, pages, run, plan, self._clusters.main.get(name), address, predicted, ready)
        self._clusters.read(name, shown.run)
        self._cards[name] = shown.file.card
        tested = operators_of(run.outcomes) if run is not None else None
        coverage = self._coverage[name] = device_coverage(run, tested)
        lately = self._lately(nights, shown.hrefs) if pages else None
        errors = self._errors(device, nights)
        if models := device_models(self._history, name, nights, self._pages.runs[name]):
            self._models[name] = models
        values = {"coverage": coverage, "lately": lately, "models": models, "parity": own_tests, "support": support}
        yield from shown.files(self._pages, accuracy=errors, **values, **self._beside(name))
        yield from device_accuracy_page(self._pages, errors)
        operators = device_operators_file(name, coverage, tested, judged.path if judged is not None else None)
        yield from device_operators_page(self._pages, operators, coverage)
        yield from runs_files(self._pages, device, verdict, pages, self._plans)
        days = trend(device, verdict, self._nightlies, heads, self._pages.runs[name], self._verdicts.planned_at)
        self._trends[name] = days
        yield from device_trends_page(self._pages, name, days)
        of_runs = RunPages(self._pages, self._history, device, pages, self._plans, shown)
        yield from of_runs.files()
        yield from self._of_withdrawn(name, of_runs)

    def _beside(self, name: str) -> dict[str, list[str]]:
        """The devices before and after one in the front page's order."""
        number = self._order.index(name)
        return {"before": self._order[:number][-1:], "after": self._order[number + 1 :][:1]}

    def _errors(self, device: Device, nights: ParityNights) -> DeviceAccuracyFile:
        newest_first = ((plan, run) for plan, run, _ in reversed(nights))
        found = accuracy_nights(self._history, newest_first, device.bad_ranges)
        file = accuracy_file(device.name, found, self._pages.runs[device.name])
        if (errors := errors_in_short(file)) is not None:
            self._accuracy[device.name] = errors
        return file

    def _of_withdrawn(self, name: str, pages: RunPages) -> Iterator[File]:
        """The pages of a device's runs of withdrawn nightlies."""
        if self._withdrawn:
            old = run_pages(self._history.withdrawn_runs(name))
            withdrawn = {plan_id: item.plan for plan_id, item in self._withdrawn.items()}
            self._reports_withdrawn[name] = night_reports(name, old, withdrawn)
            yield from pages.withdrawn(old, self._withdrawn)

    def _lately(self, nights: ParityNights, hrefs: Mapping[str, str]) -> tuple[list[TestNights], int]:
        found = self._lives[-1].found
        return recent_failures(found, self._nightlies, hrefs, self._history.tests, _never_held(nights))

    def _whole(self, run: StoredRun) -> Run:
        """A run with the tests that did not pass, and those of the operators."""
        return self._history.whole(run, {*run.with_outcomes(NOT_PASSED), *run.of_suites((OPERATORS_SUITE,)).rows()})

    def _run_of(self, other: OtherTorchVerdict, device: Device) -> StoredRun | None:
        """The run on another torch, without the tests that are not counted against the device."""
        nights = self._nights_of(run_pages(self._history.stored_runs(other.run_as)), device)
        return next((run.without(night.unsettled) for _, run, night in nights if run.head.id == other.run_id), None)

    def _nights_of(self, pages: Sequence[RunPage], device: Device) -> ParityNights:
        counting = by_nightly(pages)
        told = ((plan, counting[plan.id].stored) for plan in self._nightlies if plan.id in counting)
        return tuple(parity_nights(told, device.bad_ranges))

    def _runs(self, device: Device, verdict: DeviceVerdict) -> tuple[tuple[RunPage, ...], ParityNights]:
        """The page of each of a device's runs, and each night's counts of PyTorch's own tests."""
        pages = with_listed(run_pages(self._history.stored_runs(device.name)), verdict, self._plans)
        nights = self._nights_of(pages, device)
        unsettled = {plan.id: night.unsettled for plan, _, night in nights}
        return tuple(replace(page, unsettled_rows=unsettled.get(page.run.plan_id, ())) for page in pages), nights

    def _gather(self, device: Device, verdict: DeviceVerdict, pages: Sequence[RunPage]) -> None:
        """Keep the little of a device's runs that the pages of tests, of names and of differences need."""
        plans = self._nightlies
        counting = {plan_id: page.stored for plan_id, page in by_nightly(pages).items()}
        found = ever_failed(device.name, plans, [page.stored for page in pages], counting.get, self._history.tests)
        flaky = frozenset(test.id for test in self._flaky[-1].tests)
        paths = self._pages.runs[device.name]
        self._lives.append(DeviceLives(device.name, found, verdict, flaky))
        held = {plan_id: page.stored.without(page.unsettled_rows) for plan_id, page in by_nightly(pages).items()}
        names = named_failures(plans, held.get)
        self._named.append(DeviceFailures(device.name, names, paths))
        if (newest := newest_runs(device, pages, self._plans)) is not None:
            self._newest.append(newest)

    def _failures(self, lives: Lives, names: Names) -> Iterator[File]:
        yield from self._clusters.pages(self._pages, names)
        for name, nights in names.pages():
            yield self._pages.show(cluster_path(name), "gone.html", page=nights)
        devices = (item.device for item in self._registry)
        found = (Entry("device", f"{item.display_name} ({item.name})", device_path(item.name)) for item in devices)
        yield (
            f"{STATIC}/search-index.js",
            search_index(chain(found, self._clusters.found(), names.found(), lives.found()), names.without_page),
        )
        yield from flaky_page(self._pages, self._flaky)
        yield known_page(self._pages, lives.of_entry)

    def _others(self, regressions: Sequence[OperatorRegression]) -> Iterator[File]:
        file = devices_file(self._registry, self._verdicts, self._pages.runs, self._ages)
        rows, grid = by_urgency(file.devices), front_grid(self._verdicts, self._builds)
        nights = nights_of_each(self._registry, self._pages.judged, grid, self._pages.runs)
        yield from front_page(self._pages, file, grid, nights, self._clusters.featured, self._clusters.more_featured)
        if self._pages.canonical("") is not None:
            yield from link_pictures(self._verdicts, rows, groups_of(rows), nights)
        order = [row.device for row in rows]
        yield trends_page(self._pages, {name: self._trends[name] for name in order})
        yield from capabilities_page(self._pages, order, self._capabilities)
        yield from operators_page(self._pages, order, self._coverage)
        errors = [self._accuracy[name] for name in order if name in self._accuracy]
        yield from accuracy_page(self._pages, errors, regressions)
        yield from models_page(self._pages, [self._models[name] for name in order if name in self._models])
        yield from parity_page(self._pages, order, self._parity, self._places)
        yield from compat_page(self._pages)
        yield from support_page(self._pages, order, self._support)
        yield from symbols_page(self._pages, self._history, self._nightlies)
        yield from registry_page(self._pages, self._nightlies[-1] if self._nightlies else None)
        yield add_page(self._pages)
        supported = [item.device.name for item in self._registry if tests_releases(item.device)]
        yield self._pages.show("badge/index.html", "badges.html", names=order, parity=self._parity, supported=supported)
        yield diff_page(self._pages, self._newest)
        yield method_page(self._pages)
        yield from health_page(self._pages, order, self._nightlies, self._reports)
        static = self._looks / STATIC
        own = in_the_page("style", static / "style.css") | in_the_page("script", static / "moved.js")
        yield self._pages.show("404.html", "404.html", **own)


def _never_held(nights: ParityNights) -> frozenset[int]:
    """Rows of tests that failed on the newest nights and never as a regression."""
    lately = [night for _, _, night in nights[-NIGHTS:]]
    held = {row for night in lately for row in night.regressed}
    return frozenset(row for night in lately for row in night.unsettled if row not in held)
