"""JSON schemas (draft-07), generated from the models and never edited."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, TypeAdapter

from ootci.model.bisection import Bisection
from ootci.model.build import Build
from ootci.model.device import Device
from ootci.model.difference import Difference
from ootci.model.durations import Durations
from ootci.model.event import Event
from ootci.model.handover import Handover
from ootci.model.plan import Plan
from ootci.model.probe import Probe
from ootci.model.published import (
    ClustersFile,
    DevicesFile,
    GateFile,
    IndexFile,
    NightsFile,
    RunFile,
    RunsFile,
    TestsFile,
)
from ootci.model.published_findings import FindingsFile
from ootci.model.published_lives import FlakyFile, LifeFile, LivesFile
from ootci.model.published_matrix import CapabilitiesFile, DeviceOperatorsFile, OperatorsFile
from ootci.model.published_nights import NightliesFile, NightlyFile, TrendFile
from ootci.model.published_registry import HealthFile, RegistryFile
from ootci.model.record import StageFile
from ootci.model.relay import RelayReport
from ootci.model.review import Review
from ootci.model.run import Run
from ootci.model.torch_source import TorchSource
from ootci.model.verdict import Verdicts

DRAFT = "http://json-schema.org/draft-07/schema#"

STAGE_FILES: tuple[type[StageFile], ...] = (
    Plan,
    Durations,
    TorchSource,
    Build,
    Handover,
    Run,
    Verdicts,
    Bisection,
    Review,
)
"""The files in which the stages meet, in the order of the data's way, the one in which a bisection is kept, and the one
in which device files are reviewed."""
API_KINDS: Mapping[str, type[BaseModel]] = MappingProxyType(
    {
        "index": IndexFile,
        "devices": DevicesFile,
        "gate": GateFile,
        "nights": NightsFile,
        "clusters": ClustersFile,
        "findings": FindingsFile,
        "runs": RunsFile,
        "run": RunFile,
        "tests": TestsFile,
        "lives": LivesFile,
        "life": LifeFile,
        "registry": RegistryFile,
        "capabilities": CapabilitiesFile,
        "operators": OperatorsFile,
        "device_operators": DeviceOperatorsFile,
        "trends": TrendFile,
        "flaky": FlakyFile,
        "nightlies": NightliesFile,
        "nightly": NightlyFile,
        "health": HealthFile,
        "verdicts": Verdicts,
    }
)
"""The files of the site's API, by the names that the files of their schemas have.

There is a file of nights, of findings, of runs, of trends and of `device_operators` for each device, one `run` for each
attempt, many of tests, a `life` for each file of a suite, and a `nightly` for each nightly.
"""


def device_schema() -> str:
    """The schema of a device file, as the text of ``devices/device.schema.json``."""
    return _text(TypeAdapter(Device), "A device file of pytorch-integration-tests")


def schemas() -> dict[str, str]:
    """The schema of every file that ootci reads or writes, by the file's name; of events.jsonl, of one line.

    Two have no name of their own: a ``device`` file, and the ``difference`` that ``ootci diff`` prints.
    """
    files = {kind.FILE: _text(TypeAdapter(kind), kind.FILE) for kind in STAGE_FILES}
    return {
        "device": device_schema(),
        **files,
        "events.jsonl": _text(TypeAdapter(Event), "One line of events.jsonl"),
        "env.json": _text(TypeAdapter(Probe), "env.json"),
        "difference": _text(TypeAdapter(Difference), "What `ootci diff --format json` prints"),
        "relay-report": _text(TypeAdapter(RelayReport), "A report to PyTorch's cross-repository CI relay"),
    }


def api_schemas() -> dict[str, str]:
    """The schema of every file of the site's API."""
    return {kind: api_schema(kind) for kind in API_KINDS}


def api_schema(kind: str) -> str:
    """The schema of one of them."""
    return _text(TypeAdapter(API_KINDS[kind]), f"{kind}.json")


def _text(adapter: TypeAdapter[Any], title: str) -> str:
    schema = adapter.json_schema(ref_template="#/definitions/{model}", mode="validation")
    definitions = schema.pop("$defs", {})
    body = {"$schema": DRAFT, **schema, "title": title, "definitions": definitions}
    return json.dumps(_draft_07(body), indent=2, ensure_ascii=False) + "\n"


def _draft_07(node: Any) -> Any:
    """Rewrite what draft-07 does not know: keywords beside ``$ref`` are ignored there, so the reference is wrapped."""
    if isinstance(node, list):
        return [_draft_07(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _draft_07(value) for key, value in node.items()}
    if "$ref" in node and len(node) > 1:
        node["allOf"] = [{"$ref": node.pop("$ref")}]
    return node
