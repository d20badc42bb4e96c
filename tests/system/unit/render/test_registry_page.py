"""The registry as it stands, and how to add to it: told by the schema, with a file that really works."""

from __future__ import annotations

import json
import re
from pathlib import Path

from unit.render.pages import read
from unit.render.rendering import Rendered
from unit.render.sample import Sample

from ootci.model.device import load_registry
from ootci.model.device.reference import device_keys
from ootci.model.schema import device_schema
from ootci.stages.render.pages.registry import SHORTEST, registry_file

README = Path(__file__).parents[4] / "README.md"


def test_files_lead_to_the_repository_that_the_nightly_ran_in(sampled: Sample) -> None:
    plan = sampled.history.plans()[-1]
    assert registry_file(sampled.registry, plan).devices[0].file_address is None
    for url, href in (
        (
            "https://github.com/some/tests/actions/runs/12",
            "https://github.com/some/tests/blob/HEAD/devices/openreg.yaml",
        ),
        ("javascript:https://github.com/some/tests/actions/runs/12", None),
        ("https://example.com/", None),
    ):
        ran = plan.model_copy(update={"trigger": plan.trigger.model_copy(update={"url": url})})
        assert registry_file(sampled.registry, ran).devices[0].file_address == href


def test_the_shortest_file_on_the_page_is_a_device(site: Path, tmp_path: Path) -> None:
    commands = [item.text for item in read(site / "devices" / "add" / "index.html").find("pre")]
    text = (site / "devices" / "add" / "index.html").read_text(encoding="utf-8")
    assert commands[0] == " ".join(SHORTEST.split())
    shown = re.search(r"<code>(name: .*?)</code></pre>", text, re.DOTALL)
    assert shown is not None
    (tmp_path / "mydevice.yaml").write_text(shown[1].replace("&#34;", '"'), encoding="utf-8")
    (item,) = load_registry(tmp_path)
    assert item.device.name == "mydevice"
    assert SHORTEST in README.read_text(encoding="utf-8")


def test_nothing_can_be_left_out_of_the_shortest_file(site: Path) -> None:
    top = re.findall(r"^(\w+):", SHORTEST, re.MULTILINE)
    assert top == json.loads(device_schema())["required"]
    page = read(site / "devices" / "add" / "index.html")
    assert "Required: name , display_name , vendor , maintainers and plugin ." in page.text


def test_every_key_of_the_schema_is_explained(site: Path) -> None:
    keys = {key.path: key for key in device_keys()}
    rows = read(site / "devices" / "add" / "index.html").one("tbody").find("tr")
    assert [row.one("th").text for row in rows] == list(keys)
    names = {path.rpartition(".")[2] for path in keys}
    schema = json.loads(device_schema())
    for group in (schema, *schema["definitions"].values()):
        assert set(group.get("properties", {})) <= names
    for key in keys.values():
        assert key.sentence, key.path
        assert key.kind, key.path


def test_what_a_key_takes_and_what_holds_without_it() -> None:
    keys = {key.path: (key.kind, key.default) for key in device_keys()}
    assert keys["name"][1] is None
    assert keys["tier"] == ("one of `reference`, `gating`, `advisory`", "advisory")
    assert keys["plugin.git.submodules"] == ("`true` or `false`", "false")
    assert keys["plugin.git.url"] == ("text", None)
    assert keys["build.timeout_minutes"] == ("a whole number, at least 1, at most 720", "60")
    assert keys["torch"] == ("a group of keys", "as below")
    assert keys["paused"] == ("a group of keys", "none")
    assert keys["suites"] == ("a list of groups of keys", "smoke, integration")
    assert keys["suites[].dtypes"][0].startswith("a list of entries, each one of `float32`")
    assert keys["unsupported[].capability"][0].startswith("one of ")
    assert ", such as `" in keys["unsupported[].capability"][0]
    assert keys["bad_ranges[].first"] == ("a day such as 2026-11-21", None)
    assert keys["environment"] == ("a mapping of names to text", "none")


def test_before_the_first_nightly_the_front_page_leads_there(sampled: Sample, rendered: Rendered) -> None:
    shown = rendered(registry=sampled.registry[:1], plan_id=None, planned_at=None, devices=())
    page = read(shown / "index.html").one("main")
    assert page.find("a", href="devices/add/index.html")
    assert "There has been no nightly yet." in read(shown / "trends" / "index.html").text
    assert "There has been no nightly yet." in read(shown / "d" / "openreg" / "trends" / "index.html").text
