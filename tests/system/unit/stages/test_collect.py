"""collect: run.json from whatever was left behind; what did not report is told, never left out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from unit.samples import build, device, night, plan, request, stored, with_runs

from ootci.errors import NoSuchDevice, StageFileMissing
from ootci.model.accuracy import Accuracy
from ootci.model.build import StageName
from ootci.model.excerpt import MAX_ID
from ootci.model.outcome import MAX_ID_LENGTH
from ootci.model.record import read, write
from ootci.model.run import Run
from ootci.model.training import Training
from ootci.model.verdict import VerdictName, Verdicts
from ootci.model.workspace import RunFolder
from ootci.stages.collect import collect
from ootci.stages.collect.event_log import SHORT_MESSAGE
from ootci.stages.judge import judge

IDS = ("smoke/a.py::one", "smoke/a.py::two", "integration/b.py::three")


def _start(stage: str) -> dict[str, object]:
    return {"event": "stage_start", "stage": stage, "time": "2026-11-01T04:10:00.000Z"}


def _end(stage: str, status: str = "passed", **values: object) -> dict[str, object]:
    return {"event": "stage_end", "stage": stage, "status": status, "duration": 60.0, **values}


def _collected(*ids: str) -> dict[str, object]:
    return {"event": "collected", "tests": [{"id": name, "suite": name.partition("/")[0]} for name in ids]}


def _test(test_id: str, outcome: str = "passed") -> dict[str, object]:
    return {"event": "test_end", "id": test_id, "outcome": outcome, "duration": 0.5}


BEFORE = [_start("import"), _end("import"), _start("check"), _end("check")]
SMOKE = [_start("smoke"), _collected(*IDS[:2]), _test(IDS[0]), _test(IDS[1]), _end("smoke")]
INTEGRATION = [_start("integration"), _collected(IDS[2]), _test(IDS[2]), _end("integration")]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    found = RunFolder(tmp_path)
    write(build(), found.build)
    return found


def _collect(folder: RunFolder, *events: dict[str, object]) -> Run:
    folder.events.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return collect(device().device, plan(), folder, now=night(1))


def _states(run: Run) -> dict[str, str]:
    return {report.suite: report.state.value for report in run.suites}


def _outcomes(run: Run) -> dict[str, str]:
    return {item.id: item.outcome.value for item in run.outcomes}


def test_a_run_that_went_well_is_complete(folder: RunFolder) -> None:
    run = _collect(folder, *BEFORE, *SMOKE, *INTEGRATION)
    assert _states(run) == {"smoke": "complete", "integration": "complete"}
    assert _outcomes(run) == dict.fromkeys(IDS, "passed")
    absent = (StageName.OPS, StageName.MODELS, StageName.UPSTREAM)
    assert [stage.name for stage in run.stages] == [name for name in StageName if name not in absent]
    assert {stage.status.value for stage in run.stages} == {"passed"}
    assert run.stage_reached == StageName.INTEGRATION
    assert (run.started_at, run.finished_at - run.started_at) == (night(0), timedelta(minutes=11))
    assert read(Run, folder.run) == run


def test_what_was_collected_and_not_reported_is_not_run(folder: RunFolder) -> None:
    run = _collect(folder, *BEFORE, *SMOKE[:-2], _end("smoke", "crashed"), *INTEGRATION)
    assert _outcomes(run)[IDS[1]] == "not_run"
    assert _states(run) == {"smoke": "truncated", "integration": "complete"}
    assert run.suites[0].detail == "1 of 2 collected tests never reported"


@pytest.mark.parametrize("reported", [("failed", "passed"), ("passed", "failed"), ("passed", "crashed", "passed")])
@pytest.mark.parametrize("ended", [True, False])
def test_of_several_reports_of_a_test_a_failure_stays_however_the_suite_ends(
    folder: RunFolder, reported: tuple[str, ...], ended: bool
) -> None:
    told = [_test(IDS[0], outcome) for outcome in reported]
    run = _collect(folder, *BEFORE, *SMOKE[:2], *told, *([_end("smoke", "failed")] if ended else []))
    assert _outcomes(run)[IDS[0]] in ("failed", "crashed")


def test_a_log_that_is_cut_is_never_complete(folder: RunFolder) -> None:
    _collect(folder, *BEFORE, *SMOKE, *INTEGRATION)
    whole = folder.events.read_bytes()
    for size in range(0, len(whole) - 1, 7):
        folder.events.write_bytes(whole[:size])
        states = _states(collect(device().device, plan(), folder, now=night(1)))
        assert states["integration"] != "complete"
        assert set(states.values()) <= {"complete", "truncated", "no_tests", "not_expected"}


def test_a_job_that_was_ended_after_the_last_test_has_no_whole_report(folder: RunFolder) -> None:
    run = _collect(folder, *BEFORE, *SMOKE[:-1])
    assert (_states(run)["smoke"], run.suites[0].detail) == ("truncated", "the job ended while this stage was running")


def test_more_tests_than_can_be_kept_are_a_report_that_is_cut(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ootci.stages.collect.event_log.MAX_TESTS", 1)
    run = _collect(folder, *BEFORE, *SMOKE)
    assert (list(_outcomes(run)), _states(run)["smoke"]) == ([IDS[0]], "truncated")


def test_a_job_that_was_ended_in_a_suite_keeps_what_that_suite_told(folder: RunFolder) -> None:
    _collect(folder, *BEFORE, *SMOKE)
    run = _collect(
        folder,
        *BEFORE,
        *SMOKE,
        _start("integration"),
        _collected(IDS[2], "integration/b.py::four"),
        _test(IDS[2], "failed"),
    )
    stage = next(stage for stage in run.stages if stage.name == StageName.INTEGRATION)
    assert (stage.status.value, stage.reason) == ("crashed", "the job ended while this stage was running")
    assert _outcomes(run) == {IDS[0]: "passed", IDS[1]: "passed", IDS[2]: "failed", "integration/b.py::four": "not_run"}
    assert _states(run) == {"smoke": "complete", "integration": "truncated"}


def test_a_job_that_never_came_to_the_tests_has_stages_that_did_not_run(folder: RunFolder) -> None:
    run = collect(device().device, plan(), folder, now=night(1))
    assert [stage.status.value for stage in run.stages[2:]] == ["not_run"] * 4
    assert _states(run) == {"smoke": "not_expected", "integration": "not_expected"}
    assert run.outcomes == ()


def test_a_suite_without_tests_is_its_own_state(folder: RunFolder) -> None:
    run = _collect(
        folder, *BEFORE, _start("smoke"), _collected(), _end("smoke", "failed", reason="no tests were collected")
    )
    assert _states(run)["smoke"] == "no_tests"
    assert run.suites[0].detail == "no tests were collected"


def test_a_file_that_could_not_be_collected_is_an_error_of_its_suite(folder: RunFolder) -> None:
    broken = {"event": "collect_error", "id": "smoke/c.py", "message": "SyntaxError", "text": "line 1"}
    run = _collect(folder, *BEFORE, *SMOKE[:-1], broken, _end("smoke", "failed"))
    assert _outcomes(run)["smoke/c.py"] == "error"
    assert run.suites[0].counts.error == 1


@pytest.mark.parametrize("test_id", ["smoke/a.py::" + "x" * 5000, "smoke/a.py::é[a b]<&>\"'", "smoke/a.py::a\tb"])
def test_an_id_of_any_kind_is_one_test(folder: RunFolder, test_id: str) -> None:
    run = _collect(folder, *BEFORE, _start("smoke"), _collected(test_id), _test(test_id), _end("smoke"))
    assert [item.outcome.value for item in run.outcomes] == ["passed"]


def test_a_device_that_was_not_planned_and_a_build_that_never_was(folder: RunFolder) -> None:
    with pytest.raises(NoSuchDevice):
        collect(device("two").device, plan(), folder, now=night(1))
    folder.build.unlink()
    with pytest.raises(StageFileMissing):
        collect(device().device, plan(), folder, now=night(1))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 200_000,
        b'{"os": {"platform": "\\ud800"}}',
        b'{"device": 5}',
        b"\xff",
        b"null",
        b'{"os": {"cpus": 1e400}}',
    ],
)
def test_a_hostile_env_json_costs_only_what_it_says(folder: RunFolder, content: bytes) -> None:
    folder.env.write_bytes(content)
    run = _collect(folder, *BEFORE, *SMOKE, *INTEGRATION)
    assert run.environment.os is None
    assert run.environment.python == "3.11.0"
    assert _states(run)["smoke"] == "complete"


def test_one_wrong_fact_of_env_json_leaves_the_others(folder: RunFolder) -> None:
    folder.env.write_text('{"os": {"platform": "Linux", "cpus": "many"}, "numpy": [], "python": {"version": "3.12.1"}}')
    run = _collect(folder, *BEFORE, *SMOKE, *INTEGRATION)
    assert (run.environment.os, run.environment.cpus, run.environment.python) == ("Linux", None, "3.12.1")


@pytest.mark.parametrize(
    "event",
    [
        _end("smoke", duration=1e300),
        _end("smoke", duration=-5),
        {**_end("smoke"), "time": "0001-01-01T00:00:00+14:00"},
        {**_start("smoke"), "time": "9999-12-31T23:59:59Z"},
        {"event": "stage_end", "stage": "smoke", "status": "splendid"},
    ],
)
def test_a_hostile_event_is_no_event(folder: RunFolder, event: dict[str, object]) -> None:
    run = _collect(folder, *BEFORE, _start("smoke"), event)
    stage = next(stage for stage in run.stages if stage.name == StageName.SMOKE)
    assert stage.status.value == "crashed"
    assert read(Run, folder.run) == run


def test_no_path_of_the_machine_is_kept(folder: RunFolder) -> None:
    torch = request().model_copy(update={"wheel": "/home/somebody/torch-2.13.0-py3-none-any.whl"})
    run = collect(device().device, with_runs(plan(), torch=torch), folder, now=night(1))
    assert run.torch_request.wheel == "torch-2.13.0-py3-none-any.whl"
    assert "/home/" not in folder.run.read_text(encoding="utf-8")


@pytest.mark.parametrize(("said", "kept"), [("native", "native"), ("fallback", "fallback"), ("warp", None), (7, None)])
def test_how_a_test_s_work_was_done_is_kept_where_it_is_known(
    folder: RunFolder, said: object, kept: str | None
) -> None:
    told = {**_test("smoke/test_a.py::test_1"), "ran": said}
    events = [_start("smoke"), _collected("smoke/test_a.py::test_1", "smoke/test_a.py::test_2")]
    run = _collect(folder, *events, told, _test("smoke/test_a.py::test_2"))
    ways = {item.id: item.ran.value if item.ran else None for item in run.outcomes}
    assert ways == {"smoke/test_a.py::test_1": kept, "smoke/test_a.py::test_2": None}
    assert _outcomes(run)["smoke/test_a.py::test_1"] == "passed"


TRAINED = {"steps_per_second": 12.5, "times_the_cpu": 0.25}
MEASURED = {"results": 9, "device_largest": 37.0, "device_typical": 0.5, "cpu_largest": 2.0, "cpu_typical": None}


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        (MEASURED, True),
        ({"steps_per_second": 12.5}, False),
        ({**MEASURED, "more": 1}, False),
        ({**MEASURED, "results": 0}, False),
        ({**MEASURED, "cpu_largest": -1}, False),
        ({**MEASURED, "cpu_largest": float("inf")}, False),
        ({**MEASURED, "cpu_largest": float("nan")}, False),
        ({**MEASURED, "cpu_largest": "many"}, False),
        ([1, 2], False),
    ],
)
def test_errors_of_results_are_kept_and_other_measurements_cost_no_outcome(
    folder: RunFolder, said: object, is_kept: bool
) -> None:
    told = {**_test("ops/test_a.py::test_1"), "measured": said}
    run = _collect(folder, _start("ops"), _collected("ops/test_a.py::test_1"), told)
    (item,) = run.outcomes
    assert item.outcome.value == "passed"
    assert item.accuracy == (Accuracy(**MEASURED) if is_kept else None)
    assert item.training is None


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({**TRAINED, "peak_bytes": 4096}, Training(12.5, 0.25, 4096)),
        (TRAINED, Training(12.5, 0.25)),
        ({**TRAINED, "peak_bytes": -1}, None),
        ({**TRAINED, "steps_per_second": float("inf")}, None),
        ({**TRAINED, "times_the_cpu": float("nan")}, None),
        ({**TRAINED, "times_the_cpu": "many"}, None),
    ],
)
def test_throughput_and_memory_of_a_training_are_kept(folder: RunFolder, said: object, kept: Training | None) -> None:
    test = "models/test_models.py::test_training[cnn]"
    run = _collect(folder, _start("models"), _collected(test), {**_test(test), "measured": said})
    assert [(item.outcome.value, item.training, item.accuracy) for item in run.outcomes] == [("passed", kept, None)]
    assert read(Run, folder.run) == run


def test_the_id_of_a_test_is_short_however_long_the_run_says_that_it_is(folder: RunFolder) -> None:
    ids = [f"smoke/a.py::{'x' * (1 << 20)}{end}" for end in "ab"]
    run = _collect(folder, *BEFORE, _start("smoke"), _collected(*ids), *map(_test, ids), _end("smoke"), *INTEGRATION)
    found = [item.id for item in run.outcomes if item.suite == "smoke"]
    assert len(set(found)) == 2
    assert max(map(len, found)) <= MAX_ID < MAX_ID_LENGTH
    assert read(Run, folder.run) == run


@pytest.mark.parametrize("name", ["events.jsonl", "env.json"])
@pytest.mark.parametrize(
    "make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to("there")]
)
def test_what_is_no_plain_file_is_not_opened_and_tells_nothing(
    folder: RunFolder, name: str, make: Callable[[Path], None]
) -> None:
    log = "".join(f"{json.dumps(event)}\n" for event in [*BEFORE, *SMOKE, *INTEGRATION])
    (folder.path / "there").write_text(log if name == "events.jsonl" else '{"python": {"version": "9"}}')
    if name != "events.jsonl":
        folder.events.write_text(log, encoding="utf-8")
    make(folder.path / name)
    run = collect(device().device, plan(), folder, now=night(1))
    assert _states(run)["smoke"] == ("not_expected" if name == "events.jsonl" else "complete")
    assert run.environment.python != "9"


def _failing(count: int, said: int) -> list[dict[str, object]]:
    ids = [f"smoke/a.py::test_of_a_usual_length[{number}-float32]" for number in range(count)]
    told = [
        {**_test(name, "failed"), "message": f"AssertionError: {name} " + "m" * 400, "text": "t" * said} for name in ids
    ]
    listed = [_collected(*ids[first : first + 5_000]) for first in range(0, count, 5_000)]
    return [*BEFORE, _start("smoke"), *listed, *told, _end("smoke", "failed", only_tests=True)]


def test_where_too_many_fail_to_keep_all_that_they_say_each_still_fails(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ootci.stages.collect.event_log.MAX_TEXTS", 10_000)
    run = _collect(folder, *_failing(100, 1_000))
    assert (_states(run)["smoke"], run.suites[0].counts.failed) == ("complete", 100)
    kept = [item for item in run.outcomes if item.text]
    assert len(kept) == 6
    assert {len(item.message or "") for item in run.outcomes if not item.text} == {SHORT_MESSAGE}


def test_ids_that_fill_the_memory_are_a_report_that_is_cut(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ootci.stages.collect.event_log.MAX_NAMES", 40)
    assert _states(_collect(folder, *BEFORE, *SMOKE, *INTEGRATION))["smoke"] == "truncated"


@pytest.mark.deep
def test_two_hundred_thousand_failing_tests_are_read_kept_and_judged(folder: RunFolder, tmp_path: Path) -> None:
    run = _collect(folder, *_failing(200_000, 600))
    assert (_states(run)["smoke"], run.suites[0].counts.failed) == ("complete", 200_000)
    assert read(Run, folder.run).counts.failed == 200_000
    history = stored(tmp_path / "data", plan(), run)
    write(judge([device()], history, night(0) + timedelta(hours=2)), tmp_path / "verdicts.json")
    # The gate and the pages read it.
    verdicts = read(Verdicts, tmp_path / "verdicts.json")
    (verdict,) = verdicts.devices
    assert verdict.verdict is VerdictName.SMOKE_BROKEN
    assert verdict.counts.failed == 200_000
    assert len(verdicts.clusters) + verdicts.more_clusters == 200_000
