"""``ootci history verify``, ``gc`` and ``upgrade``: what they say and how they exit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from unit.samples import night, plan, run

from ootci.errors import EXIT_INFRASTRUCTURE, EXIT_INPUT
from ootci.history.store import History
from ootci.model.run import Run

from commands import Tool  # isort: skip

MONTH = f"{night(0):%Y-%m}"


def _told(number: int, device: str = "dev", attempt: int = 1) -> Run:
    """A run with a failure that said something, and with durations."""
    plain = run(number, device, smoke={"one": "failed", "two": "passed"}, attempt=attempt)
    return plain.model_copy(
        update={
            "outcomes": tuple(
                item.model_copy(update={"duration": 1.0, "message": "no" if item.is_failure else None})
                for item in plain.outcomes
            )
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four nights of one device and one of another."""
    folder = tmp_path / "data"
    history = History(folder)
    for number in range(4):
        history.append_plan(plan(number, ("dev", "other")))
        history.append_run(_told(number))
    history.append_run(run(3, "other"))
    return folder


def test_the_command_says_it_and_exits_with_3(ootci: Tool, folder: Path) -> None:
    ran = ootci("history", "verify", cwd=folder.parent)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("4 nightlies, 5 runs of 2 devices, 3 tests, 14 outcomes in ")
    assert ran.out.endswith("4 runs have their texts and 5 their measures\neverything can be read back\n")
    path = folder / MONTH / "other.runs.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    ran = ootci("history", "verify", cwd=folder.parent)
    assert ran.code == EXIT_INFRASTRUCTURE
    assert ran.out.splitlines()[1:] == [
        f"{path}:2: the run night003-other, attempt 1, is there twice",
        "    what to do: restore the file from the data branch's git history",
        "1 problem",
    ]
    ran = ootci("history", "verify", "--format", "json", cwd=folder.parent)
    assert ran.code == EXIT_INFRASTRUCTURE
    assert [problem["where"] for problem in json.loads(ran.out)["problems"]] == [f"{path}:2"]
    ran = ootci("history", "verify", "--history", "nowhere", cwd=folder.parent)
    assert (ran.code, ran.out) == (EXIT_INPUT, "")


def test_the_command_says_what_goes_and_what_no_run_names_goes_too(ootci: Tool, folder: Path) -> None:
    details = folder / "details" / MONTH
    shutil.copy(details / "dev.night001.1.texts.json.gz", details / "dev.night009.1.texts.json.gz")
    (folder / MONTH / ".x.tmp").touch()
    arguments = ("history", "gc", "--texts", "1", "--measures", "1")
    ran = ootci(*arguments, "--dry-run", cwd=folder.parent)
    would = ran.out.splitlines()
    assert would[-1].startswith("would remove texts of 2 runs, measures of 3 runs, 2 files that no run names: ")
    assert len(would) == 8
    assert len(list(details.glob("*.texts.*"))) == 5
    done = ootci(*arguments, cwd=folder.parent).out.splitlines()
    assert done == [*would[:-1], would[-1].replace("would remove", "removed")]
    assert ootci(*arguments, cwd=folder.parent).out == "removed nothing\n"
    assert ootci("history", "verify", cwd=folder.parent).code == 0
