"""``ootci history append``: artifacts of jobs that ran vendor code are taken only as far as the plan expected them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from repositories import bare_repository
from unit.samples import night, plan, register, run, whole_runs

from ootci.adapters.folder_lock import locked
from ootci.history.store import History
from ootci.model.record import read, write
from ootci.model.run import ReportState, Run
from ootci.model.verdict import AS_EXPECTED, Before, VerdictName, Verdicts

from commands import OFFLINE, Tool  # isort: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder with a plan for two devices and a good run of one of them."""
    write(plan(0, ("dev", "two")), tmp_path / ".ootci" / "plan.json")
    write(run(0, "two"), tmp_path / ".ootci" / "runs" / "two" / "run.json")
    return tmp_path


def _stored(folder: Path) -> tuple[Run, ...]:
    history = History(folder)
    return tuple(run for name in history.devices() for run in whole_runs(history, name))


def _edited(**values: object) -> bytes:
    return json.dumps({**json.loads(run(0, "dev").to_json()), **values}).encode()


HOSTILE: dict[str, bytes] = {
    "another-device": _edited(device="two", id="night000-two"),
    "another-run": _edited(id="night000-nobody"),
    "path": _edited(device="../../x", id="night000-../../x"),
    "not-json": b"\x00\x01",
    "empty": b"",
    "deep": b"[" * 100_000,
    "newer": _edited(schema_version=99),
    "unknown-key": _edited(extra=1),
    "infinite": run(0, "dev").to_json().replace('"duration": 0.0', '"duration": Infinity', 1).encode(),
    "far-away": _edited(started_at="0001-01-01T00:00:00+14:00"),
    "attempt-0": _edited(attempt=0),
    "attempt-negative": _edited(attempt=-1),
    "attempt-later": _edited(attempt=2),
    "ends-before-it-begins": _edited(finished_at="2026-11-01T03:59:59Z"),
    "ends-tomorrow": _edited(finished_at=(datetime.now(timezone.utc) + timedelta(hours=2)).isoformat()),
    "before-the-plan": _edited(started_at="2026-11-01T02:59:59Z"),
    "version-is-text": _edited(schema_version="x"),
    "long-id": _edited(outcomes=[{"id": "smoke/" + 4096 * "x", "suite": "smoke", "outcome": "passed"}]),
    "text-with-lines": _edited(**{"a\n::error::b": 1}),
    "surrogate": run(0, "dev").to_json().replace("one", "\\ud800", 1).encode(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_run_is_told_and_the_others_get_in(ootci: Tool, work: Path, name: str) -> None:
    path = work / ".ootci" / "runs" / "dev" / "run.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(HOSTILE[name])
    ran = ootci("history", "append", cwd=work)
    assert ran.code == 0
    assert ran.out == "runs appended: 2; there already: 0\n"
    assert "not taken" in ran.err
    assert "Traceback" not in ran.err
    assert not any(line.lstrip().startswith("::") for line in ran.err.splitlines())
    _is_unreadable(ootci, work)


def _is_unreadable(ootci: Tool, work: Path) -> None:
    """The other device's run got in, and that there was a report that cannot be used."""
    refused, other = _stored(work / "data")
    assert other == run(0, "two")
    assert (refused.id, refused.device, refused.attempt) == ("night000-dev", "dev", 1)
    assert {suite.state for suite in refused.suites} == {ReportState.UNREADABLE}
    assert all((suite.detail or "").startswith("report unreadable: ") for suite in refused.suites)
    assert ootci("history", "append", cwd=work).out == "runs appended: 0; there already: 1\n"
    for name in ("dev", "two"):
        register(work, name)
    assert ootci("judge", cwd=work).code == 0
    found = {
        item.device: item.history[-1].verdict for item in read(Verdicts, work / ".ootci" / "verdicts.json").devices
    }
    assert (found["two"], found["dev"] in AS_EXPECTED) == (VerdictName.OK, False)


def _a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(path.parent):
        one.bind(path.name)


def _a_link(path: Path) -> None:
    (path.parent / "elsewhere").write_text(run(0, "dev").to_json(), encoding="utf-8")
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "make",
    [
        *(os.mkfifo, Path.mkdir, _a_socket, _a_link),
        *(lambda path, to=to: path.symlink_to(to) for to in ("nowhere", "/dev/zero")),
    ],
)
def test_what_is_no_plain_file_is_not_opened_and_is_a_report_that_cannot_be_used(
    ootci: Tool, work: Path, make: Callable[[Path], None]
) -> None:
    path = work / ".ootci" / "runs" / "dev" / "run.json"
    path.parent.mkdir(parents=True)
    make(path)
    ran = ootci("history", "append", cwd=work)
    assert "run.json cannot be read: it is no plain file" in ran.err
    _is_unreadable(ootci, work)


def test_a_million_unknown_keys_are_refused_before_they_are_parsed(ootci: Tool, work: Path) -> None:
    text = run(0, "dev").to_json().rstrip().removesuffix("}")
    path = work / ".ootci" / "runs" / "dev" / "run.json"
    path.parent.mkdir(parents=True)
    path.write_text(text + "".join(f',"k{number}":{{}}' for number in range(1_000_000)) + "}", encoding="utf-8")
    code = (
        "import re, sys; sys.argv = ['ootci', 'history', 'append']\n"
        "from ootci.cli.main import main\n"
        "try: main()\n"
        # Not getrusage: its maximum is that of the process before exec, too, which is this one.
        "finally: print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=work, capture_output=True, text=True, check=False)
    assert "run.json is not valid: an object has more than 1,000 keys" in done.stderr
    assert done.stdout.startswith("runs appended: 2;")
    assert int(done.stdout.split()[-1]) < 300 * 1024
    assert {found.device for found in _stored(work / "data")} == {"dev", "two"}


def test_the_counts_of_a_report_are_counted_again(ootci: Tool, work: Path) -> None:
    honest = run(0, "two", smoke={"one": "failed", "three": "passed"})
    lying = json.loads(honest.to_json())
    lying["suites"][0]["counts"] = {"passed": 500}
    lying["capabilities"] = [{"capability": "rng", "counts": {"passed": 500}}]
    path = work / ".ootci" / "runs" / "two" / "run.json"
    path.write_text(json.dumps(lying), encoding="utf-8")
    assert ootci("history", "append", cwd=work).out == "runs appended: 1; there already: 0\n"
    assert _stored(work / "data") == (honest,)


def _artifact(work: Path, name: str, found: Run) -> None:
    write(found, work / ".ootci" / "runs" / name / "run.json")


def test_an_artifact_is_the_report_of_the_device_and_attempt_in_its_name(ootci: Tool, work: Path) -> None:
    again = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ATTEMPT": "2"}
    shutil.rmtree(work / ".ootci" / "runs")
    _artifact(work, "run-two-1", run(0, "two", attempt=1))
    _artifact(work, "run-two-2", run(0, "two", attempt=1))
    _artifact(work, "run-dev-1", run(0, "two", attempt=2))
    _artifact(work, "run-dev-2", run(0, "dev", attempt=2))
    _artifact(work, "run-dev-3", run(0, "dev", attempt=3))
    ran = ootci("history", "append", cwd=work, env=again)
    assert ran.out == "runs appended: 4; there already: 0\n", ran.err
    stored = {(found.device, found.attempt): found for found in _stored(work / "data")}
    assert stored[("two", 1)] == run(0, "two", attempt=1)
    assert stored[("dev", 2)] == run(0, "dev", attempt=2)
    refused = {key for key, found in stored.items() if found.suites[0].state is ReportState.UNREADABLE}
    assert (refused, set(stored) - refused) == ({("two", 2), ("dev", 1)}, {("two", 1), ("dev", 2)})
    assert "run-two-2/run.json: not taken, it is of attempt 1 and this is attempt 2" in ran.err
    assert "run-dev-3/run.json: not taken, the plan night000 expects no attempt 3 of dev" in ran.err


def test_a_good_report_goes_before_one_of_the_same_attempt_that_cannot_be_used(ootci: Tool, work: Path) -> None:
    _artifact(work, "dev", run(0, "two"))
    _artifact(work, "run-dev-1", run(0, "dev"))
    ran = ootci("history", "append", cwd=work)
    assert "dev/run.json: not taken" in ran.err
    assert _stored(work / "data") == (run(0, "dev"), run(0, "two"))


def test_a_good_report_that_comes_late_counts_and_the_night_tells_what_it_was(ootci: Tool, work: Path) -> None:
    """One device's first report cannot be used, the other's comes when the night has been judged."""
    for name in ("dev", "two"):
        register(work, name)
    for number in (0, 1):
        write(plan(number, ("dev", "two")), work / ".ootci" / "plan.json")
        _artifact(work, "dev", run(number, "dev"))
        _artifact(work, "two", run(number, "two"))
        ootci("history", "append", cwd=work)
    write(plan(2, ("dev", "two")), work / ".ootci" / "plan.json")
    (work / ".ootci" / "runs" / "dev" / "run.json").write_text("{", encoding="utf-8")
    shutil.rmtree(work / ".ootci" / "runs" / "two")

    def nights() -> list[tuple[str, object]]:
        ootci("judge", cwd=work)
        devices = read(Verdicts, work / ".ootci" / "verdicts.json").devices
        return [(item.history[-1].verdict.value, item.history[-1].before) for item in devices]

    assert ootci("history", "append", cwd=work).out == "runs appended: 1; there already: 0\n"
    assert nights() == [("LOST_TESTS", None), ("NO_DATA", None)]
    _artifact(work, "dev", run(2, "dev"))
    _artifact(work, "two", run(2, "two"))
    assert ootci("history", "append", cwd=work).out == "runs appended: 2; there already: 0\n"
    [(verdict, before), (other, silent)] = nights()
    assert (verdict, other) == ("OK", "OK")
    assert isinstance(before, Before)
    assert before.verdict is VerdictName.LOST_TESTS
    assert "report unreadable" in before.reason
    assert isinstance(silent, Before)
    assert (silent.verdict, silent.reason) == (VerdictName.NO_DATA, "no report received")
    files = sorted(path.name for path in (work / "data" / "2026-11" / "night002").iterdir())
    assert files == ["dev.1.json", "dev.1.late.json", "plan.json", "two.1.late.json"]
    assert ootci("history", "append", cwd=work).out == "runs appended: 0; there already: 2\n"
    assert ootci("history", "verify", cwd=work).code == 0
    # A good report is never replaced.
    _artifact(work, "dev", run(2, "dev", smoke={"one": "failed"}))
    assert "dev/run.json: not taken, HIST-001: " in ootci("history", "append", cwd=work).err
    assert ootci("render", cwd=work).code == 0
    pages = [(work / "site" / path).read_text() for path in ("n/night002/index.html", "d/dev/index.html")]
    assert all("when its report arrived late (smoke: report unreadable" in page for page in pages)


def test_a_report_of_another_plan_in_this_attempt_s_artifact_is_refused(ootci: Tool, work: Path) -> None:
    _artifact(work, "run-dev-1", run(7, "dev"))
    assert "not taken, it is a report of 'dev', run 'night007-dev'" in ootci("history", "append", cwd=work).err
    assert {suite.state for suite in _stored(work / "data")[0].suites} == {ReportState.UNREADABLE}


def test_an_attempt_that_cannot_have_been_made_yet_is_not_taken(ootci: Tool, work: Path) -> None:
    """It would win over every later attempt of the same night."""
    late = run(0, "two").model_copy(update={"attempt": 99})
    write(late, work / ".ootci" / "runs" / "two" / "run.json")
    ran = ootci("history", "append", cwd=work)
    assert ran.out == "runs appended: 1; there already: 0\n"
    assert "it is of attempt 99 and this is attempt 1" in ran.err
    assert [found.attempt for found in _stored(work / "data")] == [1]


def test_a_plan_of_the_future_is_refused_and_one_that_got_in_is_withdrawn(ootci: Tool, work: Path) -> None:
    late = datetime.now(timezone.utc) + timedelta(days=400)
    future = plan(0, ("two",)).model_copy(update={"id": "future", "created_at": late})
    write(future, work / ".ootci" / "plan.json")
    ran = ootci("history", "append", cwd=work)
    assert (ran.code, "error HIST-007" in ran.err, "set the clock of the machine" in ran.err) == (2, True, True)
    assert not list((work / "data").iterdir())
    # A machine whose clock is wrong both plans and appends.
    History(work / "data").append_plan(future)
    write(plan(0, ("dev", "two")), work / ".ootci" / "plan.json")
    ran = ootci("history", "append", cwd=work)
    assert (ran.code, "error HIST-007" in ran.err) == (2, True)
    assert "`ootci history withdraw future --reason ...`" in ran.err
    assert ootci("history", "withdraw", "future", "--reason", "A wrong clock.", cwd=work).code == 0
    assert ootci("history", "append", cwd=work).out == "runs appended: 1; there already: 0\n"
    assert [found.id for found in History(work / "data").plans()] == ["night000"]


def test_a_clock_that_was_set_back_stops_the_plan_and_names_both_dates(
    ootci: Tool, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ootci("history", "append", cwd=work)
    register(work)
    before = (work / ".ootci" / "plan.json").read_bytes()
    monkeypatch.setattr("ootci.flows.planning.clock", lambda: night(0) - timedelta(days=730))
    ran = ootci("plan", cwd=work, env=OFFLINE)
    assert (ran.code, "error HIST-007" in ran.err) == (2, True)
    assert "the plan is of 2024-11-01T04:00:00.000Z, before the newest nightly night000 of 2026-11-01T" in ran.err
    assert "set this machine's clock" in ran.err
    assert "Traceback" not in ran.err
    assert (work / ".ootci" / "plan.json").read_bytes() == before


def test_nobody_plans_while_a_run_goes_on_in_the_work_folder(ootci: Tool, work: Path) -> None:
    register(work)
    before = (work / ".ootci" / "plan.json").read_bytes()
    for shared in (True, False):
        with locked(work / ".ootci", shared=shared):
            ran = ootci("plan", cwd=work, env=OFFLINE)
        assert (ran.code, "error HOST-003" in ran.err) == (3, True)
        assert (work / ".ootci" / "plan.json").read_bytes() == before
    assert ootci("plan", cwd=work, env=OFFLINE).code == 0


def test_a_folder_without_a_run_or_of_another_plan_is_passed_over(ootci: Tool, work: Path) -> None:
    write(run(7, "dev"), work / ".ootci" / "runs" / "dev" / "run.json")
    (work / ".ootci" / "runs" / "third").mkdir()
    assert ootci("history", "append", cwd=work).out == "runs appended: 1; there already: 0\n"


def test_fetch_append_publish_and_fetch_again(
    ootci: Tool, work: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    remote = bare_repository(tmp_path_factory.mktemp("remote"))
    call: Callable[..., str] = lambda *arguments: ootci("history", *arguments, "--remote", str(remote), cwd=work).out  # noqa: E731
    assert call("fetch") == "the branch data does not exist yet; starting empty\n"
    ootci("history", "append", cwd=work)
    assert call("publish") == "pushed to the branch data\n"
    assert call("publish") == "nothing to push\n"
    assert call("fetch", "--history", "elsewhere") == "fetched the branch data\n"
    assert _stored(work / "elsewhere") == (run(0, "two"),)


def test_a_relative_remote_is_a_path_from_where_the_command_is_called(ootci: Tool, work: Path) -> None:
    bare_repository(work / "remote")
    ootci("history", "append", cwd=work)
    for remote in ("remote", "./remote"):
        assert ootci("history", "publish", "--remote", remote, cwd=work).code == 0
    fetched = ootci("history", "fetch", "--remote", "remote", "--history", "elsewhere", cwd=work)
    assert (fetched.code, fetched.out) == (0, "fetched the branch data\n")
    assert _stored(work / "elsewhere") == (run(0, "two"),)
    lost = ootci("history", "publish", "--remote", "nowhere", cwd=work)
    assert (lost.code, "error HIST-003" in lost.err, f"branch data of {work / 'nowhere'}" in lost.err) == (
        3,
        True,
        True,
    )
