"""A device's page: the failing line is one click away, and silence looks like silence."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.sample import ADDRESS, DEVICES
from unit.render.sample_clusters import ALIKE, CLUSTERS, COMMITS_URL
from unit.render.sample_runs import CAPABILITIES, NIGHTS, SHA, plan_id
from unit.samples import device as registered
from unit.samples import night, plan, run

from ootci.history.store import History
from ootci.stages.judge import judge
from ootci.stages.render import render


def device(site: Path, name: str) -> Element:
    return read(site / "d" / name / "index.html")


@pytest.mark.parametrize("name", [item.name for item in DEVICES])
def test_every_device_has_a_page_with_verdict_contacts_and_the_command(site: Path, name: str) -> None:
    page = device(site, name)
    assert page.find(id="verdict")[0].text
    assert f"@{name}-maintainers" in page.text
    assert f"make nightly DEVICE={name}" in page.text


def test_a_device_leads_to_those_before_and_after_it_on_the_front_page(site: Path) -> None:
    front = read(site / "index.html").one("main")
    listed = [item.attributes["id"] for item in front.find(class_="row") if "id" in item.attributes]
    assert len(listed) == len(DEVICES)
    for name, before, after in zip(listed, [None, *listed], [*listed[1:], None], strict=False):
        page = device(site, name)
        found = {rel: [link.attributes["href"] for link in page.find("a", rel=rel)] for rel in ("prev", "next")}
        assert found == {
            "prev": [f"../{before}/index.html"] if before else [],
            "next": [f"../{after}/index.html"] if after else [],
        }


def test_failures_have_their_text_and_the_command_that_reproduces_them(site: Path) -> None:
    page = device(site, "borealis")
    failures = page.find("details", class_="failure")
    assert len(failures) == 3
    assert "E AssertionError: Tensor-likes are not equal!" in failures[0].text
    command = failures[0].find("pre", class_="command")[0].text
    test = "tests/device/integration/test_views.py::test_transpose"
    assert command.startswith("make nightly DEVICE=borealis TORCH=nightly@2026-11-20 PLUGIN=")
    assert command.endswith(f" .ootci/envs/borealis/bin/python -m pytest {test} --device borealis")


def test_who_tests_pull_requests_sees_how_near_level_3_is(tmp_path: Path) -> None:
    history = History(tmp_path / "data")
    for number in range(3):
        history.append_plan(plan(number, ("asks", "never")))
        for name in ("asks", "never"):
            history.append_run(run(number, name))
    registry = (registered("asks", pull_requests=True), registered("never"))
    verdicts = judge(registry, history, night(2) + timedelta(hours=2))
    render(registry, history, verdicts, tmp_path / "site")
    rows = device(tmp_path / "site", "asks").one("section", aria_labelledby="readiness").one("tbody").find("tr")
    assert [row.find("td")[-1].text for row in rows] == ["not met", *["not enough data"] * 5]
    assert rows[-1].find("td")[1].text == "3 of 3"
    assert not device(tmp_path / "site", "never").find(id="readiness")


def test_new_failures_stand_before_old_ones(site: Path) -> None:
    changes = [
        item.one("summary").find("span", class_="small")[-1].text
        for item in device(site, "borealis").find("details", class_="failure")
    ]
    assert changes == ["regression", "regression", "still failing"]


def test_a_build_that_broke_shows_the_end_of_its_log(site: Path) -> None:
    page = device(site, "dune")
    stages = page.one("section", aria_labelledby="stages")
    assert "ninja: build stopped: subcommand failed." in stages.find("pre")[0].text
    assert "not run" in page.text


def test_versions_name_the_pytorch_commit_and_link_it(site: Path) -> None:
    link = [item for item in device(site, "openreg").find("a") if "pytorch/pytorch/commit" in item.attributes["href"]]
    assert link[0].attributes["href"].endswith(SHA)
    assert link[0].text == SHA[:12]


def test_a_fallback_is_said_on_the_device_s_page_and_on_the_run_s(site: Path) -> None:
    for page in (device(site, "ember"), read(site / "d" / "ember" / plan_id(NIGHTS - 1) / "index.html")):
        assert "release 2.13.0+cpu instead of nightly" in page.one("p", class_="banner").text


def test_a_silent_device_leads_to_its_last_report(site: Path) -> None:
    panel = device(site, "fjord").one("section", class_="empty")
    assert "has no report from it" in panel.text
    assert panel.one("a").attributes["href"] == f"{plan_id(10)}/index.html"


def test_a_device_that_never_ran_and_a_paused_one_say_so(site: Path) -> None:
    assert "has never reported" in device(site, "indigo").one("section", class_="empty").text
    assert "The only machine is being moved until March; ootci nightly runs it there." in device(site, "halo").text


def test_every_night_is_listed_and_those_with_a_report_lead_to_it(site: Path) -> None:
    nights = device(site, "fjord").one("ol", class_="calendar").find("li")
    assert len(nights) == NIGHTS
    assert [bool(night.find("a")) for night in nights] == [False] * 3 + [True] * 11


def test_an_earlier_attempt_stays_readable(site: Path) -> None:
    page = device(site, "borealis")
    link = next(item for item in page.find("a") if item.text == "attempt 1")
    earlier = read(site / "d" / "borealis" / link.attributes["href"])
    assert "replaced by a later one" in earlier.text
    assert "0 cards found" in earlier.text


def test_counts_and_outcomes_that_are_not_passes_are_listed(site: Path) -> None:
    page = device(site, "marble")
    not_run = next(item for item in page.find("details") if item.one("summary").text == "not run 8")
    assert len(not_run.find("li")) == 8
    integration = next(row for row in page.find("tr") if row.find("th")[0].text == "integration")
    assert "truncated" in integration.text


def test_operators_that_ran_on_the_cpu_are_named_the_most_frequent_first(site: Path) -> None:
    said = "5 operators called: 2 native, 3 fell back to the CPU"
    (section,) = (item for item in device(site, "openreg").find("details") if item.one("summary").text == said)
    assert [item.text for item in section.find("li")] == [
        "aten::linalg_qr 12 times",
        "aten::erfinv 3 times",
        "aten::mm 2 times, 64 times on the device",
    ]
    assert "fell back to the CPU" not in device(site, "cobalt").text


def test_known_failures_say_what_has_become_of_them(site: Path) -> None:
    section = device(site, "lumen").one("section", aria_labelledby="known-failures")
    rows = {item.find("code")[0].text.rpartition("/")[2]: item for item in section.find("li")}
    assert {name: row.find("span", class_="status")[0].text for name, row in rows.items()} == {
        "test_optimizers.py::*": "expired",
        "test_views.py::test_c*": "passes now",
        "test_views.py::test_gone[*]": "matches no test",
        "test_serialization.py::test_transpose": "known",
        "test_autograd.py::*": "other torch",
    }
    assert "1 passing test, first integration/test_views.py::test_chunk: remove it" in section.text
    assert "added 2026-10-01, expires 2027-01-31, torch >=2.14" in rows["test_serialization.py::test_transpose"].text
    issue = rows["test_serialization.py::test_transpose"].one("a")
    assert issue.attributes["href"] == "https://github.com/example/torch-lumen/issues/31"


def test_a_known_failure_is_marked_where_it_failed(site: Path) -> None:
    page = device(site, "lumen")
    assert page.one("details", class_="failure").one("summary").find("span", class_="small")[-1].text == "known"
    assert "1 of 1 known to the vendor." in page.text
    assert not device(site, "borealis").find(id="known-failures")


def test_a_claim_that_is_not_true_asks_to_be_removed(site: Path) -> None:
    section = device(site, "lumen").one("section", aria_labelledby="declared")
    assert (
        "works in part streams_events One queue only. declared unsupported, but works in part (7 of 10" in section.text
    )
    assert "not seen quantization The card has no integer matrix units. none of its tests ran" in section.text


def test_a_defect_of_torch_blames_nobody_and_is_linked(site: Path) -> None:
    page = device(site, "lumen").one("section", aria_labelledby="others")
    assert "A defect of torch itself: no plugin is to blame." in page.text
    assert page.one("a").attributes["href"] == "https://github.com/pytorch/pytorch/issues/195815"


def test_the_page_of_a_run_has_the_list_of_its_own_night(site: Path) -> None:
    page = read(site / "d" / "lumen" / plan_id(NIGHTS - 2) / "index.html")
    assert "matches no test" in page.one("section", aria_labelledby="known-failures").text


def test_a_failing_test_says_since_when_with_which_commits_and_who_fails_alike(site: Path) -> None:
    new, old = device(site, "borealis").one("section", aria_labelledby="changes").find("details")[:2]
    said = new.find("li")[0].one("span", class_="under")
    assert said.text == "failing since 2026-11-21, last passed 2026-11-20, abc1234...def5678 · with 1 other"
    links = [item.attributes["href"] for item in said.find("a")]
    assert links == [COMMITS_URL, f"../../c/{ALIKE.id}/index.html"]
    said = old.find("li")[0].one("span", class_="under")
    assert said.text == "failing since 2026-11-11, not known to have passed before · only this device"


def test_it_says_what_changed_since_the_run_before(site: Path) -> None:
    said = "Changed since the run before: PyTorch not known · plugin not known"
    assert said in device(site, "cobalt").text


def test_without_a_run_nothing_is_said_of_changes(site: Path) -> None:
    assert "Since the run before" not in device(site, "indigo").text


def facets(site: Path, name: str) -> dict[str, Element]:
    """The card of a broken device, by heading."""
    box = device(site, name).one("div", class_="facets")
    return {part.one("h3").text: part for part in box.find("div") if len(part.find("h3")) == 1}


def test_the_card_says_what_broke_since_when_whose_and_how_to_reproduce_it(site: Path) -> None:
    card = facets(site, "borealis")
    assert list(card) == ["What broke", "Since", "Whose", "Reproduce"]
    assert card["What broke"].one("p", class_="big").text == "2 new failures"
    assert card["What broke"].find("a")[0].attributes["href"] == f"../../c/{ALIKE.id}/index.html"
    assert "Same failure on" in card["What broke"].text
    assert "First bad 21 Nov 2026" in card["Since"].text
    assert "Not known to have passed before" in card["Since"].text
    assert card["Whose"].find("a")[0].attributes["href"] == COMMITS_URL
    commands = card["Reproduce"].find("pre")[0].text
    assert commands.startswith("make nightly DEVICE=borealis TORCH=nightly@2026-11-20")
    buttons = [button.text for button in card["Reproduce"].find("button")]
    assert buttons == ["Copy"]
    issue = card["Reproduce"].one("a").attributes["href"]
    assert issue.startswith("https://github.com/pytorch/pytorch/issues/new?title=")


def test_the_card_of_a_broken_stage_leads_to_its_cluster_and_to_the_vendor(site: Path) -> None:
    card = facets(site, "dune")
    assert card["What broke"].one("p", class_="big").text == "Stage: build"
    assert card["What broke"].one("a").attributes["href"] == f"../../c/{CLUSTERS[-1].signature.id}/index.html"
    assert card["Reproduce"].one("a").attributes["href"].startswith("https://github.com/example/torch-dune/issues/new?")


def test_a_device_that_is_not_broken_has_no_card(site: Path) -> None:
    assert not device(site, "openreg").find("div", class_="facets")


def test_its_failing_tests_are_drawn_night_by_night(site: Path) -> None:
    rows = device(site, "borealis").one("ul", class_="lately").find("li")
    assert [row.find("a")[0].text for row in rows[:2]] == ["test_expand", "test_slice_writes_through"]
    nights = rows[0].one("div", class_="nights-of")
    assert len(nights.find("title")) == NIGHTS
    assert nights.find("title")[-1].text == "Sat 21 Nov 2026: began to fail"
    assert rows[0].text.endswith("tonight")


def told(site: Path, device: str) -> dict[str, Element]:
    """What the page says of a device, by the label."""
    top = read(site / "d" / device / "index.html").one("dl", class_="glance")
    return {row.one("dt").text: row.one("dd") for row in top.find("div") if row.find("dt")}


@pytest.mark.parametrize(
    ("device", "tests"),
    [
        ("borealis", "69 of 72 passed 2 new"),
        ("openreg", "124 of 124 passed"),
    ],
)
def test_tests(site: Path, device: str, tests: str) -> None:
    assert told(site, device)["Tests"].text == tests


def test_a_run_without_an_executed_test_has_no_line_of_tests(site: Path) -> None:
    assert "Tests" not in told(site, "dune")


def test_what_is_new_is_one_click_away(site: Path) -> None:
    (new,) = told(site, "borealis")["Tests"].find("a")
    assert new.attributes["href"] == "#failures"


def test_every_capability_has_its_meter_and_what_does_not_work_says_so(site: Path) -> None:
    rows = read(site / "d" / "borealis" / "index.html").one("ul", class_="meters").find("li")
    meters = {row.one("bdi").text: row for row in rows}
    assert set(CAPABILITIES) < set(meters)
    assert meters["views"].text.endswith("3 failing")
    assert meters["autograd"].text.endswith("works")
    shares = {name: int(row.one("rect", class_="full").attributes["width"]) for name, row in meters.items()}
    assert shares["views"] < shares["autograd"] == 100


def test_the_last_nights_in_a_row_and_in_words(site: Path) -> None:
    nights = told(site, "cobalt")["Last 14 nights"].one("div", class_="nights-of")
    hatched = nights.find("use", href="#c-hatch")
    assert len(nights.find("rect")) + len(nights.find("use")) - len(hatched) == 14
    assert len(hatched) == 1
    words = "1 night INFRA from 2026-11-12 (not counted: The runners had no network.)"
    assert words in nights.attributes["aria-label"]


def test_a_silent_device_has_its_nights_and_no_numbers(site: Path) -> None:
    assert list(told(site, "fjord")) == ["Last 14 nights"]
    assert list(told(site, "indigo")) == ["Last 2 nights"]


def test_the_badge_has_the_address_of_the_site_where_that_is_known(site: Path, addressed_site: Path) -> None:
    page = (addressed_site / "badge" / "index.html").read_text(encoding="utf-8")
    assert f"[![opal on PyTorch]({ADDRESS}badge/opal.svg)]({ADDRESS}d/opal/)" in page
    assert "in place of" not in page
    assert "[![opal on PyTorch](SITE/badge/opal.svg)]" in (site / "badge" / "index.html").read_text(encoding="utf-8")
