"""collect: the shares of a run come to what the whole would have, and a share that is silent is named and not green."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.samples import build, device, night, plan, stored

from ootci.model.build import StageName, StageStatus
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.record import write
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict, VerdictName
from ootci.model.workspace import RunFolder, Shard
from ootci.stages.collect import collect, event_log
from ootci.stages.judge import judge

TESTS = {
    "smoke": {"smoke/a.py::one": 1, "smoke/a.py::two": 2, "smoke/a.py::three": 1},
    "integration": {"integration/b.py::four": 2, "integration/b.py::five": 1},
}
"""The share of each test, by suite."""
FAILS = "integration/b.py::four"


def _records(suite: str, shares: tuple[int, ...]) -> list[dict[str, object]]:
    return [{"id": test, "suite": suite, "shard": share} for test, share in TESTS[suite].items() if share in shares]


def _events(share: int | None, *, failing: str | None = FAILS) -> list[dict[str, object]]:
    """What a share writes; None for the whole."""
    events: list[dict[str, object]] = []
    for stage in ("import", "check", "smoke", "integration"):
        events.append({"event": "stage_start", "stage": stage, "time": "2026-11-01T04:10:00.000Z"})
        end: dict[str, object] = {"event": "stage_end", "stage": stage, "status": "passed", "duration": 10.0}
        if stage in TESTS:
            mine = _records(stage, (1, 2) if share is None else (share,))
            if share is not None:
                events.append({"event": "shard", "index": share, "count": 2, "tests": _records(stage, (1, 2))})
            events.append({"event": "collected", "tests": mine})
            ended = {str(test["id"]): "failed" if test["id"] == failing else "passed" for test in mine}
            events += [{"event": "test_end", "id": test, "outcome": ended[test], "duration": 0.5} for test in ended]
            if "failed" in ended.values():
                end |= {"status": "failed", "reason": f"1 of {len(mine)} tests failed", "only_tests": True}
        events.append(end)
    return events


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    found = RunFolder(tmp_path / "runs" / "dev")
    write(build(), found.build)
    return found


def _write(folder: RunFolder, events: list[dict[str, object]]) -> None:
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.events.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")


def _collect(folder: RunFolder) -> Run:
    return collect(device().device, plan(), folder, now=night(1))


def _judged(run: Run, folder: Path) -> DeviceVerdict:
    return judge((device(),), stored(folder, plan(), run), night(0)).devices[0]


def _share(folder: RunFolder, index: int) -> RunFolder:
    return folder.shard(Shard(index, 2))


def test_two_shares_come_to_the_whole(folder: RunFolder, tmp_path: Path) -> None:
    whole = RunFolder(tmp_path / "whole")
    write(build(), whole.build)
    _write(whole, _events(None))
    for index in (1, 2):
        _write(_share(folder, index), _events(index))
    one, two = _collect(whole), _collect(folder)
    assert two.outcomes == one.outcomes
    assert two.suites == one.suites
    assert [(stage.name, stage.status, stage.only_tests) for stage in two.stages] == [
        (stage.name, stage.status, stage.only_tests) for stage in one.stages
    ]
    assert two.stages[-1].reason == "shard 2 of 2: 1 of 1 tests failed"
    assert _judged(two, tmp_path / "data").verdict is VerdictName.FAILING


def test_a_share_that_is_silent_is_named_and_its_tests_are_not_run(folder: RunFolder, tmp_path: Path) -> None:
    _write(_share(folder, 1), _events(1))
    run = _collect(folder)
    outcomes = {item.id: item.outcome.value for item in run.outcomes}
    assert outcomes == {
        test: "passed" if share == 1 else "not_run" for tests in TESTS.values() for test, share in tests.items()
    }
    assert {(report.state.value, report.detail) for report in run.suites} == {
        ("truncated", "shard 2 of 2 never reported")
    }
    stages = {stage.name: stage for stage in run.stages}
    assert stages[StageName.SMOKE].reason == "shard 2 of 2 never reported"
    assert stages[StageName.SMOKE].status is StageStatus.CRASHED
    assert stages[StageName.IMPORT].status is StageStatus.PASSED
    found = _judged(run, tmp_path / "data")
    assert (found.verdict, found.reason) == (VerdictName.LOST_TESTS, "smoke: shard 2 of 2 never reported")


def test_a_share_that_was_ended_keeps_what_it_had(folder: RunFolder) -> None:
    _write(_share(folder, 1), _events(1, failing=None))
    events = _events(2)
    _write(_share(folder, 2), events[: next(n for n, event in enumerate(events) if event.get("id") == FAILS) + 1])
    run = _collect(folder)
    assert {item.outcome for item in run.outcomes} == {OutcomeName.PASSED, OutcomeName.FAILED}
    stage = run.stages[-1]
    assert (stage.status, stage.reason) == (StageStatus.CRASHED, "shard 2 of 2 never reported")


def test_operators_of_all_shares_are_added_up_to_the_limit(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MAX_OPERATORS", 2)
    for index, names in ((1, ("aten::add", "aten::mul")), (2, ("aten::add", "aten::sub"))):
        counted = {"event": "operators", "counts": {name: {"native": index, "fallback": 1} for name in names}}
        _write(_share(folder, index), [*_events(index), counted])
    assert [(item.operator, item.native, item.fallback) for item in _collect(folder).operators] == [
        ("aten::add", 3, 2),
        ("aten::mul", 1, 1),
    ]


def test_a_declaration_passes_where_its_tests_pass_in_every_share(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "MAX_DECLARATIONS", 4)
    good, bad, seen = {"passed": 2, "seen": 2}, {"passed": 1, "seen": 2}, "exclusions: TestFFT"
    shares = {1: {seen: good, "operators: add": good}, 2: {seen: good, "operators: add": bad, "operators: mul": {}}}
    for index, tried in shares.items():
        told = {"event": "declarations", "tried": {**tried, f"operators: of {index}": good}}
        _write(_share(folder, index), [*_events(index), told])
    found = [(item.declaration, item.tests) for item in _collect(folder).passing_declarations or ()]
    assert found == [(seen, 4), ("operators: of 1", 2)]
    for index in shares:
        _write(_share(folder, index), _events(index))
    assert _collect(folder).passing_declarations is None


def _changed(events: list[dict[str, object]], event: str, stage: str, **more: object) -> list[dict[str, object]]:
    """The events, of which one stage's says something else."""
    return [{**e, **more} if (e["event"], e.get("stage")) == (event, stage) else e for e in events]


def test_of_stages_that_ended_badly_the_worst_is_told(folder: RunFolder) -> None:
    ends: tuple[dict[str, object], ...] = (
        {"status": "failed", "duration": 10.0, "reason": "two failed", "only_tests": True, "log": "first.log"},
        {
            "status": "timed_out",
            "duration": 30.0,
            "reason": "time was up",
            "only_tests": False,
            "log": "second.log",
            "excerpt": "in a kernel",
        },
    )
    for index, end in enumerate(ends, start=1):
        events = _changed(_events(index, failing=None), "stage_end", "smoke", **end)
        _write(_share(folder, index), _changed(events, "stage_start", "smoke", time=f"2026-11-01T0{index}:00:00.000Z"))
    (smoke,) = (stage for stage in _collect(folder).stages if stage.name == StageName.SMOKE)
    assert (smoke.status, smoke.duration, smoke.only_tests) == (StageStatus.TIMED_OUT, 30.0, False)
    assert smoke.reason == "shard 1 of 2: two failed; shard 2 of 2: time was up"
    assert (smoke.excerpt, smoke.log) == ("in a kernel", "second.log")
    assert smoke.started_at is not None
    assert smoke.started_at.hour == 1


def test_a_silent_share_does_not_hide_how_another_ended(folder: RunFolder) -> None:
    _write(_share(folder, 1), _changed(_events(1), "stage_end", "smoke", status="failed", reason="two failed"))
    (smoke,) = (stage for stage in _collect(folder).stages if stage.name == StageName.SMOKE)
    assert smoke.reason == "shard 1 of 2: two failed; shard 2 of 2 never reported"


def test_attempts_of_every_share_are_kept(folder: RunFolder) -> None:
    for index, test in ((1, "smoke/a.py::one"), (2, FAILS)):
        again = {"event": "test_end", "id": test, "outcome": "passed", "duration": 0.1, "attempt": 2}
        _write(_share(folder, index), [*_events(index, failing=test), again])
    assert [item.id for item in _collect(folder).outcomes if item.is_flaky] == ["smoke/a.py::one", FAILS]


def test_a_share_without_tests_is_no_gap(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TESTS, "integration", dict.fromkeys(TESTS["integration"], 1))
    monkeypatch.setitem(TESTS, "smoke", dict.fromkeys(TESTS["smoke"], 1))
    for index in (1, 2):
        _write(_share(folder, index), _events(index, failing=None))
    run = _collect(folder)
    assert len(run.outcomes) == 5
    assert {report.state.value for report in run.suites} == {"complete"}


def test_what_describes_the_machine_is_of_a_share_that_reported(folder: RunFolder) -> None:
    _write(_share(folder, 2), _events(2))
    _share(folder, 2).env.write_text('{"os": {"cpus": 7}}', encoding="utf-8")
    assert _collect(folder).environment.cpus == 7


def test_shares_of_an_earlier_and_smaller_division_do_not_count(folder: RunFolder) -> None:
    for index in (1, 2):
        _write(_share(folder, index), _events(index))
    earlier = folder.shard(Shard(1, 1))
    _write(earlier, _events(None, failing="smoke/a.py::two"))
    assert [item.id for item in _collect(folder).outcomes if item.is_failure] == [FAILS]


def test_folders_that_are_no_shares_are_passed_over(folder: RunFolder) -> None:
    for index in (1, 2):
        _write(_share(folder, index), _events(index))
    for name in ("0-of-2", "x-of-y", "1-of-99999", "1-of"):
        (folder.shards / name).mkdir()
    assert isinstance(_collect(folder).outcomes[0], Outcome)
    assert folder.shards_found() == (Shard(1, 2), Shard(2, 2))
