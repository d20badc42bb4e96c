"""The whole site: which pages there are, and what each is made from."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from ootci.history.store import History
from ootci.model.device import RegisteredDevice
from ootci.model.record import utc_text
from ootci.model.verdict import Verdicts
from ootci.resources import dashboard_folder

from .device_view import DevicePage, RunPage, device_page, newest, run_pages
from .front import front_page, unjudged
from .looks import page, templates
from .method import method_page
from .publish import publish
from .run_view import run_view

STATIC = "static"


def render(registry: tuple[RegisteredDevice, ...], history: History, verdicts: Verdicts, site: Path) -> None:
    """Write the whole dashboard. The same inputs give the same bytes; the only clock is ``verdicts.judged_at``.

    Args:
        registry: every registered device, in registry order; each gets a row and a page.
        history: past runs, for the pages of runs.
        verdicts: what the judge found; nothing is judged here.
        site: the folder to write; it is replaced as a whole.

    Raises:
        HistoryCorrupt: a record of the history cannot be read back.
        HostFailure: the folder cannot be written or holds something else.

    """
    publish(dict(_files(registry, history, verdicts, dashboard_folder())), site)


def _files(
    registry: tuple[RegisteredDevice, ...], history: History, verdicts: Verdicts, looks: Path
) -> Iterator[tuple[str, bytes]]:
    environment = templates(looks / "templates")
    environment.globals["verdicts"] = verdicts
    found = {item.device: item for item in verdicts.devices}
    durations: dict[str, float] = {}
    for item in registry:
        name = item.device.name
        verdict = found.get(name) or unjudged(name)
        pages = run_pages(history.runs(name))
        latest = newest(pages, verdict)
        if latest is not None:
            durations[name] = latest.run.duration
        view = device_page(item.device, verdict, pages)
        yield (
            f"d/{name}/index.html",
            page(environment, "device.html", {"root": "../../", "here": "device", "page": view}),
        )
        for run_page in pages:
            yield _run(environment, view, run_page)
    front = front_page(registry, verdicts, durations)
    yield "index.html", page(environment, "front.html", {"root": "", "here": "front", "page": front})
    yield (
        "method/index.html",
        page(environment, "method.html", {"root": "../", "here": "method", "page": method_page()}),
    )
    yield "404.html", _not_found(environment, (looks / STATIC / "style.css").read_text(encoding="utf-8"))
    yield "verdicts.json", verdicts.to_json().encode("utf-8")
    yield "gate.json", _gate(verdicts)
    for path in sorted((looks / STATIC).iterdir()):
        yield f"{STATIC}/{path.name}", path.read_bytes()


def _run(environment: Environment, device: DevicePage, run_page: RunPage) -> tuple[str, bytes]:
    folder = f"d/{device.device.name}/{run_page.folder}"
    view = run_view(run_page.run, device.verdict.changes if device.run and device.run.run is run_page.run else ())
    values = {"root": "../" * (folder.count("/") + 1), "here": "run", "device": device, "page": run_page, "view": view}
    return f"{folder}/index.html", page(environment, "run.html", values)


def _not_found(environment: Environment, style: str) -> bytes:
    """The page for a missing address. It is served at any depth, so that it can link to nothing, not even its style."""
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    values = {"root": "", "here": "404", "style": Markup(style), "style_hash": f"sha256-{digest}"}  # noqa: S704
    return page(environment, "404.html", values)


def _gate(verdicts: Verdicts) -> bytes:
    """May one merge, on its own, for those who poll it."""
    gate = {
        "schema_version": verdicts.schema_version,
        "judged_at": utc_text(verdicts.judged_at),
        "plan_id": verdicts.plan_id,
        "planned_at": utc_text(verdicts.planned_at) if verdicts.planned_at else None,
        "stale_reason": verdicts.stale_reason,
        **verdicts.gate.model_dump(mode="json"),
    }
    return (json.dumps(gate, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
