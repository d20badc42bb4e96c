"""Schemas: generated from the models, valid, complete, and true to the files that the tool reads and writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from ootci.model import schema
from ootci.model.record import StageFile, read
from ootci.model.schema import STAGE_FILES, device_schema, schemas

ROOT = Path(__file__).parents[3]
DEVICES = ROOT / "devices"
GOLDEN = ROOT / "tests" / "system" / "golden"

SCHEMAS = {name: json.loads(text) for name, text in schemas().items()}


def _properties(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property that a schema declares, by its path in the schema."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _properties(item, f"{path}/{index}")
    elif isinstance(node, dict):
        for name, declared in node.get("properties", {}).items() if isinstance(node.get("properties"), dict) else ():
            yield f"{path}/{name}", declared
        for key, value in node.items():
            yield from _properties(value, f"{path}/{key}")


def test_the_committed_schema_is_the_generated_one() -> None:
    committed = (DEVICES / "device.schema.json").read_text(encoding="utf-8")
    assert committed == device_schema(), "run `make schema`"


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_valid_draft_07(name: str) -> None:
    assert SCHEMAS[name]["$schema"] == schema.DRAFT
    Draft7Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_schema_uses_what_draft_07_does_not_know(name: str) -> None:
    text = json.dumps(SCHEMAS[name])
    for keyword in ("$defs", "prefixItems", "unevaluatedProperties", "dependentRequired"):
        assert f'"{keyword}"' not in text
    targets = set(re.findall(r'"\$ref": "#/definitions/([^"]+)"', text))
    assert targets <= set(SCHEMAS[name].get("definitions", {}))


def _description(name: str, declared: dict[str, Any]) -> str | None:
    """A property's description: its own, or that of the one definition that it is."""
    reference = {**declared, **next(iter(declared.get("allOf", [])), {})}.get("$ref", "")
    target = SCHEMAS[name].get("definitions", {}).get(reference.rpartition("/")[2], {})
    text = declared.get("description") or target.get("description")
    return str(text) if text else None


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "events.jsonl"])
def test_every_property_has_a_description(name: str) -> None:
    found = list(_properties(SCHEMAS[name]))
    assert len(found) > 1
    assert [path for path, declared in found if not _description(name, declared)] == []


def test_every_definition_of_a_device_file_is_closed() -> None:
    device = SCHEMAS["device"]
    for name, declared in {"Device": device, **device["definitions"]}.items():
        assert declared.get("type") != "object" or declared.get("additionalProperties") is False, name


@pytest.mark.parametrize("path", sorted(DEVICES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_device_file_follows_the_schema_and_names_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=device.schema.json\n")
    Draft7Validator(SCHEMAS["device"]).validate(yaml.safe_load(text))


def _model_keys(node: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, declared in node.get("properties", {}).items():
        yield f"{path}{name}"
        for target in re.findall(r'"#/definitions/([^"]+)"', json.dumps(declared)):
            yield from _model_keys(SCHEMAS["device"]["definitions"][target], f"{path}{name}.")


def test_the_worked_example_mentions_every_key() -> None:
    text = (DEVICES / "openreg.yaml").read_text(encoding="utf-8")
    mentioned = set(re.findall(r"^[\s#-]*([a-z_]+):", text, re.MULTILINE))
    wanted = {key.rpartition(".")[2] for key in _model_keys(SCHEMAS["device"])}
    assert wanted - mentioned == set()


def test_the_worked_example_mentions_no_key_that_is_none() -> None:
    text = (DEVICES / "openreg.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r"^\s*#?\s*(?:- )?[a-z_]+:(?: |$)", line)]
    mentioned = {match.group(1) for line in lines if (match := re.match(r"^[\s#-]*([a-z_]+):", line))}
    known = {key.rpartition(".")[2] for key in _model_keys(SCHEMAS["device"])}
    explained = {"yaml", "path", "git", "package"}
    assert mentioned - known - explained == set()


@pytest.mark.parametrize(
    "values",
    [{"teir": "gating"}, {"tier": "big"}, {"limits": {"job_minutes": "5"}}, {"plugin": {"path": "x"}}, {"name": "X"}],
)
def test_the_schema_refuses_what_the_model_refuses(values: dict[str, object]) -> None:
    good = yaml.safe_load((DEVICES / "openreg.yaml").read_text(encoding="utf-8"))
    assert Draft7Validator(SCHEMAS["device"]).is_valid(good)
    assert not Draft7Validator(SCHEMAS["device"]).is_valid({**good, **values})


@pytest.mark.parametrize("kind", STAGE_FILES, ids=lambda kind: kind.FILE)
def test_every_stage_file_has_a_golden_sample(kind: type[StageFile], pytestconfig: pytest.Config) -> None:
    folder = GOLDEN / kind.FILE.removesuffix(".json")
    path = folder / kind.FILE
    why = (folder / "README.md").read_text(encoding="utf-8")
    assert len(why.splitlines()) == 1
    record = read(kind, path)
    if pytestconfig.getoption("--update-golden"):
        path.write_text(record.to_json(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == record.to_json(), "the file does not come back byte for byte"
    Draft7Validator(SCHEMAS[kind.FILE]).validate(json.loads(record.to_json()))


def _empty(node: Any, path: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _empty(value, f"{path}.{key}")
    elif node is None or node == []:
        yield path


@pytest.mark.parametrize("name", ["plan", "run"])
def test_the_golden_sample_has_a_value_for_every_top_level_key(name: str) -> None:
    record = json.loads((GOLDEN / name / f"{name}.json").read_text(encoding="utf-8"))
    assert list(_empty({key: value for key, value in record.items() if not isinstance(value, dict)})) == []


def test_the_golden_run_has_every_outcome() -> None:
    record = json.loads((GOLDEN / "run" / "run.json").read_text(encoding="utf-8"))
    outcomes = {item["outcome"] for item in record["outcomes"]}
    assert outcomes == set(SCHEMAS["run.json"]["definitions"]["OutcomeName"]["enum"])
