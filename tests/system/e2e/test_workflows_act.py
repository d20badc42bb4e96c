"""The workflow files, run as they are by act: which jobs run, what is published, and what the gate says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from drawn import deep
from e2e.act_nightly import ActNightly
from e2e.act_runner import DOCS, ActRun, Repository, UnmappedAction, run_workflow
from e2e.packages import NIGHTLY, RELEASE, serve_torch
from fake_actions import FakeActions
from fake_github import TOKEN
from misbehaving import COMMIT, write_device
from relay_server import SECRETS, relay_server

from ootci.flows.receive import DEADLINE
from ootci.history.store import History

pytestmark = [pytest.mark.act, pytest.mark.long]


@pytest.fixture(scope="module")
def index(
    packages: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory, hub: FakeActions
) -> Iterator[Mapping[str, str]]:
    """Environment variables with which pip and the tool find every package, and GitHub, without a network."""
    with serve_torch(tmp_path_factory.mktemp("index")) as torch:
        yield {**packages, **torch, **hub.environment}


def _repository(folder: Path, devices: Mapping[str, str]) -> Repository:
    repository = Repository.copy(folder)
    repository.replace_command("docs", DOCS)
    registry = repository.without_devices()
    for name, behaviour in devices.items():
        write_device(registry, name, behaviour, extra="compat: {compile: true}\n")
    repository.with_small_suites()
    repository.commit()
    return repository


def _verdicts(run: ActRun) -> dict[str, str]:
    text = (run.store / "artifacts" / "verdicts-1" / "verdicts.json").read_text(encoding="utf-8")
    return {item["device"]: item["verdict"] for item in json.loads(text)["devices"]}


@dataclass(frozen=True)
class Scheduled:
    """A nightly by schedule: a device passes, one fails, and the runner of one is offline until the deadline.

    Attributes:
        planned: its own run.
        tested: the run of each device that has a runner.
        published: the run that published them.
        told: what the relay was told.

    """

    nightly: ActNightly
    planned: ActRun
    tested: Mapping[str, ActRun]
    published: ActRun
    told: list[dict[str, Any]]

    @property
    def pages(self) -> Path:
        return self.published.store / "pages"


@pytest.fixture(scope="module")
def scheduled(index: Mapping[str, str], hub: FakeActions, tmp_path_factory: pytest.TempPathFactory) -> Scheduled:
    folder = tmp_path_factory.mktemp("scheduled")
    repository = _repository(folder, {"good": "passes", "bad": "fails", "silent": "passes"})
    with relay_server() as relay:
        nightly = ActNightly(repository, folder, hub, {**index, **relay.token_variables})
        planned = nightly.plan(1, "schedule", age=DEADLINE)
        tested = {device: nightly.test(device) for device in ("good", "bad")}
        published = nightly.publish("first", variables={"OOTCI_RELAY_URL": relay.url})
        assert not any(secret in str(published.events) for secret in SECRETS)
        return Scheduled(nightly, planned, tested, published, list(relay.state.taken))


def test_the_nightly_starts_a_run_for_each_device(scheduled: Scheduled) -> None:
    jobs = ("plan", "dispatch", "predict", "docs")
    assert (scheduled.planned.exit_code, scheduled.planned.jobs) == (0, dict.fromkeys(jobs, "success"))
    for device in ("good", "bad", "silent"):
        started = scheduled.nightly.hub.started(device)
        assert started.inputs["plan-run"] == "1"
        assert json.loads(started.inputs["job"])["device"] == device
        assert started.title == f"{started.inputs['nightly']} {device}"


def test_a_device_is_tested_in_a_run_of_its_own_on_the_nightly_torch(scheduled: Scheduled) -> None:
    for name, run in scheduled.tested.items():
        assert (run.exit_code, run.jobs) == (0, dict.fromkeys(("plan", f"device/{name}"), "success")), run.digest
        report = json.loads((run.store / "artifacts" / f"run-{name}-1" / "run.json").read_text(encoding="utf-8"))
        assert report["torch_request"]["version"] == report["torch"]["version"] == NIGHTLY
        assert report["torch_request"]["fallback_reason"] is None
        assert str(report["url"]).endswith(f"/actions/runs/{scheduled.nightly.hub.started(name).number}")


def test_the_source_of_a_paused_device_is_compiled_in_a_run_of_its_own_and_nothing_is_tested(
    scheduled: Scheduled,
) -> None:
    # Else it runs as it was started; the small torch cannot be read, so that there is no prediction to upload.
    started = scheduled.nightly.hub.started("good")
    inputs = {**started.inputs, "job": json.dumps({"device": "good", "compile": True})}
    ran = scheduled.nightly.run(
        "compile", workflow="device-run.yml", event="workflow_dispatch", inputs=inputs, run_id=950
    )
    assert (ran.exit_code, ran.jobs) == (0, dict.fromkeys(("plan", "compile"), "success")), ran.digest


def test_a_run_is_uploaded_with_what_it_was_made_from(scheduled: Scheduled) -> None:
    folder = scheduled.tested["bad"].store / "artifacts" / "run-bad-1"
    kept = {path.name for path in folder.iterdir()}
    assert kept == {"run.json", "build.json", "env.json", "events.jsonl", "junit", "report.xml", "logs"}


def test_publishing_fails_at_the_gate_and_nowhere_else(scheduled: Scheduled) -> None:
    run = scheduled.published
    jobs = dict.fromkeys(("publish", "pages", "alert", "relay"), "success")
    assert run.jobs == {**jobs, "gate": "failure"}, run.digest
    assert run.exit_code != 0
    failed = {(job, step) for job in run.jobs for step, result in run.steps(job).items() if result != "success"}
    assert failed == {("gate", "May one merge?")}


def test_every_device_is_judged_and_the_run_that_nobody_took_is_cancelled(scheduled: Scheduled) -> None:
    assert _verdicts(scheduled.published) == {"good": "OK", "bad": "FAILING", "silent": "INFRA"}
    assert scheduled.nightly.hub.started("silent").conclusion == "cancelled"


def test_every_device_is_on_the_page(scheduled: Scheduled) -> None:
    page = (scheduled.pages / "index.html").read_text(encoding="utf-8")
    assert '<link rel="canonical" href="https://example.github.io/repository/' in page
    rows = {row[1]: row[0] for row in re.finditer(r'<li class="row" id="(\w+)".*?</li>', page, re.S)}
    assert rows.keys() == {"good", "bad", "silent"}
    for name, verdict in _verdicts(scheduled.published).items():
        shown = f">{verdict.replace('_', ' ')}<"
        assert shown in rows[name]
        assert shown in (scheduled.pages / "d" / name / "index.html").read_text(encoding="utf-8")
    assert "runner offline since" in rows["silent"]


def test_the_documentation_of_the_nightly_is_beside_the_page(scheduled: Scheduled) -> None:
    assert (scheduled.pages / "docs" / "index.html").is_file()
    assert 'href="docs/index.html"' in (scheduled.pages / "index.html").read_text(encoding="utf-8")


def test_what_was_reported_is_pushed_to_the_data_branch(scheduled: Scheduled, tmp_path: Path) -> None:
    history = History(scheduled.nightly.repository.check_out("data", tmp_path / "data"))
    assert set(history.devices()) == {"good", "bad", "silent"}
    assert [plan.trigger.event for plan in history.plans()] == ["schedule"]


def test_an_issue_is_opened_for_the_device_that_is_broken(scheduled: Scheduled) -> None:
    issues = list(scheduled.nightly.hub.issues.values())
    assert [issue["labels"] for issue in issues] == [[{"name": "ootci-alert"}, {"name": "device-broken"}]]
    body = str(issues[0]["body"])
    assert "FAILING" in body
    assert "](https://example.invalid/d/bad/)" in body


def test_the_relay_is_told_of_every_device(scheduled: Scheduled) -> None:
    told = {body["workflow"]["job_name"]: body["workflow"]["conclusion"] for body in scheduled.told}
    assert told == {"good": "success", "bad": "failure", "silent": "neutral"}
    assert {(body["event_type"], body["delivery_id"], body["payload"]["head_sha"]) for body in scheduled.told} == {
        ("nightly", COMMIT, COMMIT)
    }


def test_nothing_is_published_while_nothing_new_is_received(scheduled: Scheduled) -> None:
    run = scheduled.nightly.publish("again", "schedule", {"schedule": "25,55 * * * *"})
    assert (run.exit_code, run.jobs) == (0, {"publish": "success"}), run.digest
    assert not run.store.joinpath("artifacts").exists()


def test_schedule_starts_nothing_while_there_is_no_newer_nightly(
    scheduled: Scheduled, index: Mapping[str, str], tmp_path: Path
) -> None:
    kept = scheduled.planned.store.parent / "kept"
    run = run_workflow(
        scheduled.nightly.repository,
        tmp_path / "run",
        workflow="nightly.yml",
        event="schedule",
        run_id=2,
        environment={**index, "STUB_CACHE": str(kept)},
        token=TOKEN,
    )
    assert (run.exit_code, run.jobs) == (0, {"plan": "success"}), run.digest
    assert not (run.store / "artifacts").exists()
    assert {path.name for path in kept.iterdir()} == {"ootci-plan-nightly-1-1"}


@pytest.mark.deep
def test_dispatch_runs_the_device_asked_for_on_the_torch_asked_for(scheduled: Scheduled, tmp_path: Path) -> None:
    """The device that failed by schedule has been mended, another is paused, and somebody runs the first."""
    nightly = replace(scheduled.nightly, repository=scheduled.nightly.repository.duplicate(tmp_path), folder=tmp_path)
    repository, hub = nightly.repository, nightly.hub
    _edit(repository, "bad", "FAKE_BEHAVIOUR: fails", "FAKE_BEHAVIOUR: passes")
    _edit(repository, "silent", "limits:", "paused:\n  reason: Its machine is being moved.\nlimits:")
    repository.commit()
    planned = nightly.plan(2, "workflow_dispatch", inputs={"torch": "2.13.0", "device": "bad"})
    assert (planned.exit_code, len(planned.jobs)) == (0, 4), planned.digest
    tested = nightly.test("bad", attempt=2)
    report = json.loads((tested.store / "artifacts" / "run-bad-2" / "run.json").read_text(encoding="utf-8"))
    assert (report["attempt"], report["torch"]["version"]) == (2, RELEASE)
    # Who runs a nightly by hand may test anything: it is no nightly for PyTorch's relay.
    run = nightly.publish("by-hand", variables={"OOTCI_RELAY_URL": "http://127.0.0.1:9/"})
    names = ("publish", "pages", "alert", "gate")
    assert (run.exit_code, run.jobs) == (0, dict.fromkeys(names, "success")), run.digest
    assert _verdicts(run) == {"good": "OK", "bad": "OK", "silent": "PAUSED"}
    history = History(repository.check_out("data", tmp_path / "data"))
    assert [plan.trigger.event for plan in history.plans()] == ["schedule", "workflow_dispatch"]
    bodies = {
        str(issue["body"]).partition('"key":"')[2].partition('"')[0]: issue["body"] for issue in hub.issues.values()
    }
    assert bodies.keys() == {"device-broken/bad"}
    assert "Good nights in a row: 1 of 3." in str(bodies["device-broken/bad"])


def _edit(repository: Repository, device: str, old: str, new: str) -> None:
    file = repository.checkout / "devices" / f"{device}.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_plan_that_cannot_be_made_is_red_and_starts_nothing(scheduled: Scheduled, tmp_path: Path) -> None:
    nightly = replace(scheduled.nightly, folder=tmp_path)
    before = len(nightly.hub.runs)
    run = nightly.plan(3, "workflow_dispatch", inputs={"device": "nobody"})
    assert run.exit_code != 0
    assert run.jobs == {"plan": "failure"}, run.digest
    assert len(nightly.hub.runs) == before + 1


@pytest.mark.parametrize(
    ("event", "exit_code", "result"),
    [("push", 0, "success"), deep("push", 1, "failure"), deep("pull_request", 0, "success")],
)
def test_checks_run_the_repositorys_own_command(event: str, exit_code: int, result: str, tmp_path: Path) -> None:
    repository = Repository.copy(tmp_path)
    called = tmp_path / "called"
    called.mkdir()
    repository.replace_command(
        "run", f'echo "$OOTCI_TORCH_WHEELS" > {called}/"$1"\nmkdir -p .ootci/ccache\nexit {exit_code}'
    )
    repository.replace_command("torch", "mkdir -p .ootci/torch-wheels")
    repository.commit()
    run = run_workflow(repository, tmp_path / "run", workflow="ci.yml", event=event)
    assert set(run.jobs.values()) == {result}, run.digest
    assert {path.name: path.read_text(encoding="utf-8").strip() for path in called.iterdir()} == {
        "fast": "",
        "openreg": ".ootci/torch-wheels",
        "workflows": "",
        "browser": "",
    }
    kept = tmp_path / "run" / "kept"
    saved = {path.name.rpartition("-")[0] for path in kept.iterdir()} if kept.exists() else set()
    assert saved == ({"tests-torch", "tests-ccache"} if (event, exit_code) == ("push", 0) else set())


@pytest.mark.parametrize(("exit_code", "result"), [deep(0, "success"), (1, "failure")])
def test_deep_tests_that_fail_on_main_open_an_issue(
    index: Mapping[str, str], hub: FakeActions, exit_code: int, result: str, tmp_path: Path
) -> None:
    repository = Repository.copy(tmp_path)
    repository.replace_command("run", f'test "$1" = deep && test -n "$OOTCI_TORCH_WHEELS" && exit {exit_code}')
    repository.commit()
    run = run_workflow(
        repository, tmp_path / "run", workflow="deep.yml", event="schedule", environment=index, token=TOKEN
    )
    assert run.jobs == {"test": result, "alert": "success"}, run.digest
    opened = [issue for issue in hub.issues.values() if issue["title"] == "The deep tests fail"]
    assert len(opened) == exit_code


def test_an_action_without_a_stand_in_is_an_error(tmp_path: Path) -> None:
    repository = Repository.copy(tmp_path)
    workflow = repository.checkout / ".github" / "workflows" / "ci.yml"
    text = workflow.read_text(encoding="utf-8")
    workflow.write_text(text.replace("uses: actions/setup-python@", "uses: actions/setup-snake@"), encoding="utf-8")
    repository.commit()
    with pytest.raises(UnmappedAction, match="setup-snake"):
        run_workflow(repository, tmp_path / "run", workflow="ci.yml", event="push")
