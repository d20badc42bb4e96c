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
from ootci.model.device import RegisteredDevice
from ootci.model.run import CapabilityCounts
from ootci.model.verdict import Verdicts
from ootci.resources import dashboard_folder

from .capabilities import capabilities_page
from .clusters import Clusters, Reported
from .device_view import device_page, newest, run_pages
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
    publish(with_sitemap(_files(registry, history, verdicts, dashboard_folder(), address), address), site)


def _files(
    registry: tuple[RegisteredDevice, ...], history: History, verdicts: Verdicts, looks: Path, address: str | None
) -> Iterator[tuple[str, bytes]]:
    environment = templates(looks / "templates")
    environment.globals["verdicts"] = verdicts
    environment.globals["address"] = address

    def show(path: str, template: str, **values: object) -> tuple[str, bytes]:
        where = {"root": "../" * path.count("/"), "here": template, "canonical": canonical(address, path)}
        return path, page(environment, template, {**where, **values})

    found = {item.device: item for item in verdicts.devices}
    durations: dict[str, float] = {}
    flaky: list[FlakyOfDevice] = []
    reports: dict[str, LastReport] = {}
    folders: dict[str, dict[str, str]] = {}
    capabilities: dict[str, tuple[CapabilityCounts, ...]] = {}
    told: dict[str, dict[str, NightReport]] = {}
    plans = {plan.id: plan for plan in history.plans()}
    clusters = Clusters(registry, verdicts)
    alike, reported = clusters.alike, dict[str, Reported]()
    for item in registry:
        name = item.device.name
        verdict = found.get(name) or unjudged(name)
        pages = run_pages(history.stored_runs(name))
        last = next((shown for shown in reversed(pages) if shown.latest), None)
        if last is not None:
            reports[name] = LastReport(last.run.plan_id, last.run.finished_at, f"d/{name}/{last.folder}/index.html")
        flaky.append(flaky_of_device(item.device, pages, plans))
        told[name] = night_reports(name, pages, plans)
        folders[name] = {one.run.plan_id: one.folder for one in pages if one.latest}
        latest = newest(pages, verdict)
        run = history.whole(latest.stored) if latest is not None else None
        plan = plans.get(run.plan_id) if run is not None else None
        if run is not None:
            durations[name], capabilities[name] = run.duration, run.capabilities
        page_of_device = device_page(item.device, verdict, pages, run, plan, alike)
        reported[name] = clusters.reported(page_of_device)
        yield show(f"d/{name}/index.html", "device.html", page=page_of_device, stage=clusters.of_stage(verdict))
        for attempt in pages:
            # Nothing of the verdicts is on a run's page, so that it stays the same from night to night.
            view = run_view(history.whole(attempt.stored), plans.get(attempt.run.plan_id))
            values = {"device": item.device, "page": attempt, "view": view}
            permanent = f"d/{name}/{attempt.folder}/index.html"
            yield show(permanent, "run.html", latest=False, **values)
            if attempt is last:
                original = canonical(address, permanent) or f"../{attempt.folder}/index.html"
                yield show(f"d/{name}/{LATEST}/index.html", "run.html", latest=True, **values | {"canonical": original})
    listed: deque[NightlyPage] = deque(maxlen=NIGHTS_LISTED)
    for night in nightly_pages(registry, verdicts, tuple(plans.values()), told):
        yield show(f"n/{night.folder}/index.html", "nightly.html", page=night)
        listed.append(night)
    yield show("n/index.html", "nightlies.html", nights=tuple(reversed(listed)), total=len(plans))
    front = front_page(registry, verdicts, durations)
    yield show("index.html", "front.html", page=front, together=clusters.together)
    yield show("c/index.html", "clusters.html", page=clusters.listed)
    for page_of_cluster in clusters.pages(reported):
        yield show(page_of_cluster.row.page, "cluster.html", page=page_of_cluster)
    yield show("flaky/index.html", "flaky.html", page=flaky_page(flaky), turns=TURNS, sample=SAMPLE)
    yield show("known/index.html", "known.html", page=known_page(registry, verdicts))
    yield show("capabilities/index.html", "capabilities.html", page=capabilities_page(front.rows, capabilities))
    yield show("method/index.html", "method.html", page=method_page())
    style = (looks / STATIC / "style.css").read_text(encoding="utf-8")
    health = health_page(registry, verdicts, tuple(plans.values()), reports)
    yield show("health/index.html", "health.html", page=health)
    yield show("404.html", "404.html", style=Markup(style), style_hash=_source_hash(style))  # noqa: S704
    yield from machine_files(environment, registry, verdicts, folders)
    for path in sorted((looks / STATIC).iterdir()):
        yield f"{STATIC}/{path.name}", path.read_bytes()


def _source_hash(style: str) -> str:
    """What a content security policy calls a style by that stands in the page itself."""
    return f"sha256-{base64.b64encode(hashlib.sha256(style.encode('utf-8')).digest()).decode('ascii')}"
