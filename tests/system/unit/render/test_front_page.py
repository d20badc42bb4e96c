"""The front page: a row for every device file, and nothing that looks better than it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.pages import Element, content, read
from unit.render.rendering import Rendered, judged_pages
from unit.render.sample import DEVICES, Sample, registered
from unit.samples import device, night, on_release, plan, run
from unit.stages.alert_nights import cluster, verdicts

import ootci.stages.render.pages.clusters as clusters_module
import ootci.stages.render.pages.front as front_module
from ootci.model.cluster import Cause
from ootci.model.verdict import VerdictName
from ootci.stages.render import step_summary
from ootci.stages.render.card import main_clusters
from ootci.stages.render.words import short_day


def rows(page: Element) -> dict[str, Element]:
    return {row.attributes["id"]: row for row in page.find("li", class_="row")}


def groups(page: Element) -> dict[str, list[str]]:
    found = [*page.find("section", class_="group"), *page.find("details", class_="group")]
    return {group.attributes["id"]: [row.attributes["id"] for row in group.find("li", class_="row")] for group in found}


@pytest.fixture
def front(site: Path) -> Element:
    return read(site / "index.html")


def test_every_device_file_has_a_row_whether_it_reported_or_not(front: Element) -> None:
    assert sorted(rows(front)) == sorted(item.name for item in DEVICES)


def test_what_passes_is_open_where_nothing_needs_attention(sampled: Sample, rendered: Rendered) -> None:
    update = {"verdict": VerdictName.OK, "is_new": False, "new_failures": 0}
    fine = tuple(item.model_copy(update=update) for item in sampled.verdicts.devices)
    paused = fine[-1].model_copy(update={"verdict": VerdictName.PAUSED})
    shown = rendered(devices=(*fine[:-1], paused), predicted=None, clusters=())
    folded = read(shown / "index.html").find("details", class_="group")
    assert {group.attributes["id"]: "open" in group.attributes for group in folded} == {
        "as-expected": True,
        "paused": False,
    }


def test_what_broke_tonight_says_so_and_older_breaks_say_since_when(sampled: Sample, rendered: Rendered) -> None:
    devices = (
        item.model_copy(update={"is_new": True}) if item.device in ("borealis", "nimbus") else item
        for item in sampled.verdicts.devices
    )
    front = read(rendered(devices=tuple(devices)) / "index.html")
    since = {name: row.one("p", class_="since").text for name, row in rows(front).items()}
    assert groups(front)["broke-tonight"] == ["borealis", "nimbus"]
    assert front.one("li", class_="rail").find("li", class_="row")[0].attributes["id"] == "borealis"
    assert (since["borealis"], since["nimbus"]) == ("tonight", "tonight")
    assert since["dune"] == "19 Nov"


def test_a_control_on_a_fallback_says_on_which_torch_it_is_ok(tmp_path: Path) -> None:
    records = (plan(0, ["ref"]), on_release(run(0, "ref")))
    page = read(judged_pages(tmp_path, *records, registry=(device("ref", tier="reference"),)) / "index.html")
    assert groups(page) == {"tested-on-another-pytorch": ["ref"]}
    decision = page.one("section", class_="decision")
    assert decision.one("h1").text.strip() == "Cannot say"
    assert " on 2.13.0+cpu: " in decision.text
    assert page.text.count("no index") == 1  # the reason is not repeated in a banner


def test_where_no_device_gates_the_heading_says_what_became_of_them(tmp_path: Path) -> None:
    for names, heading in ((["mine"], "Mine: OK"), (["mine", "other"], "1 of 2 devices as expected")):
        registry = [device(name, tier="advisory") for name in names]
        site = judged_pages(tmp_path / names[-1], plan(0, names), run(0, "mine"), registry=registry)
        decision = read(site / "index.html").one("section", class_="decision")
        assert decision.one("h1").text.strip() == heading
        assert "No device that gates merges was tested" in decision.text


def test_whom_the_answer_does_not_count_is_named_below_it(sampled: Sample, rendered: Rendered) -> None:
    update = {"without_result": {"cobalt": "no report"}, "overridden": {"ember": "known"}, "predicted": ("borealis",)}
    gate = sampled.verdicts.gate.model_copy(update=update)
    told = read(rendered(gate=gate) / "index.html").one("section", class_="sum").one("p", class_="notes").text
    for note in ("No result: Cobalt", "Overridden: Ember X1.", "Break predicted, not counted: Borealis B2."):
        assert note in told


def test_the_failure_that_says_most_is_in_the_answer_with_range_and_command(
    sampled: Sample, rendered: Rendered
) -> None:
    first = sampled.verdicts.clusters[0]
    before = first.since.model_copy(update={"date": night(-1)})
    parts = (first.devices[0].model_copy(update={"last_passed": before}), *first.devices[1:])
    clusters = (first.model_copy(update={"devices": parts}),)
    decision = read(rendered(sampled.history, clusters=clusters) / "index.html").one("section", class_="decision")
    told = {part.one("dt").text: part.one("dd").text for part in decision.one("dl").find("div")}
    assert told["Last good night"] == short_day(night(-1))
    assert told["First bad night"] == short_day(first.since.date)
    assert [item.text for item in decision.find("a", class_="main")] == ["See the failure"]
    (button,) = decision.find("button")
    assert str(button.attributes["data-copy"]).startswith("ootci bisect ")
    assert "hidden" in button.attributes


def test_failures_without_a_page_are_counted_with_the_others(
    rendered: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left(**fields: object) -> int:
        link = read(rendered(**fields) / "index.html").one("section", class_="also").find("li")[-1]
        return int(link.text.removesuffix(" more").replace(",", ""))

    monkeypatch.setattr(front_module, "SHOWN_CLUSTERS", 1)
    count = left()
    monkeypatch.setattr(clusters_module, "SHOWN", 1)
    monkeypatch.setattr(clusters_module, "main_clusters", lambda _: {})
    assert (left(), left(more_clusters=2963)) == (count, count + 2963)


def test_what_breaks_no_device_is_the_cause_of_no_verdict() -> None:
    """Known defects and chance make tests fail on a device that is broken by something else; lost tests are in no
    cluster."""
    excused = cluster("a defect that the suites know", Cause.CORE_DEFECT, 1, "a", "b", "c", test="integration/x.py::x")
    more = [part.model_copy(update={"tests": 5}) for part in excused.devices]
    own = cluster("its own", Cause.UNKNOWN, 1, "a", "b")
    ended = cluster("integration: no report of its end", Cause.UNKNOWN, 1, "c", test="integration")
    found = verdicts(
        {"a": "f", "b": "l", "c": "l"}, clusters=[excused.model_copy(update={"devices": more}), own, ended]
    )
    devices = (item.model_copy(update={"broke_at": "integration"}) for item in found.devices)
    assert main_clusters(found.model_copy(update={"devices": tuple(devices)})) == {"a": own, "c": ended}


def test_a_page_that_is_not_fresh_says_so_everywhere(sampled: Sample, rendered: Rendered) -> None:
    stale = sampled.verdicts.model_copy(update={"stale_reason": "the newest nightly is 5.0 days old"})
    shown = rendered(stale_reason=stale.stale_reason)
    for name in ("index.html", "d/cobalt/index.html", "method/index.html"):
        assert "Stale: the newest nightly is 5.0 days old" in read(shown / name).one("p", class_="stale").text
    assert "5.0 days old" in step_summary(stale, sampled.registry)
    assert content(shown / "gate.json")["stale_reason"] == stale.stale_reason


def test_before_the_first_nightly_every_device_has_its_row(rendered: Rendered) -> None:
    site = rendered(devices=(), clusters=(), plan_id=None, planned_at=None)
    page = read(site / "index.html")
    assert {row.one("p", class_="result").one("strong").text for row in rows(page).values()} == {"NEVER RAN"}
    assert len(rows(page)) == len(DEVICES)
    assert page.one("p", class_="alive").text.startswith("No nightly yet")
    assert "This device has never reported" in read(site / "d" / "dune" / "index.html").text


def test_a_device_that_the_verdicts_do_not_know_is_shown_as_silent(sampled: Sample, rendered: Rendered) -> None:
    device = sampled.registry[1].device.model_copy(update={"name": "newcomer"})
    row = rows(read(rendered(registry=(*sampled.registry, registered(device))) / "index.html"))["newcomer"]
    assert row.one("p", class_="result").one("strong").text == "NEVER RAN"


def test_every_verdict_of_the_model_is_in_the_sample(sampled: Sample) -> None:
    assert {item.verdict for item in sampled.verdicts.devices} == set(VerdictName)
