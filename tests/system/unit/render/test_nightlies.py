"""A nightly's page: a row for every device, silent ones included, and the commits since the nightly before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from unit.render.pages import Element, content, read
from unit.render.rendering import Rendered
from unit.render.sample import DEVICES, LETTERS, Sample, sample
from unit.render.sample_runs import FIRST_NIGHT, NIGHTS, plan_id
from unit.samples import device, four_nights, night

import ootci.stages.render.site as site_module
from ootci.history import named
from ootci.history.named import named_failures
from ootci.history.store import History
from ootci.model.outcome import PassRate
from ootci.model.plan import Plan, Trigger
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import BROKEN, VerdictName
from ootci.stages.judge import judge
from ootci.stages.render import nights, render
from ootci.stages.render.pages import nightlies, past_errors
from ootci.stages.render.pages.nightlies import NightReport, builds_of, nightly_facts, nightly_files
from ootci.stages.render.status import VERDICTS
from ootci.stages.render.words import short_day

RUN_PAGE = "https://github.com/example/pytorch-integration-tests/actions/runs/7"


def nightly(site: Path, number: int) -> Element:
    return read(site / "n" / plan_id(number) / "index.html")


def rows(page: Element) -> dict[str, list[str]]:
    found = [row for table in page.find("table") for row in table.one("tbody").find("tr")]
    return {row.find("bdi")[0].text: [cell.text for cell in row.find("td")] for row in found}


def test_a_device_that_the_plan_does_not_name_is_left_out(site: Path) -> None:
    assert rows(nightly(site, 0))["Indigo Q"] == ["left out", "the plan of this nightly does not name it"]


def _reported(plan: Plan, commit: str | None) -> NightReport:
    expected = plan.runs[0]
    version = expected.torch.version or ""
    build = TorchBuild(version=version, git_version=commit)
    return NightReport("x", expected.torch, build, PassRate(passed=1, executed=1))


def test_commits_are_counted_from_the_last_nightly_that_says_its_commit(sampled: Sample) -> None:
    plans = sampled.history.plans()[:4]
    commits = ["1" * 40, None, "3" * 40, "3" * 40]
    told = {"openreg": {plan.id: _reported(plan, said) for plan, said in zip(plans, commits, strict=True)}}
    builds = builds_of([plan.id for plan in plans], told)
    nights = nightly_files(sampled.registry, sampled.verdicts, plans, told, builds)
    facts = [nightly_facts(night)[-1] for night in nights]
    assert facts[0].value == "unknown: no earlier nightly has a known commit"
    assert facts[1].value == "unknown: no device reported the commit of a nightly build"
    assert facts[2].value == f"1111111...3333333 since nightly {plans[0].id}"
    assert facts[2].href == f"https://github.com/pytorch/pytorch/compare/{commits[0]}...{commits[2]}"
    assert (facts[3].value, facts[3].href) == (f"none since nightly {plans[2].id}", None)


def test_the_workflow_run_is_linked_and_nothing_but_the_web(tmp_path: Path) -> None:
    addresses = {plan_id(0): RUN_PAGE, plan_id(1): "javascript:document.title='ran'"}

    def planned(plan: Plan) -> Plan:
        trigger = Trigger(event="workflow_dispatch", url=addresses.get(plan.id))
        return plan.model_copy(update={"trigger": trigger})

    made = sample(tmp_path / "history", planned)
    render(made.registry, made.history, made.verdicts, tmp_path / "site")
    first, second = nightly(tmp_path / "site", 0), nightly(tmp_path / "site", 1)
    assert [link.text for link in first.find("a", href=RUN_PAGE)] == ["workflow run"]
    assert "by hand" in first.text
    assert "workflow run" not in second.text


def test_a_night_whose_verdicts_are_no_longer_kept_and_a_device_that_left_keep_their_rows(
    sampled: Sample, rendered: Rendered
) -> None:
    devices = tuple(item.model_copy(update={"history": item.history[-2:]}) for item in sampled.verdicts.devices)
    registry = tuple(item for item in sampled.registry if item.device.name != "dune")
    page = nightly(rendered(sampled.history, registry, devices=devices), 0)
    assert rows(page)["OpenReg"][:2] == ["not kept", "run"]
    gone = next(row for row in page.find("tr") if row.find("th")[0].text == "dune not registered")
    assert not [link for link in gone.find("a") if "d/dune" in link.attributes["href"]]


def test_an_old_nightly_keeps_its_address_and_is_kept_as_data(
    sampled: Sample, rendered: Rendered, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nightlies, "NIGHTS_LISTED", 3)
    shown = rendered(sampled.history)
    for number in range(NIGHTS):
        path = Path("n") / plan_id(number) / "index.html"
        if number >= NIGHTS - 3:
            assert (shown / path).read_bytes() == (site / path).read_bytes()
            continue
        main = nightly(shown, number).one("main")
        assert not main.find("table")
        targets = [link.attributes["href"] for link in main.find("a")]
        near = [plan_id(other) for other in (number - 1, number + 1) if other >= 0]
        file = f"../../api/v1/nightlies/{plan_id(number)}.json"
        assert targets[2:] == [*(f"../../n/{other}/index.html" for other in near), file]
        counts = content(site / f"api/v1/nightlies/{plan_id(number)}.json")["verdicts"]
        for count in counts:
            word = VERDICTS[VerdictName(count["verdict"])].word if count["verdict"] else "no verdict"
            assert f"{word} {count['devices']}" in main.text


def test_the_list_leads_to_the_nights_on_which_many_devices_broke(
    sampled: Sample, rendered: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nights, "MANY", 1)
    path = rendered(sampled.history) / "n" / "index.html"
    marks = [link for link in read(path).one("div", class_="all").find("a") if link.find("text")]
    assert len(marks) > 1
    assert all((path.parent / mark.attributes["href"]).is_file() for mark in marks)


def test_a_withdrawn_nightly_keeps_its_pages_which_say_when_and_why(tmp_path: Path) -> None:
    history = four_nights(tmp_path / "data")
    registry = (device(), device("other"))
    render(registry, History(history), judge(registry, History(history), night(4)), tmp_path / "before")
    plan_of = History(history).plans()[1].id
    History(history).withdraw(plan_of, night(3), "The machine's <clock> was wrong.")
    render(registry, History(history), judge(registry, History(history), night(4)), tmp_path / "after")
    pages = {path.relative_to(tmp_path / "before") for path in (tmp_path / "before").rglob("*.html")}
    assert {path.relative_to(tmp_path / "after") for path in (tmp_path / "after").rglob("*.html")} == pages
    for path in (f"n/{plan_of}", f"d/dev/{plan_of}"):
        page = read(tmp_path / "after" / path / "index.html")
        banner = page.one("p", **{"class": "banner"}).text
        assert banner.startswith("Withdrawn 2026-11-04")
        assert banner.endswith("Reason: The machine's <clock> was wrong.")
    assert rows(read(tmp_path / "after" / "n" / plan_of / "index.html"))["Dev"][:2] == ["withdrawn", "run"]
    listed = read(tmp_path / "after" / "n" / "index.html")
    for row in listed.one("ul", class_="rows").find("li"):
        cells = [cell.text for cell in row.find("title")]
        assert cells[1] == "Mon 2 Nov 2026: withdrawn (The machine's <clock> was wrong.)"
        assert row.find("a", href=f"../n/{plan_of}/index.html")
    assert len(listed.one("tbody").find("tr")) == 3
    assert listed.find("a", href=f"{plan_of}/index.html")
    file = content(tmp_path / "after" / "api/v1/nightlies" / f"{plan_of}.json")
    assert (file["verdicts"], file["withdrawn"]["reason"]) == ([], "The machine's <clock> was wrong.")


def test_a_nightly_names_the_errors_that_were_first_seen_on_it(site: Path) -> None:
    new = {number: nightly(site, number).find("section", aria_labelledby="new") for number in range(NIGHTS)}
    assert [number for number, found in new.items() if found] == [3, 4, 10, 11]
    (row,) = new[11][0].find("li")
    assert row.text == "build: ninja ended with exit code <n> Dune NPU"
    error, device = (link.attributes["href"] for link in row.find("a"))
    assert device == "../../d/dune/index.html"
    assert (site / "n" / plan_id(11) / error).is_file()
    file = content(site / "api" / "v1" / "nightlies" / f"{plan_id(11)}.json")
    (told,) = file["new_errors"]
    assert (told["text"], told["devices"], error) == (
        "build: ninja ended with exit code <n>",
        ["dune"],
        told["page"].removeprefix("../"),
    )


def test_of_many_new_errors_a_nightly_names_some_and_counts_the_rest(
    sampled: Sample, rendered: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_errors, "NEW_ERRORS", 4)
    page = nightly(rendered(sampled.history), 3)
    assert len(page.one("section", aria_labelledby="new").find("li")) == 4
    assert page.one("p", class_="cut").text == "6 more errors not named here"


def test_of_a_night_whose_errors_are_not_all_kept_nobody_says_that_it_was_alone_or_silent(
    sampled: Sample, rendered: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_module, "named_failures", lambda *run: replace(named_failures(*run), cut=1 << 11))
    card = nightly(rendered(sampled.history), 11).one("section", aria_labelledby="broke")
    assert "Only this device" not in card.text
    assert "Not known" in card.text
    monkeypatch.undo()
    monkeypatch.setattr(named, "NAMES", 0)
    card = nightly(rendered(sampled.history), 11).one("section", aria_labelledby="broke")
    assert "No error text was reported" not in card.text
    assert "Not all errors of that night are kept" in card.text


def test_a_nightly_leads_to_the_one_before_and_the_one_after(site: Path) -> None:
    for rel, number in (("prev", 2), ("next", 4)):
        link = nightly(site, 3).one("a", rel=rel)
        assert link.attributes["href"] == f"../../n/{plan_id(number)}/index.html"


def failure_of(site: Path, number: int) -> dict[str, Any] | None:
    file = content(site / "api" / "v1" / "nightlies" / f"{plan_id(number)}.json")
    failure: dict[str, Any] | None = file.get("failure")
    return failure


def test_a_red_night_has_a_card_of_what_broke_since_when_and_how_to_reproduce_it(site: Path) -> None:
    failure = failure_of(site, 11)
    assert failure is not None
    card = nightly(site, 11).one("section", aria_labelledby="broke")
    assert (failure["is_new"], failure["devices"], failure["device"]) == (True, ["dune"], "dune")
    assert card.one("h2").text.strip() == "1 device broke on this nightly"
    what, since, whose, again = card.one("div", class_="facets").find("div")[-4:]
    assert failure["error"]["text"] in what.text
    assert what.find("a")[0].attributes["href"] == failure["error"]["page"].removeprefix("../")
    assert f"First bad {short_day(FIRST_NIGHT + timedelta(days=11))}" in since.text
    assert f"Last good {short_day(FIRST_NIGHT + timedelta(days=10))}" in since.text
    assert failure["last_good"]["plan_id"] == plan_id(10)
    assert "Only this device" in whose.text
    assert again.one("pre").text == "\n".join(failure["commands"])
    assert failure["commands"][0].startswith("make nightly DEVICE=dune")


def test_a_night_on_which_nothing_newly_broke_says_what_is_still_broken(site: Path) -> None:
    found = {number: failure_of(site, number) for number in range(NIGHTS)}
    for number, failure in found.items():
        sections = nightly(site, number).find("section", aria_labelledby="broke")
        broken = [item for item in DEVICES if LETTERS[item.nights[number]] in BROKEN]
        assert bool(sections) is bool(failure) is bool(broken)
        if failure and not failure["is_new"]:
            assert sections[0].one("h2").text.strip().endswith("still broken, no new ones")
            assert failure["devices"] == [item.name for item in broken]
            assert failure["first_bad"]["plan_id"] != plan_id(number)
    assert {bool(failure and failure["is_new"]) for failure in found.values()} == {True, False}
