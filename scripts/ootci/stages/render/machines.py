"""What programs read: the API, badges and feeds, made from the verdicts as the pages are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from jinja2 import Environment

from ootci.model.device import Device, RegisteredDevice
from ootci.model.published import (
    API_VERSION,
    SCHEMA_VERSION,
    ClustersFile,
    DeviceEntry,
    DevicesFile,
    GateFile,
    IndexEntry,
    IndexFile,
    NightEntry,
    NightsFile,
)
from ootci.model.schema import api_schemas
from ootci.model.verdict import DeviceVerdict, Verdicts

from .badge import badge
from .feed import Feed, cluster_entries, feed, verdict_entries
from .front import unjudged
from .looks import page

API = f"api/{API_VERSION}"
ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "devices": "Every registered device: verdict, reason, counts, torch and where to look.",
        "verdicts": "Everything that the judge found, each changed test included.",
        "gate": "May one merge, and which devices block.",
        "clusters": "What fails on the newest nightly, by what it says, across devices.",
    }
)
_UP = "../../"
_Folders = Mapping[str, Mapping[str, str]]


def machine_files(
    environment: Environment, registry: Sequence[RegisteredDevice], verdicts: Verdicts, folders: _Folders
) -> Iterator[tuple[str, bytes]]:
    """Every file that is made for programs.

    Args:
        environment: the templates.
        registry: every registered device, in registry order.
        verdicts: what the judge found.
        folders: by device and nightly, the folder of the run page, relative to the device's.

    """
    found = {item.device: item for item in verdicts.devices}
    devices = {item.device.name: item.device for item in registry}
    entries = list(cluster_entries(verdicts.clusters, devices))
    for name, device in devices.items():
        verdict = found.get(name) or unjudged(name)
        shown = badge(device, verdict)
        yield f"badge/{name}.svg", page(environment, "badge.svg", {"badge": shown})
        yield f"badge/{name}.json", shown.endpoint()
        entries += verdict_entries(device, verdict, folders[name])
        yield _feed(environment, f"d/{name}/feed.xml", feed(device, entries, verdicts.judged_at))
    yield _feed(environment, "feed.xml", feed(None, entries, verdicts.judged_at))
    for name, content in (("verdicts.json", verdicts.to_json().encode("utf-8")), ("gate.json", _gate(verdicts))):
        yield name, content
        yield f"{API}/{name}", content
    yield from _api(devices, found, verdicts, folders)
    for kind, text in api_schemas().items():
        yield f"{API}/schema/{kind}.json", text.encode("utf-8")


def _api(
    devices: Mapping[str, Device], found: Mapping[str, DeviceVerdict], verdicts: Verdicts, folders: _Folders
) -> Iterator[tuple[str, bytes]]:
    judged = {name: found.get(name) or unjudged(name) for name in devices}
    listed = DevicesFile(
        judged_at=verdicts.judged_at,
        plan_id=verdicts.plan_id,
        stale_reason=verdicts.stale_reason,
        devices=tuple(_device(device, judged[name], folders[name]) for name, device in devices.items()),
    )
    clusters = ClustersFile(judged_at=verdicts.judged_at, plan_id=verdicts.plan_id, clusters=verdicts.clusters)
    files = [_listed(f"{kind}.json", kind, about) for kind, about in ABOUT.items()]
    files += [_listed(f"nights/{name}.json", "nights", f"Past nights of {name}.") for name in devices]
    index = IndexFile(api_version=API_VERSION, judged_at=verdicts.judged_at, files=tuple(files))
    yield f"{API}/index.json", index.to_json().encode("utf-8")
    yield f"{API}/devices.json", listed.to_json().encode("utf-8")
    yield f"{API}/clusters.json", clusters.to_json().encode("utf-8")
    for name, verdict in judged.items():
        yield f"{API}/nights/{name}.json", _nights(verdict, folders[name]).to_json().encode("utf-8")


def _listed(path: str, kind: str, about: str) -> IndexEntry:
    version = Verdicts.VERSION if kind in ("verdicts", "gate") else SCHEMA_VERSION
    return IndexEntry(path=path, schema_path=f"schema/{kind}.json", schema_version=version, about=about)


def _device(device: Device, verdict: DeviceVerdict, folders: Mapping[str, str]) -> DeviceEntry:
    name = device.name
    night = next((night for night in reversed(verdict.history) if night.run_id == verdict.run_id), None)
    folder = folders.get(night.plan_id) if night is not None and verdict.run_id is not None else None
    shared = verdict.model_dump(include=DeviceEntry.model_fields.keys() - {"history"})
    return DeviceEntry(
        **shared,
        display_name=device.display_name,
        vendor=device.vendor,
        tier=device.tier,
        gates=device.gates,
        page=f"{_UP}d/{name}/index.html",
        run_page=f"{_UP}d/{name}/{folder}/index.html" if folder else None,
        history=f"nights/{name}.json",
        badge=f"{_UP}badge/{name}.svg",
        badge_endpoint=f"{_UP}badge/{name}.json",
        feed=f"{_UP}d/{name}/feed.xml",
    )


def _nights(verdict: DeviceVerdict, folders: Mapping[str, str]) -> NightsFile:
    nights = tuple(
        NightEntry(
            **night.model_dump(),
            page=f"../{_UP}d/{verdict.device}/{folder}/index.html" if (folder := folders.get(night.plan_id)) else None,
        )
        for night in verdict.history
    )
    return NightsFile(device=verdict.device, nights=nights)


def _gate(verdicts: Verdicts) -> bytes:
    """May one merge, on its own, for those who poll it."""
    answer = GateFile(
        schema_version=verdicts.schema_version,
        judged_at=verdicts.judged_at,
        plan_id=verdicts.plan_id,
        planned_at=verdicts.planned_at,
        stale_reason=verdicts.stale_reason,
        **verdicts.gate.model_dump(),
    )
    return answer.to_json().encode("utf-8")


def _feed(environment: Environment, path: str, made: Feed) -> tuple[str, bytes]:
    return path, page(environment, "feed.xml", {"feed": made, "path": path, "root": "../" * path.count("/")})
