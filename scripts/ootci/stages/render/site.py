"""The whole site: which pages there are, and what each is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from ootci.history.named import named_failures
from ootci.history.not_passing import NIGHTS, not_passing
from ootci.history.operators import SUITE as OPERATORS_SUITE
from ootci.history.operators import operators_of
from ootci.history.parity import parity_nights
from ootci.history.readiness import readiness
from ootci.history.store import History
from ootci.model.device import Device, PullRequests, RegisteredDevice
from ootci.model.run import CapabilityCounts
from ootci.model.verdict import DeviceVerdict, Verdicts
from ootci.resources import dashboard_folder

from .device_view import RunPage, by_nightly, device_page, judged_page, last_report, run_pages
from .documentation import documentation_files, require_documentation
from .facts import age_when_taken
from .front import front_page, main_clusters, verdict_of_each
from .links import device_path
from .looks import PageMaker, with_style
from .machines import machine_files
from .method import method_page
from .pages.add import add_page
from .pages.board import board
from .pages.capabilities import capabilities_page
from .pages.clusters import Clusters, Reported
from .pages.compat import compat_page
from .pages.device_trends import trend_page
from .pages.diff import NewestRuns, diff_page, newest_runs
from .pages.findings import findings_file
from .pages.flaky import FlakyFile, flaky_of_device, flaky_page
from .pages.gone import DeviceFailures, Names
from .pages.health import health_page
from .pages.known import known_page
from .pages.lives import DeviceLives, Lives
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
from .pages.parity import DeviceFound, ParityNights, device_parity, parity_page
from .pages.published import API
from .pages.registry import registry_page
from .pages.run_files import RUNS, runs_file
from .pages.runs import RunPages
from .pages.symbols import symbols_page
from .pages.test_nights import recent_failures
from .pages.trends import TrendRow, trend_row, trends_page
from .permalinks import site_address, with_sitemap
from .places import Places
from .publish import File, publish
from .search import Entry, search_index
from .trend_series import trend

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
        history: past runs, for the pages of runs.
        verdicts: what the judge found; nothing is judged here.
        site: the folder to write; it is replaced as a whole.
        address: where the site is published, if that is known; pages then name their own address, and the sitemap all.
        preview_of: the device file that the pages only show a preview of, and say so; None for the site itself.
        docs: a documentation site that is put beside the pages, which then link to it.

    Raises:
        BadOption: the address is none, or the documentation.
        HistoryCorrupt: a record of the history cannot be read back.
        HostFailure: the folder cannot be written or holds something else.

    """
    address = site_address(address) if address else None
    if docs is not None:
        require_documentation(docs)
    looks = dashboard_folder()
    maker = PageMaker(looks / "templates", registry, verdicts, address, preview_of, has_docs=docs is not None)
    pages = _Pages(registry, history, verdicts, looks, maker)
    beside = documentation_files(docs) if docs is not None else ()
    publish(chain(with_sitemap(pages.files(), address), beside), site)


class _Pages:
    """Makes the pages one by one, and gathers on the devices' pages what those after them need."""

    def __init__(
        self,
        registry: tuple[RegisteredDevice, ...],
        history: History,
        verdicts: Verdicts,
        looks: Path,
        maker: PageMaker,
    ) -> None:
        self._registry = registry
        self._history = history
        self._verdicts = verdicts
        self._looks = looks
        self._pages = maker
        self._plans = {plan.id: plan for plan in history.plans()}
        self._withdrawn = {item.plan.id: item for item in history.withdrawn()}
        self._places = Places(history.tests)
        self._clusters = Clusters(registry, verdicts)
        self._main = main_clusters(verdicts)
        found = self._clusters
        maker.know(self._places.of, found.alike, found.is_first_run, found.control)
        self._ages: dict[str, str] = {}
        self._flaky: list[FlakyFile] = []
        self._lives: list[DeviceLives] = []
        self._named: list[DeviceFailures] = []
        self._newest: list[NewestRuns] = []
        self._reports: dict[str, tuple[datetime, str]] = {}
        self._paths: dict[str, dict[str, str]] = {}
        self._capabilities: dict[str, tuple[CapabilityCounts, ...]] = {}
        self._coverage: dict[str, DeviceCoverage] = {}
        self._reports_of: dict[str, Mapping[str, NightReport]] = {}
        self._reports_withdrawn: dict[str, Mapping[str, NightReport]] = {}
        self._reported: dict[str, Reported] = {}
        self._trends: dict[str, TrendRow] = {}
        self._parity: dict[str, DeviceFound] = {}

    def files(self) -> Iterator[File]:
        """Every file of the site."""
        judged = verdict_of_each(self._registry, self._verdicts)
        for item in self._registry:
            yield from self._device(item.device, judged[item.device.name])
        plans = tuple(self._plans.values())
        nightlies = nightly_files(self._registry, self._verdicts, plans, self._reports_of)
        gone = tuple(self._withdrawn.values())
        withdrawn = tuple(withdrawn_nightlies(self._registry, gone, self._reports_withdrawn))
        builds = dict(builds_of(self._plans, self._reports_of))
        drawn = board(self._registry, self._verdicts, builds, self._paths, gone)
        yield from nightly_pages(self._pages, nightlies, plans, drawn, withdrawn)
        lives = Lives(self._places, self._lives, plans, self._paths)
        yield from lives.pages(self._pages)
        yield from self._failures(lives)
        yield from self._others()
        made = (self._pages, self._registry, self._verdicts, self._paths)
        parity = {name: found.newest for name, found in self._parity.items()}
        yield from machine_files(*made, self._history.tests, self._clusters.names, parity)
        vendored = (path for path in (self._looks / VENDOR).iterdir() if path.suffix in (".js", ".woff2"))
        for path in sorted([*(self._looks / STATIC).iterdir(), *vendored]):
            yield f"{STATIC}/{path.name}", path.read_bytes()

    def _device(self, device: Device, verdict: DeviceVerdict) -> Iterator[File]:
        name = device.name
        plans = tuple(self._plans.values())
        pages, nights = self._runs(device)
        counting = by_nightly(pages)
        if own_tests := device_parity(name, nights):
            self._parity[name] = own_tests
        self._reports_of[name] = night_reports(name, pages, self._plans)
        last = last_report(pages)
        if last is not None:
            self._reports[name] = (last.run.finished_at, last.path)
        self._flaky.append(flaky_of_device(device, pages, self._plans, self._places.of))
        newest = newest_runs(device, pages, self._plans)
        if newest is not None:
            self._newest.append(newest)
        self._paths[name] = {plan_id: page.path for plan_id, page in counting.items()}
        if pages:
            self._gather(device, verdict, pages)
        judged = judged_page(pages, verdict)
        run = self._history.whole(judged.stored, passed_of=(OPERATORS_SUITE,)) if judged is not None else None
        plan = self._plans.get(run.plan_id) if run is not None else None
        if run is not None:
            self._capabilities[name] = run.capabilities
            if age := age_when_taken(run):
                self._ages[name] = age
        found = self._verdicts.predicted
        shown = device_page(
            device,
            verdict,
            pages,
            run,
            plan,
            self._main.get(name),
            self._pages.canonical(""),
            found.of(name) if found else None,
        )
        self._reported[name] = self._clusters.reported(shown, self._paths[name])
        tested = operators_of(run.outcomes) if run is not None else None
        coverage = self._coverage[name] = device_coverage(run, tested)
        lately = (
            recent_failures(
                self._lives[-1].found, plans, self._paths[name], self._history.tests, self._places, _never_held(nights)
            )
            if pages
            else None
        )
        heads = {plan_id: page.run for plan_id, page in counting.items()}
        ready = readiness(verdict, heads) if device.pull_requests is not PullRequests.NEVER else None
        values = {"coverage": coverage, "lately": lately, "parity": own_tests, "readiness": ready}
        yield self._pages.show(device_path(name), "device.html", page=shown, **values)
        operators = device_operators_file(name, coverage, tested, judged.path if judged is not None else None)
        yield from device_operators_page(self._pages, operators, coverage)
        findings = shown.run.findings if shown.run is not None else ()
        yield f"{API}/findings/{name}.json", findings_file(name, verdict.run_id, findings)
        yield f"{API}/{RUNS}/{name}.json", runs_file(name, pages, self._plans)
        yield from self._trend(device, verdict, counting)
        of_runs = RunPages(self._pages, self._history, device, pages, self._plans, shown)
        yield from of_runs.files()
        if self._withdrawn:
            old = run_pages(self._history.withdrawn_runs(name))
            withdrawn = {plan_id: item.plan for plan_id, item in self._withdrawn.items()}
            self._reports_withdrawn[name] = night_reports(name, old, withdrawn)
            yield from of_runs.withdrawn(old, self._withdrawn)

    def _runs(self, device: Device) -> tuple[tuple[RunPage, ...], ParityNights]:
        """The page of each of a device's runs, and what each night says of PyTorch's own tests."""
        pages = run_pages(self._history.stored_runs(device.name))
        counting = by_nightly(pages)
        told = ((plan, counting[plan.id].stored) for plan in self._plans.values() if plan.id in counting)
        nights = tuple(parity_nights(told, device.bad_ranges))
        unsettled = {plan.id: night.unsettled for plan, _, night in nights}
        return tuple(replace(page, unsettled_rows=unsettled.get(page.run.plan_id, ())) for page in pages), nights

    def _gather(self, device: Device, verdict: DeviceVerdict, pages: Sequence[RunPage]) -> None:
        """Keep the little of a device's runs that the pages of tests and of names need."""
        plans = tuple(self._plans.values())
        counting = {plan_id: page.stored for plan_id, page in by_nightly(pages).items()}
        found = not_passing(device.name, plans, [page.stored for page in pages], counting.get, self._history.tests)
        flaky = frozenset(test.id for test in self._flaky[-1].tests)
        paths = self._paths[device.name]
        self._lives.append(DeviceLives(device.name, found, verdict, flaky))
        held = {plan_id: page.stored.without(page.unsettled_rows) for plan_id, page in by_nightly(pages).items()}
        names = named_failures(plans, held.get)
        self._named.append(DeviceFailures(device, names, paths))

    def _trend(self, device: Device, verdict: DeviceVerdict, counting: Mapping[str, RunPage]) -> Iterator[File]:
        runs = {plan_id: page.run for plan_id, page in counting.items()}
        plans, paths = tuple(self._plans.values()), self._paths[device.name]
        days = trend(device, verdict, plans, runs, paths, self._verdicts.planned_at)
        self._trends[device.name] = trend_row(device.name, days)
        yield from trend_page(self._pages, device.name, days)

    def _failures(self, lives: Lives) -> Iterator[File]:
        builds = dict(builds_of(self._plans, self._reports_of))
        names = Names(self._named, tuple(self._plans.values()), self._clusters.names, builds)
        yield from self._clusters.pages(self._pages, self._reported, names)
        for gone in names.pages():
            yield self._pages.show(gone.page, "gone.html", page=gone)
        devices = (item.device for item in self._registry)
        found = (Entry("device", f"{item.display_name} ({item.name})", device_path(item.name)) for item in devices)
        yield (
            f"{STATIC}/search-index.js",
            search_index(chain(found, self._clusters.found(), names.found(), lives.found())),
        )
        yield from flaky_page(self._pages, self._flaky)
        yield known_page(self._pages, self._registry, self._verdicts, lives.of_entry)

    def _others(self) -> Iterator[File]:
        together = self._clusters.together
        builds = dict(builds_of(self._plans, self._reports_of))
        front = front_page(
            self._registry,
            self._verdicts,
            together.rows,
            pages=self._paths,
            builds=builds,
            ages=self._ages,
            address=self._pages.canonical(""),
        )
        yield self._pages.show("index.html", "front.html", page=front, together=together)
        trends = trends_page((self._trends[row.device.name] for row in front.rows), self._verdicts.planned_at)
        yield self._pages.show("trends/index.html", "trends.html", page=trends)
        order = [row.device.name for row in front.rows]
        yield from capabilities_page(self._pages, order, self._capabilities)
        yield from operators_page(self._pages, order, self._coverage)
        yield from parity_page(self._pages, order, self._parity, self._places)
        yield from compat_page(self._pages, self._verdicts.predicted)
        yield from symbols_page(self._pages, self._registry, self._history, tuple(self._plans.values()))
        yield from registry_page(self._pages, self._registry, next(reversed(self._plans.values()), None))
        yield add_page(self._pages)
        rows = [row.device for row in front.rows]
        yield self._pages.show("badge/index.html", "badges.html", rows=rows, parity=self._parity)
        yield self._pages.show("diff/index.html", "diff.html", page=diff_page(self._newest))
        yield self._pages.show("method/index.html", "method.html", page=method_page(self._verdicts.gate_record))
        made = (self._pages, self._registry, self._verdicts)
        yield from health_page(*made, tuple(self._plans.values()), self._reports, self._paths)
        yield self._pages.show("404.html", "404.html", **with_style(self._looks / STATIC / "style.css"))


def _never_held(nights: ParityNights) -> frozenset[int]:
    """Rows of tests that failed on the newest nights and never as a regression."""
    lately = [night for _, _, night in nights[-NIGHTS:]]
    held = {row for night in lately for row in night.regressed}
    return frozenset(row for night in lately for row in night.unsettled if row not in held)
