"""The whole site: which pages there are, and what each is made from."""

from __future__ import annotations

import base64
import hashlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from markupsafe import Markup

from ootci.history.beginnings import TURNS
from ootci.history.flakiness import SAMPLE
from ootci.history.store import History
from ootci.model.device import Device, RegisteredDevice
from ootci.model.run import CapabilityCounts
from ootci.model.verdict import DeviceVerdict, Verdicts
from ootci.resources import dashboard_folder

from .capabilities import capabilities_page
from .clusters import Clusters, Reported
from .device_view import RunPage, device_page, newest, run_pages
from .flaky import FlakyOfDevice, flaky_of_device, flaky_page
from .front import front_page, unjudged
from .health import LastReport, health_page
from .known import known_page
from .links import LATEST
from .looks import page, templates
from .machines import machine_files
from .method import method_page
from .nightlies import NIGHTS_LISTED, NightlyPage, NightReport, night_reports, nightly_pages
from .permalinks import canonical, site_address, with_sitemap
from .publish import publish
from .run_view import run_view

STATIC = "static"


def render(
    registry: tuple[RegisteredDevice, ...],
    history: History,
    verdicts: Verdicts,
    site: Path,
    address: str | None = None,
) -> None:
    """Write the whole dashboard. The same inputs give the same bytes; the only clock is ``verdicts.judged_at``.

    Args:
        registry: every registered device, in registry order; each gets a row and a page.
        history: past runs, for the pages of runs.
        verdicts: what the judge found; nothing is judged here.
        site: the folder to write; it is replaced as a whole.
        address: where the site is published, if that is known; pages then name their own address, and the sitemap all.

    Raises:
        BadOption: the address is none.
        HistoryCorrupt: a record of the history cannot be read back.
        HostFailure: the folder cannot be written or holds something else.

    """
    address = site_address(address) if address else None
    pages = _Pages(registry, history, verdicts, dashboard_folder(), address)
    publish(with_sitemap(pages.files(), address), site)


class _Pages:
    """Makes the pages one by one, and gathers on the devices' pages what those after them need."""

    def __init__(
        self,
        registry: tuple[RegisteredDevice, ...],
        history: History,
        verdicts: Verdicts,
        looks: Path,
        address: str | None,
    ) -> None:
        self._registry = registry
        self._history = history
        self._verdicts = verdicts
        self._looks = looks
        self._address = address
        self._environment = templates(looks / "templates")
        self._environment.globals.update(verdicts=verdicts, address=address)
        self._plans = {plan.id: plan for plan in history.plans()}
        self._clusters = Clusters(registry, verdicts)
        self._durations: dict[str, float] = {}
        self._flaky: list[FlakyOfDevice] = []
        self._reports: dict[str, LastReport] = {}
        self._folders: dict[str, dict[str, str]] = {}
        self._capabilities: dict[str, tuple[CapabilityCounts, ...]] = {}
        self._told: dict[str, dict[str, NightReport]] = {}
        self._reported: dict[str, Reported] = {}

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Every file of the site: its path, and its content."""
        found = {item.device: item for item in self._verdicts.devices}
        for item in self._registry:
            yield from self._device(item.device, found.get(item.device.name) or unjudged(item.device.name))
        yield from self._nightlies()
        yield from self._failures()
        yield from self._others()
        yield from machine_files(self._environment, self._registry, self._verdicts, self._folders)
        for path in sorted((self._looks / STATIC).iterdir()):
            yield f"{STATIC}/{path.name}", path.read_bytes()

    def _show(self, path: str, template: str, **values: object) -> tuple[str, bytes]:
        where = {"root": "../" * path.count("/"), "here": template, "canonical": canonical(self._address, path)}
        return path, page(self._environment, template, {**where, **values})

    def _device(self, device: Device, verdict: DeviceVerdict) -> Iterator[tuple[str, bytes]]:
        name = device.name
        pages = run_pages(self._history.stored_runs(name))
        last = next((shown for shown in reversed(pages) if shown.latest), None)
        if last is not None:
            href = f"d/{name}/{last.folder}/index.html"
            self._reports[name] = LastReport(last.run.plan_id, last.run.finished_at, href)
        self._flaky.append(flaky_of_device(device, pages, self._plans))
        self._told[name] = night_reports(name, pages, self._plans)
        self._folders[name] = {one.run.plan_id: one.folder for one in pages if one.latest}
        latest = newest(pages, verdict)
        run = self._history.whole(latest.stored) if latest is not None else None
        plan = self._plans.get(run.plan_id) if run is not None else None
        if run is not None:
            self._durations[name], self._capabilities[name] = run.duration, run.capabilities
        shown = device_page(device, verdict, pages, run, plan, self._clusters.alike)
        self._reported[name] = self._clusters.reported(shown)
        yield self._show(f"d/{name}/index.html", "device.html", page=shown, stage=self._clusters.of_stage(verdict))
        for attempt in pages:
            yield from self._run(device, attempt, is_last=attempt is last)

    def _run(self, device: Device, attempt: RunPage, *, is_last: bool) -> Iterator[tuple[str, bytes]]:
        # Nothing of the verdicts is on a run's page, so that it stays the same from night to night.
        view = run_view(self._history.whole(attempt.stored), self._plans.get(attempt.run.plan_id))
        values = {"device": device, "page": attempt, "view": view}
        permanent = f"d/{device.name}/{attempt.folder}/index.html"
        yield self._show(permanent, "run.html", latest=False, **values)
        if is_last:
            values["canonical"] = canonical(self._address, permanent) or f"../{attempt.folder}/index.html"
            yield self._show(f"d/{device.name}/{LATEST}/index.html", "run.html", latest=True, **values)

    def _nightlies(self) -> Iterator[tuple[str, bytes]]:
        listed: deque[NightlyPage] = deque(maxlen=NIGHTS_LISTED)
        for night in nightly_pages(self._registry, self._verdicts, tuple(self._plans.values()), self._told):
            yield self._show(f"n/{night.folder}/index.html", "nightly.html", page=night)
            listed.append(night)
        nights = tuple(reversed(listed))
        yield self._show("n/index.html", "nightlies.html", nights=nights, total=len(self._plans))

    def _failures(self) -> Iterator[tuple[str, bytes]]:
        yield self._show("c/index.html", "clusters.html", page=self._clusters.listed)
        for cluster in self._clusters.pages(self._reported):
            yield self._show(cluster.row.page, "cluster.html", page=cluster)
        yield self._show("flaky/index.html", "flaky.html", page=flaky_page(self._flaky), turns=TURNS, sample=SAMPLE)
        yield self._show("known/index.html", "known.html", page=known_page(self._registry, self._verdicts))

    def _others(self) -> Iterator[tuple[str, bytes]]:
        front = front_page(self._registry, self._verdicts, self._durations)
        yield self._show("index.html", "front.html", page=front, together=self._clusters.together)
        matrix = capabilities_page(front.rows, self._capabilities)
        yield self._show("capabilities/index.html", "capabilities.html", page=matrix)
        yield self._show("method/index.html", "method.html", page=method_page())
        health = health_page(self._registry, self._verdicts, tuple(self._plans.values()), self._reports)
        yield self._show("health/index.html", "health.html", page=health)
        style = (self._looks / STATIC / "style.css").read_text(encoding="utf-8")
        yield self._show("404.html", "404.html", style=Markup(style), style_hash=_source_hash(style))  # noqa: S704


def _source_hash(style: str) -> str:
    """What a content security policy calls a style by that stands in the page itself."""
    return f"sha256-{base64.b64encode(hashlib.sha256(style.encode('utf-8')).digest()).decode('ascii')}"
