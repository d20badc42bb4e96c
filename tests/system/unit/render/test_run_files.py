"""The files of runs: every outcome can be read back from them, they stay small, and they stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.render.pages import content
from unit.render.rendering import Rendered
from unit.render.run_reader import Told, read_run
from unit.render.sample import Sample
from unit.samples import plan, run, with_runs

from ootci.history.expectations import known_ids
from ootci.history.store import History
from ootci.history.stored import StoredRun, stored
from ootci.history.tables import TestTable
from ootci.model.device import KnownFailure
from ootci.model.outcome import Attempt, OutcomeName
from ootci.model.run import Run
from ootci.stages.render.pages import run_files

SMALL = 12_000
"""Bytes of the file of a run of 10,000 tests: with 50 devices over a year they take a fifth of what Pages bears."""

_NAMES = [f"test_{letter}" for letter in "abcdefghijklmnop"]
_OUTCOMES = st.dictionaries(st.sampled_from(_NAMES), st.sampled_from([name.value for name in OutcomeName]))


def written(folder: Path, runs: list[StoredRun]) -> list[Path]:
    """The files of runs that share a table, in a folder of their own."""
    paths = []
    records = [run_files.run_file(item, None) for item in runs]
    files = [(f"api/v1/{run_files.run_path(item)}", item.to_json().encode()) for item in records]
    for name, body in (*files, *run_files.tests_files(runs[0].tests)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        paths.append(path)
    return paths[: len(runs)]


def of_record(record: Run) -> dict[str, Told]:
    return {
        item.id: Told(item.outcome.value, item.suite, item.capability, item.is_flaky, False) for item in record.outcomes
    }


@given(
    nights=st.lists(st.tuples(_OUTCOMES, _OUTCOMES), min_size=1, max_size=4), chance=st.randoms(use_true_random=False)
)
def test_every_outcome_comes_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, nights: list[tuple[dict[str, str], dict[str, str]]], chance: Random
) -> None:
    table = TestTable()
    passed = (Attempt(outcome=OutcomeName.PASSED),)
    records = []
    for number, (smoke, integration) in enumerate(nights):
        record = run(number, smoke=smoke, integration=integration)
        outcomes = [
            item.model_copy(
                update={
                    "attempts": passed if item.is_failure and chance.random() < 0.3 else (),
                    # A test whose capability changes gets another row.
                    "capability": chance.choice((None, "autograd")),
                }
            )
            for item in record.outcomes
        ]
        chance.shuffle(outcomes)
        records.append(record.model_copy(update={"outcomes": tuple(outcomes)}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_files, "TESTS_EACH", 5)
        paths = written(tmp_path_factory.mktemp("files"), [stored(record, table) for record in records])
    assert [read_run(path) for path in paths] == [of_record(record) for record in records]


def listed(site: Path, device: str) -> list[dict[str, Any]]:
    path = site / "api/v1/runs" / f"{device}.json"
    runs: list[dict[str, Any]] = content(path)["runs"]
    return runs


def check(site: Path, made: Sample) -> int:
    """Hold every file of a site against the history that it was made from."""
    plans = {item.id: item for item in made.history.plans()}
    checked = 0
    for item in made.registry:
        name = item.device.name
        files = {(entry["plan_id"], entry["attempt"]): entry for entry in listed(site, name)}
        runs = made.history.stored_runs(name)
        assert set(files) == {(found.head.plan_id, found.head.attempt) for found in runs}
        for found in runs:
            path = site / "api/v1/runs" / files[found.head.plan_id, found.head.attempt]["path"]
            known = known_ids(plans[found.head.plan_id], found)
            there = read_run(path)
            assert there == {
                found.tests[row].id: Told(
                    str(outcome.value if (outcome := found.outcome(row)) else None),
                    found.tests[row].suite,
                    found.tests[row].capability,
                    found.is_flaky(row),
                    found.tests[row].id in known,
                )
                for row in found.rows()
            }
            checked += any(told.known for told in there.values())
    return checked


def test_the_sample_can_be_read_back(sampled: Sample, site: Path) -> None:
    assert check(site, sampled) > 0, "no run of the sample has a known failure"


def test_hostile_ids_come_back_as_they_are(hostile_site: Path, hostile: Sample) -> None:
    (borealis,) = (item for item in hostile.registry if item.device.name == "borealis")
    check(hostile_site, replace(hostile, registry=(borealis,)))


def test_attempts_are_listed_by_the_age_of_their_nightly(site: Path, sampled: Sample) -> None:
    for item in sampled.registry:
        entries = listed(site, item.device.name)
        assert [(entry["plan_id"], entry["attempt"]) for entry in entries] == sorted(
            (entry["plan_id"], entry["attempt"]) for entry in entries
        )
    last = listed(site, "borealis")[-2:]
    assert [(entry["attempt"], entry["counts"]) for entry in last] == [(1, False), (2, True)]


def test_an_old_nightly_that_was_run_again_is_not_the_newest(
    rendered: Rendered, tmp_path: Path, sampled: Sample
) -> None:
    history = History(tmp_path / "history")
    for number in range(2):
        history.append_plan(plan(number, ["borealis"]))
    for record in (run(0, "borealis"), run(1, "borealis")):
        history.append_run(record)
    late = run(0, "borealis", attempt=2)
    history.append_run(late.model_copy(update={"started_at": run(9).started_at, "finished_at": run(9).finished_at}))
    shown = rendered(history, sampled.registry[1:2], devices=())
    entries = listed(shown, "borealis")
    assert [(entry["plan_id"], entry["attempt"]) for entry in entries] == [
        ("night000", 1),
        ("night000", 2),
        ("night001", 1),
    ]


def test_the_file_of_a_run_of_ten_thousand_tests_is_small(tmp_path: Path) -> None:
    scattered = [number * 7919 % 100 for number in range(10_000)]
    names = ["failed" if place < 2 else "skipped" if place < 10 else "passed" for place in scattered]
    record = run(0, integration={f"test_{number}": name for number, name in enumerate(names)})
    (path,) = written(tmp_path, [stored(record)])
    assert path.stat().st_size < SMALL
    assert len(read_run(path)) >= 10_000


def test_what_the_vendor_knew_is_told(tmp_path: Path) -> None:
    entry = KnownFailure.model_validate(
        {
            "id": "smoke/test_x.py::a",
            "reason": "It is being written.",
            "issue": "https://github.com/example/torch-dev/issues/1",
            "added": "2026-10-01",
            "expires": "2027-01-31",
        }
    )
    night = with_runs(plan(0), known_failures=(entry,))
    found = stored(run(0, smoke={"a": "failed", "b": "failed"}, integration={}))
    (tmp_path / "run.json").write_bytes(run_files.run_file(found, night).to_json().encode())
    assert content(tmp_path / "run.json")["known"] == [0]
