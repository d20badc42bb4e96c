"""The API, badges and feeds: what programs read follows its schema, and leads somewhere."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from jsonschema import Draft7Validator
from unit.render.pages import content, read
from unit.render.rendering import Rendered
from unit.render.sample import Sample

from ootci.stages.render.pages.api import api_schemas
from ootci.stages.render.pages.device import DeviceFile

BASE = "https://example.com/some/where/"
ENDPOINT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schemaVersion", "label", "message", "color"],
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"type": "string", "pattern": "^[0-9a-f]{6}$"},
        "cacheSeconds": {"type": "integer", "minimum": 300},
    },
}


@pytest.fixture(scope="module")
def sites(site: Path, judged_site: Path, hostile_site: Path) -> tuple[Path, ...]:
    """The sample as it is, as the judge sees it, and with a hostile device."""
    return site, judged_site, hostile_site


@cache
def validator(path: Path) -> Draft7Validator:
    return Draft7Validator(content(path))


def test_every_file_is_in_the_index_and_follows_the_schema_that_it_names(sites: tuple[Path, ...]) -> None:
    for site in sites:
        top = site / "api" / "v1"
        index = content(top / "index.json")
        Draft7Validator(content(top / "schema" / "index.json")).validate(index)
        listed = {item["path"] for item in index["files"]}
        runs = {f"runs/{run['path']}" for path in listed if path.startswith("runs/") for run in attempts(top / path)}
        lives = {item["path"] for item in content(top / "lives.json")["files"]}
        nightlies = {item["path"] for item in content(top / "nightlies.json")["nightlies"]}
        there = {path.relative_to(top).as_posix() for path in top.rglob("*.json")}
        assert listed | runs | lives | nightlies | {"index.json"} == {
            path for path in there if not path.startswith("schema/")
        }
        assert len(runs) > 50
        made = [
            {"path": path, "schema_path": f"schema/{kind}.json", "schema_version": 1}
            for kind, paths in (("run", runs), ("life", lives), ("nightly", nightlies))
            for path in sorted(paths)
        ]
        for item in [*index["files"], *made]:
            body = content(top / item["path"])
            assert body["schema_version"] == item["schema_version"], item
            validator(top / item["schema_path"]).validate(body)


def attempts(path: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = content(path)["runs"]
    return listed


@pytest.mark.parametrize("kind", api_schemas())
def test_a_schema_is_one_and_refuses_something_else(kind: str) -> None:
    schema = json.loads(api_schemas()[kind])
    Draft7Validator.check_schema(schema)
    assert not Draft7Validator(schema).is_valid({"schema_version": 1})
    assert all("description" in value or "$ref" in value for value in schema["properties"].values())


def test_addresses_lead_to_files_from_the_file_in_which_they_stand(sites: tuple[Path, ...]) -> None:
    for site in sites:
        devices = content(site / "api/v1/devices.json")["devices"]
        followed = 0
        for record in devices:
            addresses = [record[key] for key in ("page", "run_page", "badge", "badge_endpoint", "feed")]
            found = [urljoin("api/v1/devices.json", address) for address in addresses if address]
            runs = attempts(site / "api/v1/runs" / f"{record['device']}.json")
            found += [urljoin("api/v1/runs/x.json", run[key]) for run in runs for key in ("page", "path")]
            for address in found:
                assert (site / urlsplit(urljoin(BASE, address)).path.removeprefix("/some/where/")).is_file(), address
                followed += 1
        assert followed > 100


def test_devices_say_what_the_verdicts_say(sampled: Sample, site: Path) -> None:
    listed = content(site / "api/v1/devices.json")["devices"]
    assert [item["device"] for item in listed] == [item.device.name for item in sampled.registry]
    verdicts = {item["device"]: item for item in content(site / "api/v1/verdicts.json")["devices"]}
    for item in listed:
        said = verdicts[item["device"]]
        for key in (
            "verdict",
            "reason",
            "verdict_since",
            "broken_since",
            "nights",
            "counts",
            "pass_rate",
            "torch",
            "run_id",
            "new_failures",
        ):
            assert item[key] == said[key], key
        assert bool(item["run_page"]) == bool(said["run_id"])


def test_the_file_of_a_device_says_what_the_verdicts_and_its_page_say(site: Path) -> None:
    cards = 0
    for verdict in content(site / "api/v1/verdicts.json")["devices"]:
        name = verdict["device"]
        file, page = content(site / f"api/v1/devices/{name}.json"), read(site / f"d/{name}/index.html")
        assert file["verdict"] == verdict
        assert urljoin(f"api/v1/devices/{name}.json", file["page"]) == f"d/{name}/index.html"
        if file["run_page"]:
            assert (site / urljoin(f"api/v1/devices/{name}.json", file["run_page"])).is_file()
        facets = page.find("div", class_="facets")
        assert bool(facets) == bool(file["card"]), name
        if file["card"]:
            assert facets[0].one("pre").text == " ".join(file["card"]["commands"])
            assert file["card"]["headline"] in facets[0].text
            cards += 1
    assert cards > 3


def test_the_file_of_every_device_can_be_read_back(sites: tuple[Path, ...]) -> None:
    for path in (path for site in sites for path in (site / "api/v1/devices").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert DeviceFile.model_validate_json(text).to_json() == text, path


def test_the_gate_at_the_top_is_the_same_below_api(site: Path) -> None:
    assert (site / "gate.json").read_bytes() == (site / "api/v1/gate.json").read_bytes()


def test_a_device_newer_than_the_verdicts_is_there_too(sampled: Sample, rendered: Rendered) -> None:
    listed = content(rendered(devices=()) / "api/v1/devices.json")["devices"]
    assert {item["verdict"] for item in listed} == {"NEVER_RAN"}
    assert len(listed) == len(sampled.registry)


def test_every_endpoint_is_what_shields_asks_for(sites: tuple[Path, ...]) -> None:
    for site in sites:
        for path in (site / "badge").glob("*.json"):
            Draft7Validator(ENDPOINT).validate(content(path))
