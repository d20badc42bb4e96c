"""Badges: readable by everybody, fetching nothing, and grey when nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

from unit.render.pages import content, read
from unit.render.sample import NOW, Sample

from ootci.model.verdict import VerdictName
from ootci.stages.judge import judge
from ootci.stages.render.badge import COLOURS, badge
from ootci.stages.render.status import VERDICTS

SVG = "{http://www.w3.org/2000/svg}"
GREY = COLOURS["off"]


def test_badge_as_it_is(site: Path, golden: Callable[[str, str], None]) -> None:
    golden("badge.svg", (site / "badge/borealis.svg").read_text(encoding="utf-8"))


def test_the_picture_says_in_words_and_by_date_what_it_shows(sampled: Sample, site: Path) -> None:
    for item, verdict in zip(sampled.registry, sampled.verdicts.devices, strict=True):
        picture = ElementTree.fromstring((site / "badge" / f"{item.device.name}.svg").read_bytes())  # noqa: S314 - our own bytes
        endpoint = content(site / "badge" / f"{item.device.name}.json")
        title = picture.find(f"{SVG}title")
        assert title is not None
        assert picture.get("role") == "img"
        assert picture.get("aria-labelledby") == title.get("id")
        assert title.text == f"{item.device.display_name} on {endpoint['label']}: {endpoint['message']}"
        assert endpoint["message"].startswith(VERDICTS[verdict.verdict].word)
        since = verdict.since if verdict.verdict is VerdictName.NO_DATA else verdict.broken_since
        date = since or verdict.history[-1].date
        assert date is not None
        assert f"{date:%Y-%m-%d}" in endpoint["message"]
        assert [text.text for text in picture.iter(f"{SVG}text")] == [endpoint["label"], endpoint["message"]]
        assert f"#{endpoint['color']}" in {rect.get("fill") for rect in picture.iter(f"{SVG}rect")}


def test_no_badge_fetches_or_runs_anything_whatever_a_device_calls_itself(hostile_site: Path) -> None:
    pictures = list((hostile_site / "badge").glob("*.svg"))
    assert pictures
    for path in pictures:
        picture = ElementTree.fromstring(path.read_bytes())  # noqa: S314 - our own bytes
        tags = {element.tag.removeprefix(SVG) for element in picture.iter()}
        assert tags == {"svg", "title", "clipPath", "rect", "g", "text"}, path
        for element in picture.iter():
            assert not any("href" in name or name.startswith("on") for name in element.attrib), path
        assert len(path.read_bytes()) < 2048, path


def test_a_prediction_has_a_badge_of_its_own_that_is_never_green(sampled: Sample, site: Path) -> None:
    endpoints = {name: content(site / "badge" / f"{name}-predicted.json") for name in ("halo", "lumen", "fjord")}
    assert {name: found["message"] for name, found in endpoints.items()} == {
        "halo": "break predicted since 2026-11-18",
        "lumen": "no break found",
        "fjord": "cannot be checked",
    }
    assert {found["label"] for found in endpoints.values()} == {"PyTorch nightly, not tested"}
    assert [found["color"] for found in endpoints.values()] == [COLOURS["predicted"], GREY, GREY]
    assert not (site / "badge" / "borealis-predicted.svg").exists()


def test_the_gallery_has_every_picture(sampled: Sample, site: Path) -> None:
    page = read(site / "badge" / "index.html")
    shown = {picture.attributes["src"] for picture in page.one("main").find("img")}
    assert shown == {path.name for path in (site / "badge").glob("*.svg")}
    assert {rows.attributes["id"] for rows in page.find("tbody")} == {item.device.name for item in sampled.registry}


def test_every_badge_is_grey_once_the_newest_nightly_is_too_old(sampled: Sample) -> None:
    fresh = judge(sampled.registry, sampled.history, NOW)
    late = judge(sampled.registry, sampled.history, NOW + timedelta(days=30))
    devices = [item.device for item in sampled.registry]
    assert GREY not in {badge(*pair).colour for pair in zip(devices[:4], fresh.devices[:4], strict=True)}
    assert {badge(*pair).colour for pair in zip(devices, late.devices, strict=True)} == {GREY}


def test_a_fallback_is_not_called_by_the_name_of_what_was_wanted(sampled: Sample) -> None:
    fell_back = [
        (item.device, verdict)
        for item, verdict in zip(sampled.registry, sampled.verdicts.devices, strict=True)
        if verdict.torch_request is not None and verdict.torch_request.fallback_reason is not None
    ]
    assert fell_back
    for device, verdict in fell_back:
        assert verdict.torch_request is not None
        assert f" on {verdict.torch_request.channel.value} " in badge(device, verdict).message
