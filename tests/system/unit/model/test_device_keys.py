"""What is said of each key of a device file is true: its example is valid, and its errors give it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from pydantic import create_model
from pydantic.fields import FieldInfo

from ootci.model.device import Device
from ootci.model.device.reference import DeviceKey, device_keys, kind_and_example
from ootci.model.record import Record


def _fields(model: type[Record], before: str = "") -> dict[str, FieldInfo]:
    """Every field below a record, by its place."""
    found = {}
    for name, field in model.model_fields.items():
        found[f"{before}{name}"] = field
        for inner in _records_in(field.annotation):
            is_list = "tuple" in str(field.annotation)
            found |= _fields(inner, f"{before}{name}{'[]' if is_list else ''}.")
    return found


def _records_in(annotation: Any) -> list[type[Record]]:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return [annotation]
    return [found for inner in getattr(annotation, "__args__", ()) for found in _records_in(inner)]


FIELDS = _fields(Device)


def test_every_key_is_described() -> None:
    assert [key.path for key in device_keys()] == list(FIELDS)


@pytest.mark.parametrize("key", device_keys(), ids=lambda key: key.path)
def test_the_example_of_a_key_is_valid(key: DeviceKey) -> None:
    name = key.path.rpartition(".")[2]
    field = FIELDS[key.path]
    alone: Any = create_model("Alone", **{name: (field.annotation, field)})
    alone.model_validate_json(json.dumps(yaml.safe_load(key.example), default=str), strict=True)


def test_a_value_is_described_by_its_place() -> None:
    assert kind_and_example(("runner", "labels", 0)) == (
        "a runner label of letters, digits and `_.:-`",
        "labels: [self-hosted]",
    )
    assert kind_and_example(("environment", "A")) == ("text", "A: one sentence")
    assert kind_and_example(("plugin", "git"))[1] == "git: {url: 'https://github.com/my-company/torch-mydevice.git'}"
