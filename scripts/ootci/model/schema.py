"""JSON schemas (draft-07), generated from the models and never edited."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from ootci.model.bisection import Bisection
from ootci.model.build import Build, Handover
from ootci.model.compat import Compat
from ootci.model.device import Device
from ootci.model.difference import Difference
from ootci.model.documented import Documented
from ootci.model.event import Event
from ootci.model.plan import Plan
from ootci.model.probe import Probe
from ootci.model.record import StageFile
from ootci.model.relay import RelayReport
from ootci.model.review import Review
from ootci.model.run import Run
from ootci.model.torch_build import TorchSource
from ootci.model.verdict import Verdicts

DRAFT = "http://json-schema.org/draft-07/schema#"

STAGE_FILES: tuple[type[StageFile], ...] = (
    Plan,
    TorchSource,
    Build,
    Handover,
    Run,
    Verdicts,
    Bisection,
    Compat,
    Review,
)
"""The files in which the stages meet, in the order of the data's way, and the ones of a bisection, of predicted breaks
and of a review of device files."""


def device_schema() -> str:
    """The schema of a device file, as the text of ``devices/device.schema.json``."""
    return schema_text(TypeAdapter(Device), "A device file of pytorch-integration-tests")


def schemas() -> dict[str, str]:
    """The schemas of a device file and of every file that the stages exchange, by its name.

    That of events.jsonl is of one line. Two are of output that is no file.
    """
    files = {kind.FILE: schema_text(TypeAdapter(kind), kind.FILE) for kind in STAGE_FILES}
    return {
        "device": device_schema(),
        **files,
        "events.jsonl": schema_text(TypeAdapter(Event), "One line of events.jsonl"),
        "env.json": schema_text(TypeAdapter(Probe), "env.json"),
        "difference": schema_text(TypeAdapter(Difference), "What `ootci diff --format json` prints"),
        "relay-report": schema_text(TypeAdapter(RelayReport), "A report to PyTorch's cross-repository CI relay"),
    }


def schema_text(adapter: TypeAdapter[Any], title: str) -> str:
    """The schema of a file in draft-07, under a title."""
    schema = adapter.json_schema(ref_template="#/definitions/{model}", schema_generator=Documented)
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
