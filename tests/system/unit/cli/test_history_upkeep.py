"""``ootci history verify``, ``gc`` and ``withdraw``: what they say and how they exit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from unit.samples import detailed_run, four_nights, night, plan, whole_runs

from ootci.errors import EXIT_INFRASTRUCTURE, EXIT_INPUT
from ootci.history import gc
from ootci.history.store import History

from commands import Tool  # isort: skip

MONTH = f"{night(0):%Y-%m}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four nights of one device and one of another."""
    return four_nights(tmp_path / "data")


def test_the_command_says_it_and_exits_with_3(ootci: Tool, folder: Path) -> None:
    ran = ootci("history", "verify", cwd=folder.parent)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("4 nightlies, 5 runs of 2 devices, 3 tests, 14 outcomes in ")
    assert ran.out.endswith("4 runs have their texts and 5 their measures\neverything can be read back\n")
    path = folder / MONTH / "night003" / "other.1.json"
    path.write_bytes(path.read_bytes() * 2)
    ran = ootci("history", "verify", cwd=folder.parent)
    assert ran.code == EXIT_INFRASTRUCTURE
    assert ran.out.splitlines()[1:] == [
        f"{path}: the file cannot be read back: the checksum is wrong",
        "    what to do: restore the file from the data branch's git history",
        "1 problem",
    ]
    ran = ootci("history", "verify", "--format", "json", cwd=folder.parent)
    assert ran.code == EXIT_INFRASTRUCTURE
    assert [problem["where"] for problem in json.loads(ran.out)["problems"]] == [str(path)]
    ran = ootci("history", "verify", "--history", "nowhere", cwd=folder.parent)
    assert (ran.code, ran.out) == (EXIT_INPUT, "")


def test_the_command_says_what_goes_and_what_no_run_names_goes_too(
    ootci: Tool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "TEXTS_NIGHTS", 1)
    monkeypatch.setattr(gc, "MEASURES_RUNS", 1)
    details = folder / "details" / MONTH
    shutil.copy(details / "dev.night001.1.texts.json.gz", details / "dev.night009.1.texts.json.gz")
    (folder / MONTH / ".x.tmp").touch()
    arguments = ("history", "gc")
    ran = ootci(*arguments, "--dry-run", cwd=folder.parent)
    would = ran.out.splitlines()
    assert would[-1].startswith("would remove texts of 2 runs, measures of 3 runs, 2 files that no run names: ")
    assert len(would) == 8
    assert len(list(details.glob("*.texts.*"))) == 5
    done = ootci(*arguments, cwd=folder.parent).out.splitlines()
    assert done == [*would[:-1], would[-1].replace("would remove", "removed")]
    assert ootci(*arguments, cwd=folder.parent).out == "removed nothing\n"
    assert ootci("history", "verify", cwd=folder.parent).code == 0


def test_a_withdrawn_nightly_is_judged_no_more_and_stays_in_the_folder(ootci: Tool, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ran = ootci("history", "withdraw", "night002", "--reason", "planned for\nthe wrong year", cwd=folder.parent)
    assert (ran.code, ran.out) == (0, "withdrew the nightly night002; publish it with `ootci history publish`\n")
    history = History(folder)
    assert [plan.id for plan in history.plans()] == ["night000", "night001", "night003"]
    assert [run.plan_id for run in whole_runs(history, "dev")] == ["night000", "night001", "night003"]
    assert {path: path.read_bytes() for path in before} == before
    report = ootci("history", "verify", cwd=folder.parent)
    assert report.code == 0
    assert "night002/withdrawn.json: the nightly was withdrawn at " in report.out
    assert report.out.count("planned for the wrong year") == 1
    again = ootci("history", "withdraw", "night002", "--reason", "once more", cwd=folder.parent)
    assert (again.code, again.out) == (0, "the nightly night002 was withdrawn before\n")
    assert not history.append_plan(plan(2, ("dev", "other")))
    assert not history.append_run(detailed_run(2))


def test_withdrawing_what_is_not_there_is_an_error_that_offers_the_nearest(ootci: Tool, folder: Path) -> None:
    ran = ootci("history", "withdraw", "night02", "--reason", "typo", cwd=folder.parent)
    assert (ran.code, ran.out) == (EXIT_INPUT, "")
    assert "no nightly `night02` is in the history" in ran.err
    assert "`night002`" in ran.err
    ran = ootci("history", "withdraw", "NIGHTLY", "--reason", "copied", cwd=folder.parent)
    assert "what to do: give an id from the dashboard's page Nightlies" in ran.err


def test_a_nightly_is_not_withdrawn_without_a_reason(ootci: Tool, folder: Path) -> None:
    ran = ootci("history", "withdraw", "night002", "--reason", " \n", cwd=folder.parent)
    assert (ran.code, "CLI-001: it is empty\n  where: --reason" in ran.err) == (EXIT_INPUT, True)
    assert not list(folder.rglob("withdrawn.json"))
