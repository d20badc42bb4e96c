"""``ootci relay report``: what the relay is told of each device, and that nothing of it makes a device red."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deliveries import HEAD, changed, event_file, pull_request, push
from jsonschema import Draft7Validator
from relay_server import SECRETS, RelayServer, Trouble
from unit.samples import NIGHTLY, night, on_torch, plan, register, run, stored

from ootci.model.device import load_registry
from ootci.model.record import write
from ootci.model.run import Run
from ootci.model.schema import schemas
from ootci.model.torch_build import Channel
from ootci.stages.judge import judge

from commands import Ran, Tool  # isort: skip

NAMES = ("dev", "two")
COMMIT = "c" * 40
Report = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two devices, a nightly on which one of the tests of each failed, and a pull request that changed nothing."""
    for name in NAMES:
        register(tmp_path, name)
    stored(tmp_path / "data", plan(0, NAMES), *(_run(0, name) for name in NAMES))
    write(plan(9, NAMES), tmp_path / ".ootci" / "plan.json")
    for name in NAMES:
        _reported(tmp_path, _run(9, name))
    return tmp_path


def _run(number: int, name: str, **tests: str) -> Run:
    return run(number, name, integration={"good": "passed", "odd": "xfailed", "bad": "failed", **tests})


def _reported(folder: Path, made: Run, attempt: int = 1) -> None:
    write(made, folder / ".ootci" / "runs" / f"run-{made.device}-{attempt}" / "run.json")


@pytest.fixture
def report(ootci: Tool, folder: Path, relay: RelayServer, tmp_path: Path) -> Report:
    """The command in a job of the pull request's workflow."""

    def call(*arguments: str, delivery: dict[str, Any] | None = None, **more: str) -> Ran:
        event = event_file(tmp_path / "event.json", delivery or pull_request("ciflow/crcr/dev"))
        variables = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_WORKFLOW": "pull-request",
            "GITHUB_RUN_ID": "77",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "o/r",
            "NO_PROXY": "127.0.0.1",
            "OOTCI_RELAY_URL": relay.url,
            **relay.token_variables,
            **more,
        }
        ran = ootci("--debug", "relay", "report", *arguments, cwd=folder, env=variables)
        assert not any(secret in ran.out + ran.err for secret in SECRETS)
        assert "Traceback" not in ran.err
        return ran

    return call


def _works(relay: RelayServer) -> list[dict[str, Any]]:
    return [body["workflow"] for body in relay.state.taken]


def test_a_pull_request_is_reported_in_two_steps(report: Report, relay: RelayServer) -> None:
    first, second = report("--status", "in_progress"), report("--status", "completed")
    assert (first.code, second.code) == (0, 0)
    assert first.out.splitlines() == [
        f"{name}: reported in_progress; the relay answered: in_progress" for name in NAMES
    ]
    assert second.out.splitlines()[1] == "two: reported completed, success; the relay answered: completed"
    begun, _, ended, _ = _works(relay)
    assert begun["started_at"] is not None
    assert ended == {
        "schema_version": "1",
        "status": "completed",
        "conclusion": "success",
        "name": "pull-request",
        "url": "https://github.com/o/r/actions/runs/77",
        "job_name": "dev",
        "check_run_id": "77-1",
        "run_id": "77",
        "run_attempt": "1",
        "started_at": "2026-11-10T04:00:00.000Z",
        "completed_at": "2026-11-10T04:05:00.000Z",
        "test_results": {"passed": 3, "failed": 1, "skipped": 0},
        "artifact_url": "https://github.com/o/r/actions/runs/77#artifacts",
    }
    assert (begun["check_run_id"], begun["conclusion"], begun["completed_at"]) == ("77-1", None, None)


def test_a_report_follows_its_schema_and_hands_on_what_the_relay_reads(report: Report, relay: RelayServer) -> None:
    report("--status", "in_progress")
    report("--status", "in_progress", delivery=push())
    schema = Draft7Validator(json.loads(schemas()["relay-report"]))
    for body in relay.state.taken:
        schema.validate(body)
    pulled, _, pushed, _ = relay.state.taken
    assert pulled["payload"]["pull_request"]["number"] == 4711
    assert pulled["payload"]["pull_request"]["head"]["sha"] == HEAD
    assert pulled["payload"]["pull_request"]["labels"] == [{"name": "ciflow/crcr/dev"}]
    assert pulled["payload"]["repository"] == {"full_name": "pytorch/pytorch"}
    assert "script" not in json.dumps(pulled)
    assert (pushed["event_type"], pushed["payload"]["ref"]) == ("push", "refs/heads/main")


@pytest.mark.parametrize(
    ("made", "conclusion"),
    [
        (_run(9, "dev", good="failed"), "failure"),
        (_run(9, "dev", bad="passed"), "success"),
        (run(9, "dev", stages={"check": "failed"}, smoke={}, integration={}), "neutral"),
        (run(9, "dev", stages={"build": "failed"}, smoke={}, integration={}), "failure"),
        (None, "neutral"),
        (b"{", "neutral"),
        (_run(9, "two"), "neutral"),
    ],
)
def test_the_conclusion_is_what_the_gate_says_of_the_device(
    report: Report, relay: RelayServer, folder: Path, made: Run | bytes | None, conclusion: str
) -> None:
    path = folder / ".ootci" / "runs" / "run-dev-1" / "run.json"
    path.unlink()
    if isinstance(made, bytes):
        path.write_bytes(made)
    elif made is not None:
        write(made, path)
    report("dev", "--status", "in_progress")
    assert report("dev", "--status", "completed").code == 0
    work = _works(relay)[-1]
    assert work["conclusion"] == conclusion
    known = isinstance(made, Run) and made.device == "dev"
    assert (work["test_results"] is not None, work["started_at"] is not None) == (known, True)
    assert work["completed_at"] is not None


@pytest.mark.parametrize(("tests", "conclusion"), [({"bad": "passed"}, "success"), ({}, "failure")])
def test_without_a_nightly_the_run_speaks_for_itself(
    report: Report, relay: RelayServer, folder: Path, tests: dict[str, str], conclusion: str
) -> None:
    _reported(folder, _run(9, "dev", **tests))
    report("dev", "--status", "in_progress")
    report("dev", "--status", "completed", "--history", "none")
    assert _works(relay)[-1]["conclusion"] == conclusion


def test_the_last_attempt_counts_and_none_of_the_future(report: Report, relay: RelayServer, folder: Path) -> None:
    _reported(folder, _run(9, "dev", good="failed").model_copy(update={"attempt": 2}), 2)
    _reported(folder, _run(9, "dev").model_copy(update={"attempt": 3}), 3)
    second = {"GITHUB_RUN_ATTEMPT": "2"}
    report("dev", "--status", "in_progress", **second)
    report("dev", "--status", "completed", **second)
    work = _works(relay)[-1]
    assert (work["conclusion"], work["run_attempt"], work["check_run_id"]) == ("failure", "2", "77-2")


@pytest.mark.parametrize("attempt", ["1", "2"])
def test_what_nobody_began_to_report_is_reported_all_the_same(report: Report, relay: RelayServer, attempt: str) -> None:
    """The relay was down then; or failed jobs are run again, to which the job that began does not belong."""
    ran = report("dev", "--status", "completed", GITHUB_RUN_ATTEMPT=attempt)
    assert (ran.code, ran.out) == (0, "dev: reported completed, success; the relay answered: completed\n")
    begun, ended = _works(relay)
    assert (begun["status"], begun["conclusion"], begun["test_results"]) == ("in_progress", None, None)
    assert (ended["status"], ended["run_attempt"]) == ("completed", attempt)


def test_what_was_reported_is_not_reported_again(report: Report, relay: RelayServer) -> None:
    report("dev", "--status", "completed")
    ran = report("dev", "--status", "completed")
    assert (ran.code, ran.out, len(relay.state.taken)) == (0, "", 2)
    assert "warning RELAY-004: dev is not reported: the relay answered 400" in ran.err


def test_who_did_not_report_before_it_was_cancelled_says_so(report: Report, relay: RelayServer, folder: Path) -> None:
    (folder / ".ootci" / "runs" / "run-two-1" / "run.json").unlink()
    assert report("--status", "completed", "--cancelled").code == 0
    assert [work["conclusion"] for work in _works(relay) if work["conclusion"]] == ["success", "cancelled"]


def test_one_that_is_refused_keeps_no_other_out(report: Report, relay: RelayServer) -> None:
    relay.state.troubles.append(Trouble(400))
    ran = report("--status", "in_progress")
    assert (ran.code, [work["job_name"] for work in _works(relay)]) == (0, ["two"])
    assert "warning RELAY-004: dev is not reported: the relay answered 400: just so\n  where: http" in ran.err
    assert "\n  what to do: it takes `in_progress` and, within six hours, `completed`" in ran.err


def test_a_relay_that_is_down_is_a_warning_that_github_shows(report: Report, relay: RelayServer) -> None:
    relay.state.troubles += [Trouble(503)] * 10
    ran = report("dev", "--status", "in_progress", "--patience", "1")
    assert (ran.code, ran.out) == (0, "")
    (line,) = [line for line in ran.err.splitlines() if line.startswith("::")]
    assert line.startswith("::warning title=RELAY-003::dev is not reported: no answer that counts: it answered 503")


def test_an_annotation_stays_one_line_whatever_the_relay_says(
    report: Report, relay: RelayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay.state, "take", lambda _: (400, {"detail": "50% \n::error::gone\r\n"}))
    ran = report("dev", "--status", "in_progress")
    lines = [line for line in ran.err.splitlines() if line.startswith("::")]
    assert len(lines) == 1
    assert "50%25 \\n::error::gone" in lines[0]


@pytest.mark.parametrize(("trouble", "code"), [(Trouble(403), 2), (Trouble(500), 3)])
def test_strictly_a_report_that_is_not_taken_is_an_error(
    report: Report, relay: RelayServer, trouble: Trouble, code: int
) -> None:
    relay.state.troubles += [trouble] * 10
    ran = report("--status", "in_progress", "--patience", "1", "--strict")
    assert (ran.code, "error RELAY-00" in ran.err) == (code, True)


def test_a_dry_run_says_what_would_be_sent_and_asks_nobody(report: Report, relay: RelayServer) -> None:
    ran = report("dev", "--status", "completed", "--dry-run", OOTCI_RELAY_URL="")
    assert (ran.code, json.loads(ran.out)["workflow"]["conclusion"]) == (0, "success")
    assert (relay.state.asked, relay.state.taken) == (0, [])


def test_an_empty_variable_means_no_relay(report: Report, relay: RelayServer) -> None:
    ran = report("dev", "--status", "completed", "--format", "json", OOTCI_RELAY_URL="")
    assert (ran.code, json.loads(ran.out), relay.state.asked) == (0, [], 0)
    assert "::notice title=not reported::no relay is named, by OOTCI_RELAY_URL or --relay\n" in ran.err
    assert report("dev", "--status", "completed", "--strict", OOTCI_RELAY_URL="").code == 2


@pytest.fixture
def judged(folder: Path) -> Path:
    """A nightly of two devices, of which the second never reported."""
    return _judged(folder, on_torch(_run(9, "dev", bad="passed"), NIGHTLY, COMMIT))


def _judged(folder: Path, made: Run) -> Path:
    history = stored(folder / "data", plan(9, NAMES), made)
    write(judge(load_registry(folder / "devices"), history, night(9)), folder / ".ootci" / "verdicts.json")
    return folder


def test_a_nightly_is_reported_once_with_its_verdict_and_the_commit_of_pytorch(
    report: Report, relay: RelayServer, judged: Path
) -> None:
    ran = report("--nightly", "--status", "completed", delivery={"nothing": "delivered"})
    assert ran.code == 0
    first, second = relay.state.taken
    assert (first["event_type"], first["delivery_id"]) == ("nightly", COMMIT)
    assert first["payload"] == {"repository": {"full_name": "pytorch/pytorch"}, "head_sha": COMMIT}
    assert (first["workflow"]["conclusion"], first["workflow"]["test_results"]["passed"]) == ("success", 4)
    assert (second["workflow"]["job_name"], second["workflow"]["conclusion"]) == ("two", "neutral")
    assert second["workflow"]["test_results"] is None
    # Without a time, the relay's dashboard has it begin in 1970 and does not show it.
    assert second["workflow"]["started_at"] == "2026-11-10T04:00:00.000Z"
    schema = Draft7Validator(json.loads(schemas()["relay-report"]))
    schema.validate(first)


@pytest.mark.parametrize(("test", "bad"), [("passed", "success"), ("failed", "failure")])
def test_a_release_that_replaced_a_nightly_is_neither_its_success_nor_its_failure(
    report: Report, relay: RelayServer, folder: Path, test: str, bad: str
) -> None:
    made = _run(9, "dev", good=test, bad="passed")
    for channel, conclusion in ((Channel.RELEASE, "neutral"), (Channel.NIGHTLY, bad)):
        made = on_torch(made, "2.13.0+cpu", COMMIT, channel=channel, fallback_reason="the index has no nightly")
        _judged(folder, made.model_copy(update={"attempt": 1 if channel is Channel.RELEASE else 2}))
        assert report("dev", "--nightly", "--status", "completed").code == 0
        assert relay.state.taken[-1]["workflow"]["conclusion"] == conclusion


@pytest.mark.parametrize("said", [None, "x", COMMIT + "\n", COMMIT.upper()])
def test_a_torch_that_does_not_say_its_commit_cannot_be_reported(
    report: Report, relay: RelayServer, folder: Path, said: str | None
) -> None:
    _judged(folder, on_torch(_run(9, "dev"), "2.14.0", said))
    ran = report("--nightly", "--status", "completed")
    assert (ran.code, relay.state.taken) == (0, [])
    assert "dev: not reported, no run has the commit of PyTorch that was tested" in ran.err


def test_a_nightly_does_not_begin(report: Report, judged: Path) -> None:
    ran = report("--nightly", "--status", "in_progress")
    assert (ran.code, "a nightly is reported when it is over" in ran.err) == (2, True)


def test_another_ci_system_says_what_github_would_have_said(
    ootci: Tool, folder: Path, relay: RelayServer, tmp_path: Path
) -> None:
    (tmp_path / "payload.json").write_text(json.dumps(pull_request()), encoding="utf-8")
    arguments = ["dev", "--status", "in_progress", "--payload", "payload.json", "--relay", relay.url]
    environment = {"NO_PROXY": "127.0.0.1", "OOTCI_RELAY_TOKEN": SECRETS[1]}
    ran = ootci("relay", "report", *arguments, cwd=folder, env=environment)
    assert (ran.code, "CLI-001: it is needed and not there\n  where: --run-id" in ran.err) == (2, True)
    named = ["--workflow", "ci", "--run-id", "5", "--url", "https://ci.example.org/5", "--check-run-id", "c5"]
    ran = ootci("relay", "report", *arguments, *named, cwd=folder, env=environment)
    assert (ran.code, ran.out) == (0, "dev: reported in_progress; the relay answered: in_progress\n")
    assert (_works(relay)[0]["url"], _works(relay)[0]["check_run_id"]) == ("https://ci.example.org/5", "c5")
    named[3] = "5; rm"
    ran = ootci("relay", "report", *arguments, *named, cwd=folder, env=environment)
    assert (ran.code, "the report would not be valid: run_id: String should match pattern" in ran.err) == (2, True)


@pytest.mark.parametrize(
    "delivery",
    [
        {},
        changed("event_type", value="issues"),
        changed("event_type", value="pull_request\n::error::x"),
        changed("delivery_id", value=...),
        changed("delivery_id", value="a\nb"),
        changed("delivery_id", value="x" * 101),
        changed("delivery_id", value=5),
        changed("payload", value=[]),
        changed("payload", "repository", "full_name", value="pytorch/pytorch/../x"),
        changed("payload", "pull_request", "number", value="4711"),
        changed("payload", "pull_request", "number", value=0),
        changed("payload", "pull_request", "number", value=10**30),
        changed("payload", "pull_request", "head", "sha", value="main"),
        changed("payload", "pull_request", "head", "sha", value=HEAD + "\n"),
        changed("payload", "pull_request", "head", "ref", value="--upload-pack=x"),
        changed("payload", "pull_request", "labels", value=[{"name": "x"}] * 101),
        changed("payload", "pull_request", "labels", value=[{"name": "x" * 101}]),
    ],
)
def test_a_delivery_that_is_none_is_refused_in_a_sentence(
    report: Report, relay: RelayServer, delivery: dict[str, Any]
) -> None:
    ran = report("dev", "--status", "in_progress", delivery=delivery or {"event_type": None})
    assert (ran.code, relay.state.asked) == (2, 0)
    assert "error RELAY-001: what the relay delivered is not valid: " in ran.err
    (command,) = [line for line in ran.err.splitlines() if line.startswith("::")]
    assert command.startswith("::error title=RELAY-001::")


@pytest.mark.parametrize("text", [b"", b"\x00\xff", b"[" * 100_000, b'{"client_payload": ' + b" " * (2 << 20), None])
def test_an_event_file_can_be_anything(report: Report, tmp_path: Path, text: bytes | None) -> None:
    if text is not None:
        (tmp_path / "odd.json").write_bytes(text)
    ran = report("dev", "--status", "in_progress", GITHUB_EVENT_PATH=str(tmp_path / "odd.json"))
    assert (ran.code, "error RELAY-001: what the relay delivered is not valid: " in ran.err) == (2, True)


def test_a_device_that_is_not_planned_is_not_reported(report: Report) -> None:
    ran = report("nobody", "--status", "in_progress")
    assert (ran.code, "error DEV-008" in ran.err) == (2, True)


def test_readiness_is_a_table_for_each_device(ootci: Tool, judged: Path) -> None:
    ran = ootci("relay", "readiness", "dev", cwd=judged)
    assert ran.code == 0, ran.err
    first, headings, *rows = ran.out.splitlines()
    assert first == "dev: 2 nightlies, 2026-11-01 to 2026-11-10"
    assert headings.split() == ["criterion", "value", "goal"]
    assert rows[-1].startswith("successful results")
    assert rows[-1].endswith("not enough data")
    (found,) = json.loads(ootci("relay", "readiness", "dev", "--format", "json", cwd=judged).out)
    assert {one["met"] for one in found["criteria"]} == {False, None}
    assert ootci("relay", "readiness", "nobody", cwd=judged).code == 2
