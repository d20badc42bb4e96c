"""``ootci gate --shard``: of a run in shares, those are refused whose tests are why the whole run is.

GitHub's "Re-run failed jobs" repeats the jobs of these shares and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from unit.samples import SUITES, build, plan, register, run, stored

from ootci.model.build import Build, StageStatus
from ootci.model.plan import PlannedSuite
from ootci.model.record import write
from ootci.model.workspace import RunFolder, Shard

from commands import Tool  # isort: skip

TESTS = {"one": 1, "two": 2, "three": 3, "four": 1, "five": 2, "six": 3}
"""The share of each test of the suite integration; those of smoke are in the first two."""
COUNT = 3
VENDORS = "bench"
SUITE = f"  - {{name: {VENDORS}, command: [bench], junit: 'out/*.xml'}}\n"


@dataclass(frozen=True)
class Case:
    """What went wrong in the shares of a run.

    Attributes:
        before: outcomes of integration on the nightly; None without a nightly.
        now: those of them that are not passed, of the tests that report at all.
        red: the shares that are to be repeated.
        gone: tests that are collected no longer.
        silent: tests without a result, because their process ended.
        build: how the plugin's build ended.
        stages: how stages of one share ended that did not pass, by share.
        vendors: how the suite that the vendor brings ended, which the first share runs; None without such a suite.

    """

    before: Mapping[str, str] | None = field(default_factory=lambda: dict.fromkeys(TESTS, "passed"))
    now: Mapping[str, str] = field(default_factory=dict)
    red: tuple[int, ...] = ()
    gone: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    build: str = "passed"
    stages: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    vendors: str | None = None


ALL = (1, 2, 3)
CASES = {
    "nothing": Case(),
    "no nightly": Case(before=None),
    "a new failure": Case(now={"five": "failed"}, red=(2,)),
    "new failures in two": Case(now={"one": "crashed", "six": "timed_out"}, red=(1, 3)),
    "a failure as before": Case(before={**dict.fromkeys(TESTS, "passed"), "five": "failed"}, now={"five": "failed"}),
    "a failure without a nightly": Case(before=None, now={"three": "failed"}, red=(3,)),
    "a skipped test that ran": Case(now={"two": "skipped"}, red=(2,)),
    "a test that is gone": Case(gone=("four",), red=ALL),
    "a suite cut off": Case(silent=("six",), stages={3: {"integration": "crashed"}}, red=(3,)),
    "a suite not run by one": Case(silent=("two", "five"), stages={2: {"integration": "not_run"}}, red=(2,)),
    "a suite not run by one, without a nightly": Case(
        before=None, silent=("two", "five"), stages={2: {"integration": "not_run"}}, red=(2,)
    ),
    "no build": Case(build="failed", red=ALL),
    "no card in one": Case(stages={2: {"check": "failed"}}, red=(2,)),
    "import broken in all": Case(stages={index: {"import": "failed"} for index in ALL}, red=ALL),
    "a vendor's suite": Case(vendors="passed"),
    "a vendor's suite without a nightly": Case(vendors="passed", before=None),
    "a vendor's suite that crashed": Case(vendors="crashed", red=(1,)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_shares_that_are_refused_are_why_the_run_is(ootci: Tool, tmp_path: Path, case: Case) -> None:
    work = _prepared(tmp_path, case)
    shares = {index: _answer(ootci, tmp_path, work, "--shard", f"{index}/{COUNT}") for index in ALL}
    assert tuple(index for index, code in shares.items() if code) == case.red
    assert ootci("collect", "dev", cwd=tmp_path).code == 0
    assert bool(_answer(ootci, tmp_path, work)) == bool(case.red)


def _answer(ootci: Tool, folder: Path, work: Path, *more: str) -> int:
    ran = ootci("gate", "--pull-request", "--device", "dev", *more, cwd=folder)
    assert not ran.err, ran.err
    return ran.code


def _prepared(folder: Path, case: Case) -> Path:
    suites = SUITES if case.vendors is None else (*SUITES, PlannedSuite(name=VENDORS))
    own = "suites:\n  - name: smoke\n  - name: integration\n" + SUITE
    register(folder, extra="tier: gating\n" + (own if case.vendors else ""))
    work = folder / ".ootci"
    if case.before is not None:
        nightly = run(0, integration=case.before, smoke={"a": "passed", "b": "passed"})
        stored(folder / "data", plan(0), nightly)
    write(plan(9, suites=suites), work / "plan.json")
    mine = RunFolder(work / "runs" / "dev")
    for index in ALL:
        share = mine.shard(Shard(index, COUNT))
        built = _build(case.build)
        write(built, mine.build)
        write(built, share.build)
        if case.build == "passed":
            lines = (json.dumps(event) for event in _events(case, index))
            share.events.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return work


def _build(status: str) -> Build:
    found = build(9)
    *before, last = found.stages
    return found.model_copy(update={"stages": (*before, last.model_copy(update={"status": StageStatus(status)}))})


def _events(case: Case, index: int) -> list[dict[str, object]]:
    """What one share writes."""
    wrong = case.stages.get(index, {})
    shares = {
        "smoke": {"a": 1, "b": 2},
        "integration": {name: share for name, share in TESTS.items() if name not in case.gone},
    }
    events: list[dict[str, object]] = []
    for stage in ("import", "check", *shares):
        events.append({"event": "stage_start", "stage": stage, "time": "2026-11-10T04:10:00.000Z"})
        end: dict[str, object] = {"event": "stage_end", "stage": stage, "status": wrong.get(stage, "passed")}
        tests = shares.get(stage, {})
        told = [{**_test(stage, name), "shard": share} for name, share in tests.items()]
        if told:
            events.append({"event": "shard", "index": index, "count": COUNT, "tests": told})
        for name in (name for name, share in tests.items() if share == index and name not in case.silent):
            outcome = case.now.get(name, "passed") if stage == "integration" else "passed"
            events.append({"event": "test_end", **_test(stage, name), "outcome": outcome, "duration": 0.5})
            if outcome in ("failed", "crashed", "timed_out"):
                end |= {"status": "failed", "only_tests": True}
        events.append({**end, "duration": 1.0})
        if stage in ("import", "check") and end["status"] != "passed":
            return events
    if case.vendors is not None and index == 1:
        events.append({"event": "stage_start", "stage": VENDORS, "time": "2026-11-10T04:10:00.000Z"})
        if case.vendors == "passed":
            test = {"id": f"{VENDORS}/x::y", "suite": VENDORS}
            events.append({"event": "collected", "tests": [test]})
            events.append({"event": "test_end", **test, "outcome": "passed", "duration": 0.5})
            events.append({"event": "report", "suite": VENDORS, "state": "complete"})
        events.append({"event": "stage_end", "stage": VENDORS, "status": case.vendors, "duration": 1.0})
    return events


def _test(suite: str, name: str) -> dict[str, object]:
    return {"id": f"{suite}/test_x.py::{name}", "suite": suite}


def test_a_share_of_no_device_is_an_error(ootci: Tool, tmp_path: Path) -> None:
    _prepared(tmp_path, Case())
    ran = ootci("gate", "--pull-request", "--shard", "1/3", cwd=tmp_path)
    assert (ran.code, "--shard" in ran.err) == (2, True)
