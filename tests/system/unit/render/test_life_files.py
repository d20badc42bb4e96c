"""The nights of tests for programs: the same as the pages say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from unit.render.pages import read
from unit.render.sample_clusters import COMMITS, VIEWS
from unit.render.sample_runs import NIGHTS, plan_id

LIVES = "api/v1/lives.json"


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_list_leads_to_every_file_and_every_file_to_its_page(site: Path) -> None:
    listed = content(site / LIVES)["files"]
    assert len(listed) == len(list((site / "t").glob("*/*/index.html"))) > 2
    for item in listed:
        assert 0 < item["ever"] <= item["tests"]
        page = read(site / urljoin(LIVES, item["page"]))
        address = urljoin(LIVES, item["path"])
        life = content(site / address)
        assert (life["suite"], life["file"]) == (item["suite"], item["file"])
        assert len(life["tests"]) + life["more"] == item["ever"]
        for test in life["tests"]:
            path, _, anchor = urljoin(address, test["page"]).partition("#")
            assert path == urljoin(LIVES, item["page"])
            assert page.find("section", id=anchor)


def test_a_test_has_its_nights_and_what_the_judge_knows_of_it(site: Path) -> None:
    life = content(site / "api/v1/lives/integration/test_views.json")
    assert life["nights"] == [plan_id(number) for number in range(NIGHTS)]
    transpose = next(test for test in life["tests"] if test["id"] == VIEWS[1])
    borealis = next(item for item in transpose["devices"] if item["device"] == "borealis")
    assert borealis["nights"] == "p" * (NIGHTS - 1) + "f"
    assert borealis["last"] == plan_id(NIGHTS - 1)
    assert borealis["spell"]["commits"] == COMMITS
    assert content(site / "api/v1/clusters.json")["clusters"][0]["signature"]["id"] == borealis["signature"]
    assert (borealis["flaky"], borealis["known"]) == (False, None)
    first = next(test for test in life["tests"] if test["id"] == VIEWS[0])
    assert [item["device"] for item in first["devices"] if item["flaky"]] == ["nimbus", "opal"]


def test_a_known_failure_says_so(site: Path) -> None:
    (test,) = content(site / "api/v1/lives/integration/test_serialization.json")["tests"]
    lumen = next(item for item in test["devices"] if item["device"] == "lumen")
    assert lumen["known"] == {"state": "covers", "issue": "https://github.com/example/torch-lumen/issues/31"}
