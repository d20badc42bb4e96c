"""The whole site: which pages there are, and what each is made from."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from ootci.history.flakiness import SAMPLE, TURNS
from ootci.history.named import KEPT, named_failures
from ootci.history.not_passing import not_passing
from ootci.history.operators import SUITE as OPERATORS_SUITE
from ootci.history.operators import operators_of
from ootci.history.store import History
from ootci.history.trends import Measured, measured, trend
from ootci.model.device import Device, RegisteredDevice
from ootci.model.published_nights import NightlyEntry
from ootci.model.run import CapabilityCounts, Run
from ootci.model.verdict import DeviceVerdict, Verdicts
from ootci.resources import dashboard_folder

from .capabilities import capabilities_page
from .clusters import Clusters, Reported
from .coverage import DeviceCoverage, DeviceCoveragePage, coverage_page, device_coverage, device_coverage_page
from .device_trends import trend_page
from .device_view import RunPage, by_nightly, device_page, judged_page, last_report, run_pages
from .diff_view import NewestRuns, diff_page, newest_runs
from .documentation import documentation_files, require_documentation
from .facts import age_when_taken
from .flaky import FlakyOfDevice, flaky_of_device, flaky_page
from .front import front_page, verdict_of_each
from .gone import DeviceFailures, Names
from .health import LastReport, health_page
from .known import known_page
from .life_files import LIVES, flaky_file, life_file, life_path, lives_file
from .life_row import DeviceLives
from .links import TRENDS, device_path, operators_path
from .lives import Lives
from .looks import PageMaker, with_style
from .machines import API, machine_files
from .matrix_files import OPERATORS, capabilities_file, device_operators_file, operators_file
from .method import method_page
from .night_files import NIGHTLIES, nightlies_file, nightly_entry, nightly_file, nightly_file_path, trend_file
from .nightlies import NIGHTS_LISTED, NightlyPage, NightReport, night_reports, nightly_pages
from .permalinks import site_address, with_sitemap
from .places import Places
from .publish import File, publish
from .registry_files import health_file, registry_file
from .registry_page import add_page, registry_page
from .run_files import RUNS, runs_file
from .run_page import RunPages
from .status import VERDICTS
from .stretches import signs
from .trends import TrendRow, trend_row, trends_page

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
    maker = PageMaker(looks / "templates", verdicts, address, preview_of, has_docs=docs is not None)
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
        self._places = Places(history.tests)
        self._clusters = Clusters(registry, verdicts, self._places.of)
        self._durations: dict[str, float] = {}
        self._ages: dict[str, str] = {}
        self._flaky: list[FlakyOfDevice] = []
        self._lives: list[DeviceLives] = []
        self._named: list[DeviceFailures] = []
        self._newest: list[NewestRuns] = []
        self._reports: dict[str, LastReport] = {}
        self._paths: dict[str, dict[str, str]] = {}
        self._capabilities: dict[str, tuple[CapabilityCounts, ...]] = {}
        self._coverage: dict[str, DeviceCoverage] = {}
        self._reports_of: dict[str, Mapping[str, NightReport]] = {}
        self._reported: dict[str, Reported] = {}
        self._trends: dict[str, TrendRow] = {}

    def files(self) -> Iterator[File]:
        """Every file of the site."""
        judged = verdict_of_each(self._registry, self._verdicts)
        for item in self._registry:
            yield from self._device(item.device, judged[item.device.name])
        yield from self._nightlies()
        lives = Lives(self._places, self._lives, tuple(self._plans.values()), self._clusters.alike)
        yield from self._tests(lives)
        yield from self._failures(lives)
        yield from self._others()
        made = (self._pages, self._registry, self._verdicts, self._paths)
        yield from machine_files(*made, self._history.tests, self._clusters.names)
        for path in sorted([*(self._looks / STATIC).iterdir(), *(self._looks / VENDOR).glob("*.js")]):
            yield f"{STATIC}/{path.name}", path.read_bytes()

    def _device(self, device: Device, verdict: DeviceVerdict) -> Iterator[File]:
        name = device.name
        pages = run_pages(self._history.stored_runs(name))
        counting = by_nightly(pages)
        self._reports_of[name] = night_reports(name, pages, self._plans)
        last = last_report(pages)
        if last is not None:
            self._reports[name] = LastReport(last.run.finished_at, last.path)
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
            self._durations[name], self._capabilities[name] = run.duration, run.capabilities
            if age := age_when_taken(run):
                self._ages[name] = age
        shown = device_page(device, verdict, pages, run, plan, self._clusters.alike, self._places.of)
        self._reported[name] = self._clusters.reported(shown, self._paths[name])
        operators = self._operators(device, verdict, run, judged)
        values = {"stage": self._clusters.of_stage(verdict), "coverage": operators}
        yield self._pages.show(device_path(name), "device.html", page=shown, **values)
        yield self._pages.show(operators_path(name), "device_operators.html", page=operators)
        yield f"{API}/{OPERATORS}/{name}.json", device_operators_file(operators)
        yield f"{API}/{RUNS}/{name}.json", runs_file(name, pages, self._plans)
        yield from self._trend(device, verdict, counting)
        yield from RunPages(self._pages, self._history, device, pages, self._plans, self._places.of).files()

    def _gather(self, device: Device, verdict: DeviceVerdict, pages: Sequence[RunPage]) -> None:
        """Keep the little of a device's runs that the pages of tests and of names need."""
        plans = tuple(self._plans.values())
        counting = {plan_id: page.stored for plan_id, page in by_nightly(pages).items()}
        found = not_passing(device.name, plans, [page.stored for page in pages], counting.get, self._history.tests)
        flaky = frozenset(row.test.id for row in self._flaky[-1].rows)
        paths = self._paths[device.name]
        self._lives.append(DeviceLives(device, found, verdict, flaky, paths))
        names = named_failures(plans, counting.get)
        self._named.append(DeviceFailures(device, names, paths))

    def _trend(self, device: Device, verdict: DeviceVerdict, counting: Mapping[str, RunPage]) -> Iterator[File]:
        def said(plan_id: str) -> Measured | None:
            expected = self._plans[plan_id].expected(device.name)
            return measured(counting[plan_id].run, expected) if expected and plan_id in counting else None

        days = trend(device, tuple(self._plans.values()), said, self._verdicts.planned_at)
        self._trends[device.name] = trend_row(device, verdict, days)
        hrefs = {plan_id: f"../{page.folder}/index.html" for plan_id, page in counting.items()}
        shown = trend_page(device, verdict, days, hrefs)
        yield self._pages.show(device_path(device.name, TRENDS), "device_trends.html", page=shown)
        yield f"{API}/trends/{device.name}.json", trend_file(device.name, verdict, days, self._paths[device.name])

    def _operators(
        self, device: Device, verdict: DeviceVerdict, run: Run | None, judged: RunPage | None
    ) -> DeviceCoveragePage:
        tested = operators_of(run.outcomes) if run is not None else None
        row = self._coverage[device.name] = device_coverage(run, tested)
        href = judged.path if judged is not None else None
        return device_coverage_page(device, row, VERDICTS[verdict.verdict], tested, href)

    def _nightlies(self) -> Iterator[File]:
        entries: list[NightlyEntry] = []
        newest: deque[NightlyPage] = deque(maxlen=NIGHTS_LISTED)
        for night in nightly_pages(self._registry, self._verdicts, tuple(self._plans.values()), self._reports_of):
            yield self._pages.show(f"n/{night.folder}/index.html", "nightly.html", page=night)
            yield f"{API}/{nightly_file_path(night.folder)}", nightly_file(night)
            entries.append(nightly_entry(night))
            newest.appendleft(night)
        yield self._pages.show("n/index.html", "nightlies.html", nights=tuple(newest), total=len(self._plans))
        yield f"{API}/{NIGHTLIES}.json", nightlies_file(entries)

    def _failures(self, lives: Lives) -> Iterator[File]:
        names = Names(self._named, tuple(self._plans.values()), self._clusters.names, self._places.of)
        yield self._pages.show(
            "c/index.html", "clusters.html", page=self._clusters.listed, gone=names.lately(), names=names
        )
        for cluster in self._clusters.pages(self._reported):
            for path in (cluster.row.page, *cluster.also):
                yield self._pages.show(path, "cluster.html", page=cluster, nights=names.nights(cluster.name))
        for gone in names.pages():
            yield self._pages.show(gone.page, "gone.html", page=gone)
        flaky = flaky_page(self._flaky)
        yield self._pages.show("flaky/index.html", "flaky.html", page=flaky, turns=TURNS, sample=SAMPLE)
        yield f"{API}/flaky.json", flaky_file(flaky)
        yield self._pages.show(
            "known/index.html", "known.html", page=known_page(self._registry, self._verdicts, lives.of_entry)
        )

    def _tests(self, lives: Lives) -> Iterator[File]:
        yield self._pages.show("t/index.html", "lives.html", page=lives.listed)
        yield f"{API}/{LIVES}.json", lives_file(lives.rows)
        plans = tuple(self._plans.values())
        for file in lives.pages():
            yield f"{API}/{life_path(file.file)}", life_file(file, self._lives, plans)
            yield self._pages.show(file.file.page, "life.html", page=file, signs=signs())

    def _others(self) -> Iterator[File]:
        front = front_page(self._registry, self._verdicts, self._durations, self._ages)
        yield self._pages.show("index.html", "front.html", page=front, together=self._clusters.together)
        trends = trends_page((self._trends[row.name] for row in front.rows), self._verdicts.planned_at)
        yield self._pages.show("trends/index.html", "trends.html", page=trends)
        matrix = capabilities_page(front.rows, self._capabilities)
        yield self._pages.show("capabilities/index.html", "capabilities.html", page=matrix)
        yield f"{API}/capabilities.json", capabilities_file(matrix)
        coverage = coverage_page(front.rows, self._coverage)
        yield self._pages.show(operators_path(), "operators.html", page=coverage)
        yield f"{API}/{OPERATORS}.json", operators_file(coverage)
        registered = registry_page(self._registry, next(reversed(self._plans.values()), None))
        yield self._pages.show("devices/index.html", "registry.html", page=registered)
        yield f"{API}/registry.json", registry_file(self._registry, registered)
        yield self._pages.show("devices/add/index.html", "add.html", page=add_page())
        yield self._pages.show("diff/index.html", "diff.html", page=diff_page(self._newest))
        yield self._pages.show("method/index.html", "method.html", page=method_page(self._verdicts.gate_record))
        health = health_page(self._registry, self._verdicts, tuple(self._plans.values()), self._reports, self._paths)
        yield self._pages.show("health/index.html", "health.html", page=health, kept=KEPT)
        yield f"{API}/health.json", health_file(self._verdicts, health)
        yield self._pages.show("404.html", "404.html", **with_style(self._looks / STATIC / "style.css"))
