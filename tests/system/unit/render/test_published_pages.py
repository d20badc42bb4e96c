"""What the pages show is in the API too: the same numbers, read back from both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from unit.render.hostile import EVIL
from unit.render.pages import Element, content, read
from unit.render.sample import DEVICES
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.model.words import duration

ADDRESSES = ("page", "run_page", "path")
FILES = ("registry", "capabilities", "operators", "trends", "flaky", "nightlies", "health")


def api(site: Path, name: str) -> Any:
    return content(site / "api/v1" / f"{name}.json")


def published(site: Path) -> Iterator[tuple[str, Any]]:
    """Every file of the pages' kinds, and where it lies in the site."""
    for kind in FILES:
        top = site / "api/v1"
        for path in (top / f"{kind}.json", *sorted((top / kind).glob("*.json"))):
            if path.is_file():
                yield path.relative_to(site).as_posix(), content(path)


def values(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a file with the key that it has, or that its list has."""
    if isinstance(node, dict):
        for name, item in node.items():
            yield from values(item, name)
    elif isinstance(node, list):
        for item in node:
            yield from values(item, key)
    elif isinstance(node, str):
        yield key, node


def nightly_verdicts(site: Path) -> dict[tuple[str, str], str]:
    """What was judged, by device and nightly."""
    devices = api(site, "verdicts")["devices"]
    return {(item["device"], night["plan_id"]): night["verdict"] for item in devices for night in item["history"]}


def by_device(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["device"]: row for row in rows}


def rows(table: Element) -> list[Element]:
    return table.one("tbody").find("tr")


def cells(row: Element) -> list[str]:
    return [cell.text for cell in row.find("td")]


def link(row: Element) -> str:
    """The device that a row is about, by the link at its head."""
    return row.find("th")[0].find("a")[0].attributes["href"].split("/")[-2]


def test_every_address_leads_to_a_file(site: Path, hostile_site: Path) -> None:
    for where in (site, hostile_site):
        followed = 0
        for name, body in published(where):
            for key, address in values(body):
                if key in ADDRESSES:
                    target = urljoin(name, address).partition("#")[0]
                    assert (where / target).is_file(), f"{name}: {address}"
                    followed += 1
        assert followed > 300


def test_capabilities(site: Path) -> None:
    file = api(site, "capabilities")
    table = read(site / "capabilities/index.html").one("table")
    assert [item.text for item in table.one("thead").find("th")[1:]] == file["capabilities"]
    assert [link(row) for row in rows(table)] == [row["device"] for row in file["devices"]]
    told = by_device(file["devices"])
    compared = 0
    for row in rows(table):
        found = {item["capability"]: item for item in told[link(row)]["capabilities"]}
        for cell in row.find("span", class_="cell"):
            name, _, outcomes = cell.attributes["title"].partition(": ")
            item = found.pop(name)
            counts = item["counts"]
            asked = sum(counts.values()) - counts["skipped"] - counts.get("flaky", 0)
            assert cell.text.split()[-1] == f"{counts['passed']}/{asked}"
            assert outcomes.startswith(f"{counts['passed']} passed" if counts["passed"] else "")
            failing = sum(counts[key] for key in ("failed", "error", "crashed", "timed_out"))
            assert (item["state"] == "failing") == (failing > 0) == (" failing " in cell.text)
            assert (item["state"] == "works") == cell.text.startswith("works ") == (counts["passed"] == asked)
            compared += 1
        assert not found
    assert compared > 20


@pytest.mark.parametrize("device", ["borealis", "dune", "jasper"])
def test_trends(site: Path, device: str) -> None:
    file = api(site, f"trends/{device}")
    table = read(site / f"d/{device}/trends/index.html").find("table")[-1]
    assert [row.find("th")[0].text for row in rows(table)] == [night["day"] for night in reversed(file["nights"])]
    judged = {plan_id: verdict for (name, plan_id), verdict in nightly_verdicts(site).items() if name == device}
    for row, night in zip(rows(table), reversed(file["nights"]), strict=True):
        text = " ".join(cells(row))
        assert night["verdict"] == judged[night["plan_id"]]
        assert night["verdict"] is None or night["verdict"].replace("_", " ") in text
        assert (night["page"] is None) == (not row.find("a"))
        if night["bad"] is not None:
            assert night["bad"]["reason"] in text
            assert night["tests"] is night["duration"] is None
        elif night["tests"] is not None:
            assert f"{night['tests']['passed']:,}" in cells(row)
            assert f"{night['tests']['executed']:,}" in cells(row)
        if night["duration"] is not None:
            assert duration(night["duration"]) in text
    assert len(file["nights"]) == NIGHTS


def test_nightlies(site: Path) -> None:
    listed = api(site, "nightlies")["nightlies"]
    assert [night["plan_id"] for night in listed] == [plan_id(number) for number in range(NIGHTS)]
    judged = nightly_verdicts(site)
    for night in listed:
        file = content(site / "api/v1" / night["path"])
        page = read(site / "api/v1" / night["page"])
        tables = page.find("table")
        new = [item for section in page.find("section", aria_labelledby="new") for item in section.find("li")]
        assert [item.find("code")[0].text for item in new] == [error["text"] for error in file.get("new_errors", ())]
        if found := file.get("accuracy_regressions"):
            assert [row.find("th")[0].text for row in rows(tables.pop(0))] == [row["operator"] for row in found]
        shown = {link(row): cells(row) for row in rows(tables[0])}
        assert [item["device"] for item in file["devices"]] == list(shown)
        for item in file["devices"]:
            verdict, run, passed, torch, commit = shown[item["device"]]
            assert item["verdict"] == judged[item["device"], night["plan_id"]]
            assert verdict == item["verdict"].replace("_", " ")
            assert (run == "run") == (item["page"] is not None)
            if item["passed"] and item["passed"]["executed"]:
                assert passed == f"{item['passed']['passed']} of {item['passed']['executed']}"
            assert torch.startswith(item["torch"])
            assert commit == (item["commit"][:12] if item["commit"] else "unknown")
        verdicts = [item["verdict"] for item in file["devices"]]
        assert night["verdicts"] == file["verdicts"]
        assert {item["verdict"]: item["devices"] for item in night["verdicts"]} == {
            verdict: verdicts.count(verdict) for verdict in verdicts
        }
        assert len(file["left_out"]) == (len(rows(tables[1])) if len(tables) > 1 else 0)
        assert {*shown, *(item["device"] for item in file["left_out"])} == {item.name for item in DEVICES}


def test_hostile_text_stays_text(hostile_site: Path) -> None:
    """It is there, whole or shortened, and no address is made of it."""
    seen = 0
    for name, body in published(hostile_site):
        for key, text in values(body):
            seen += "<script>" in text
            if key in ADDRESSES or key.endswith(("address", "url", "link")):
                assert not text.lower().startswith(("javascript", "data", "/", "file")), (name, text)
    assert seen > 30
    assert api(hostile_site, "flaky")["tests"][0]["id"] == f"integration/{EVIL}"
    sizes = {name: (hostile_site / name).stat().st_size for name, _ in published(hostile_site)}
    assert max(sizes.values()) < 256 * 1024, sizes
