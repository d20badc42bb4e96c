"""The registry as it stands, and how to add to it: told by the schema, with a file that really works."""

from __future__ import annotations

import json
import re
from pathlib import Path

from unit.render.pages import read
from unit.render.rendering import Rendered
from unit.render.sample import Sample

from ootci.model.device import load_registry
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


def test_before_the_first_nightly_the_front_page_leads_there(sampled: Sample, rendered: Rendered) -> None:
    shown = rendered(registry=sampled.registry[:1], plan_id=None, planned_at=None, devices=())
    page = read(shown / "index.html").one("main")
    assert page.find("a", href="devices/add/index.html")
    assert "There has been no nightly yet." in read(shown / "trends" / "index.html").text
    assert "There has been no nightly yet." in read(shown / "d" / "openreg" / "trends" / "index.html").text
