"""The front page: a row for every device file, and nothing that looks better than it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.sample import DEVICES, Sample, registered
from unit.samples import device, night, plan, run

from ootci.history.store import History
from ootci.model.torch_build import Channel, TorchBuild
from ootci.model.verdict import Gate, VerdictName, Verdicts
from ootci.stages.judge import judge
from ootci.stages.render import render, step_summary


def rows(page: Element) -> dict[str, Element]:
    return {row.attributes["id"]: row for row in page.find("tr", role="row") if "id" in row.attributes}


@pytest.fixture
def front(site: Path) -> Element:
    return read(site / "index.html")


def test_every_device_file_has_a_row_whether_it_reported_or_not(front: Element) -> None:
    assert sorted(rows(front)) == sorted(item.name for item in DEVICES)


@pytest.mark.parametrize(
    ("device", "verdict", "where"),
    [
        ("openreg", "OK", "\u2013"),
        ("dune", "BUILD BROKEN", "BUILD"),
        ("kestrel", "IMPORT BROKEN", "IMPORT"),
        ("nimbus", "SMOKE BROKEN", "SMOKE"),
        ("borealis", "REGRESSED", "TESTS"),
        ("marble", "LOST TESTS", "TESTS"),
        ("jasper", "FAILING", "TESTS"),
        ("fjord", "NO DATA", "NO DATA"),
        ("garnet", "INFRA", "INFRA"),
        ("opal", "UNSTABLE", "TESTS"),
        ("lumen", "KNOWN", "\u2013"),
        ("indigo", "NEVER RAN", "\u2013"),
        ("halo", "PAUSED", "\u2013"),
    ],
)
def test_a_verdict_is_a_word_and_a_glyph_and_says_where_it_broke(
    front: Element, device: str, verdict: str, where: str
) -> None:
    row = rows(front)[device]
    shown = row.find("td", class_="verdict")[0]
    assert shown.text == verdict
    assert len(shown.find("use")) == 1
    assert row.find("td", data_label="Broke at")[0].text.startswith(where)


def test_only_ok_and_known_look_good(front: Element) -> None:
    good = {name for name, row in rows(front).items() if "good" in row.attributes["class"]}
    assert good == {"openreg", "cobalt", "ember", "lumen"}


def test_rows_are_in_the_order_of_tier_and_severity(front: Element) -> None:
    names = list(rows(front))
    assert names[:4] == ["openreg", "dune", "borealis", "cobalt"]
    assert names.index("kestrel") < names.index("fjord") < names.index("indigo") < names.index("lumen")
    assert names[-1] == "halo"


def test_new_failures_are_counted_and_lead_to_their_text(front: Element) -> None:
    link = rows(front)["borealis"].one("a", class_="new")
    assert (link.text, link.attributes["href"]) == ("2 new", "d/borealis/index.html#failures")


def test_numbers_are_shown_with_what_they_are_a_part_of(front: Element) -> None:
    assert "69 of 72" in rows(front)["borealis"].find("td", data_label="Passed")[0].text
    assert "no tests" in rows(front)["fjord"].find("td", data_label="Passed")[0].text


def test_a_fallback_is_said_in_the_row_and_in_a_banner(front: Element) -> None:
    torch = rows(front)["ember"].find("td", data_label="Torch")[0]
    assert "instead of nightly" in torch.text
    banner = front.one("p", class_="banner")
    assert "release 2.13.0+cpu instead of nightly: no nightly build for the variant rocm7.1" in banner.text
    assert banner.one("a").attributes["href"] == "#ember"


def test_a_control_on_a_fallback_says_on_which_torch_it_is_ok(tmp_path: Path) -> None:
    registry, history, made = (device("ref", tier="reference"),), History(tmp_path / "data"), run(0, "ref")
    update = {"channel": Channel.RELEASE, "version": "2.13.0+cpu", "fallback_reason": "no index"}
    request, torch = made.torch_request.model_copy(update=update), TorchBuild(version="2.13.0+cpu")
    history.append_plan(plan(0, ["ref"]))
    history.append_run(made.model_copy(update={"torch_request": request, "torch": torch}))
    render(registry, history, judge(registry, history, night(0)), tmp_path / "site")
    gate, control = (
        item.one("h2").text for item in read(tmp_path / "site" / "index.html").find("section", class_="answer")
    )
    assert (gate.strip(), control.strip()) == ("Cannot say", "Control OK on 2.13.0+cpu")


def test_the_page_says_when_it_was_built_and_of_which_nightly(front: Element) -> None:
    assert front.one("p", class_="alive").text == ("Built 2026-11-21 05:02 UTC · newest nightly 2026-11-21 04:10 UTC")


def test_the_sentence_is_the_heading_and_the_gate_comes_next(front: Element, sampled: Sample) -> None:
    assert front.one("h1").text == sampled.verdicts.summary.replace(" · ", " ", 1)
    assert "Do not merge" in front.find("h2")[0].text
    assert sampled.verdicts.gate.reason in front.text


def test_the_strip_has_fourteen_nights_and_the_same_in_words(front: Element) -> None:
    strip = rows(front)["dune"].one("svg", class_="strip")
    places = [float(part.split()[0]) for part in str(strip.one("path", class_="good").attributes["d"]).split("M")[1:]]
    assert places == [11 * night + 1.5 for night in range(11)]
    assert [(use.attributes["href"], use.attributes["x"]) for use in strip.find("use")] == [
        ("#c-cross", str(11 * night)) for night in range(11, 14)
    ]
    words = "11 nights OK from 2026-11-08, then 3 nights BUILD BROKEN from 2026-11-19"
    assert strip.one("title").children == [words]


def test_columns_of_the_strip_are_the_same_nights_for_every_device(front: Element) -> None:
    late = rows(front)["indigo"].one("svg", class_="strip")
    assert [use.attributes["href"] for use in late.find("use")] == ["#c-gap"] * 12 + ["#c-never"] * 2


def test_a_page_that_is_not_fresh_says_so_everywhere(sampled: Sample, tmp_path: Path) -> None:
    stale = sampled.verdicts.model_copy(update={"stale_reason": "the newest nightly is 5.0 days old"})
    render(sampled.registry, sampled.history, stale, tmp_path / "site")
    for name in ("index.html", "d/cobalt/index.html", "method/index.html"):
        assert (
            "not fresh: the newest nightly is 5.0 days old"
            in read(tmp_path / "site" / name).one("p", class_="stale").text
        )
    assert "5.0 days old" in step_summary(stale, sampled.registry)
    assert json.loads((tmp_path / "site" / "gate.json").read_text())["stale_reason"] == stale.stale_reason


def test_before_the_first_nightly_every_device_has_its_row(sampled: Sample, tmp_path: Path) -> None:
    verdicts = Verdicts(
        judged_at=sampled.verdicts.judged_at,
        summary="No nightly has run yet; 15 devices are registered.",
        gate=Gate(answer="cannot_say", reason="nothing has run"),
        devices=(),
    )
    render(sampled.registry, History(tmp_path / "none"), verdicts, tmp_path / "site")
    page = read(tmp_path / "site" / "index.html")
    assert {row.find("td", class_="verdict")[0].text for row in rows(page).values()} == {"NEVER RAN"}
    assert len(rows(page)) == len(DEVICES)
    assert "no nightly yet" in page.one("p", class_="alive").text
    assert "This device has never reported" in read(tmp_path / "site" / "d" / "dune" / "index.html").text


def test_a_device_that_the_verdicts_do_not_know_is_shown_as_silent(sampled: Sample, tmp_path: Path) -> None:
    device = sampled.registry[1].device.model_copy(update={"name": "newcomer"})
    render((*sampled.registry, registered(device)), sampled.history, sampled.verdicts, tmp_path / "site")
    row = rows(read(tmp_path / "site" / "index.html"))["newcomer"]
    assert row.find("td", class_="verdict")[0].text == "NEVER RAN"


def test_every_verdict_of_the_model_is_in_the_sample(sampled: Sample) -> None:
    assert {item.verdict for item in sampled.verdicts.devices} == set(VerdictName)
