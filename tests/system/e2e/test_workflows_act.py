"""The workflow files, run as they are by act: which jobs run, what is published, and what the gate says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from drawn import deep
from e2e.act_runner import DOCS, ActRun, Repository, UnmappedAction, run_workflow
from e2e.packages import NIGHTLY, RELEASE, serve_torch
from fake_github import TOKEN, FakeGithub
from misbehaving import write_device

from ootci.history.store import History

pytestmark = [pytest.mark.act, pytest.mark.long]

NO_SUCH_RUNNER = "runner:\n  labels: [no-such-machine]\n"
"""act passes over a job that no runner takes, as a machine that is switched off would."""


@pytest.fixture(scope="module")
def index(
    packages: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory, hub: FakeGithub
) -> Iterator[Mapping[str, str]]:
    """Environment variables with which pip and the tool find every package, and GitHub, without a network."""
    with serve_torch(tmp_path_factory.mktemp("index")) as torch:
        yield {**packages, **torch, **hub.environment}


def _repository(
    folder: Path, devices: Mapping[str, str], silent: frozenset[str] = frozenset(), docs: str = DOCS
) -> Repository:
    repository = Repository.copy(folder)
    repository.replace_command("docs", docs)
    registry = repository.without_devices()
    for name, behaviour in devices.items():
        write_device(registry, name, behaviour, extra=NO_SUCH_RUNNER if name in silent else "")
    repository.with_small_suites()
    repository.commit()
    return repository


def _verdicts(run: ActRun, attempt: int = 1) -> dict[str, str]:
    text = (run.store / "artifacts" / f"verdicts-{attempt}" / "verdicts.json").read_text(encoding="utf-8")
    return {item["device"]: item["verdict"] for item in json.loads(text)["devices"]}


@pytest.fixture(scope="module")
def scheduled(index: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Repository, ActRun]:
    """A nightly by schedule: a device passes, one fails, one cannot be built and one never reports."""
    folder = tmp_path_factory.mktemp("scheduled")
    devices = {"good": "passes", "bad": "fails", "broken": "build-fails", "silent": "passes"}
    repository = _repository(folder, devices, silent=frozenset({"silent"}))
    run = run_workflow(
        repository, folder / "run", workflow="nightly.yml", event="schedule", environment=index, token=TOKEN
    )
    return repository, run


def test_schedule_runs_every_job_but_that_of_the_device_without_a_runner(scheduled: tuple[Repository, ActRun]) -> None:
    _, run = scheduled
    assert run.jobs == {
        "plan": "success",
        "predict": "success",
        "docs": "success",
        "device/good": "success",
        "device/bad": "success",
        "device/broken": "success",
        "publish": "success",
        "pages": "success",
        "alert": "success",
        "gate": "failure",
    }, run.digest


def test_schedule_fails_at_the_gate_and_nowhere_else(scheduled: tuple[Repository, ActRun]) -> None:
    _, run = scheduled
    assert run.exit_code != 0
    failed = {(job, step) for job in run.jobs for step, result in run.steps(job).items() if result != "success"}
    assert failed == {("gate", "May one merge?")}


def test_schedule_judges_every_device(scheduled: tuple[Repository, ActRun]) -> None:
    _, run = scheduled
    assert _verdicts(run) == {"good": "OK", "bad": "FAILING", "broken": "BUILD_BROKEN", "silent": "NEVER_RAN"}


def test_schedule_puts_every_device_on_the_page(scheduled: tuple[Repository, ActRun]) -> None:
    _, run = scheduled
    page = (run.store / "pages" / "index.html").read_text(encoding="utf-8")
    assert '<link rel="canonical" href="https://example.github.io/repository/' in page
    rows = {row[1]: row[0] for row in re.finditer(r'<li class="row" id="(\w+)".*?</li>', page, re.S)}
    assert rows.keys() == {"good", "bad", "broken", "silent"}
    for name, verdict in _verdicts(run).items():
        shown = f">{verdict.replace('_', ' ')}<"
        assert shown in rows[name]
        assert shown in (run.store / "pages" / "d" / name / "index.html").read_text(encoding="utf-8")


def test_schedule_puts_the_documentation_beside_the_page(scheduled: tuple[Repository, ActRun]) -> None:
    _, run = scheduled
    pages = run.store / "pages"
    assert (pages / "docs" / "index.html").is_file()
    assert 'href="docs/index.html"' in (pages / "index.html").read_text(encoding="utf-8")


def test_schedule_pushes_what_was_reported_to_the_data_branch(
    scheduled: tuple[Repository, ActRun], tmp_path: Path
) -> None:
    repository, _ = scheduled
    history = History(repository.check_out("data", tmp_path / "data"))
    assert set(history.devices()) == {"good", "bad", "broken"}
    assert [plan.trigger.event for plan in history.plans()] == ["schedule"]


def test_schedule_opens_an_issue_for_each_device_that_is_broken(
    scheduled: tuple[Repository, ActRun], hub: FakeGithub
) -> None:
    assert [issue["labels"] for issue in hub.issues.values()] == [
        [{"name": "ootci-alert"}, {"name": "device-broken"}]
    ] * len(hub.issues)
    opened = {str(issue["title"]): str(issue["body"]) for issue in hub.issues.values()}
    assert len(opened) == 2
    for name, verdict in (("bad", "FAILING"), ("broken", "BUILD BROKEN")):
        assert any(verdict in body and f"](https://example.invalid/d/{name}/)" in body for body in opened.values())
    _, run = scheduled
    assert TOKEN not in json.dumps(run.events)


def test_schedule_tests_the_nightly_torch(scheduled: tuple[Repository, ActRun]) -> None:
    _, run = scheduled
    for name in ("good", "bad"):
        folder = run.store / "artifacts" / f"run-{name}-1"
        report = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        assert report["torch_request"]["version"] == report["torch"]["version"] == NIGHTLY
        assert report["torch_request"]["fallback_reason"] is None


def test_a_run_is_uploaded_with_what_it_was_made_from(scheduled: tuple[Repository, ActRun]) -> None:
    _, run = scheduled
    folder = run.store / "artifacts" / "run-bad-1"
    kept = {path.name for path in folder.iterdir()}
    assert kept == {"run.json", "build.json", "env.json", "events.jsonl", "junit", "report.xml", "logs"}


def test_schedule_starts_nothing_while_there_is_no_newer_nightly(
    scheduled: tuple[Repository, ActRun], index: Mapping[str, str], tmp_path: Path
) -> None:
    repository, before = scheduled
    kept = before.store.parent / "kept"
    run = run_workflow(
        repository,
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


def test_dispatch_runs_the_device_asked_for_on_the_torch_asked_for(
    scheduled: tuple[Repository, ActRun], index: Mapping[str, str], hub: FakeGithub, tmp_path: Path
) -> None:
    """The device that failed by schedule has been mended, the others are paused, and somebody runs the first."""
    repository = scheduled[0].duplicate(tmp_path)
    _edit(repository, "bad", "FAKE_BEHAVIOUR: fails", "FAKE_BEHAVIOUR: passes")
    for name in ("silent", "broken"):
        _edit(repository, name, "limits:", "paused:\n  reason: Its machine is being moved.\nlimits:")
    repository.commit()
    run = run_workflow(
        repository,
        tmp_path / "run",
        workflow="nightly.yml",
        event="workflow_dispatch",
        inputs={"torch": "2.13.0", "device": "bad"},
        run_id=2,
        attempt=2,
        environment=index,
        token=TOKEN,
        # Who runs a nightly by hand may test anything: it is no nightly for PyTorch's relay.
        variables={"OOTCI_RELAY_URL": "http://127.0.0.1:9/"},
    )
    names = ("plan", "predict", "docs", "device/bad", "publish", "pages", "alert", "gate")
    assert (run.exit_code, run.jobs) == (0, dict.fromkeys(names, "success")), run.digest
    assert _verdicts(run, attempt=2) == {"good": "OK", "bad": "OK", "broken": "PAUSED", "silent": "PAUSED"}
    report = json.loads((run.store / "artifacts" / "run-bad-2" / "run.json").read_text(encoding="utf-8"))
    assert (report["attempt"], report["torch"]["version"]) == (2, RELEASE)
    assert str(report["url"]).endswith("/actions/runs/2")
    history = History(repository.check_out("data", tmp_path / "data"))
    assert [plan.trigger.event for plan in history.plans()] == ["schedule", "workflow_dispatch"]
    bodies = {
        str(issue["body"]).partition('"key":"')[2].partition('"')[0]: issue["body"] for issue in hub.issues.values()
    }
    assert bodies.keys() == {"device-broken/bad", "device-broken/broken"}
    assert "Good nights in a row: 1 of 3." in str(bodies["device-broken/bad"])
    assert "BUILD BROKEN" in str(bodies["device-broken/broken"])


def _edit(repository: Repository, device: str, old: str, new: str) -> None:
    file = repository.checkout / "devices" / f"{device}.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_plan_that_cannot_be_made_is_red_and_publishes_nothing(index: Mapping[str, str], tmp_path: Path) -> None:
    repository = _repository(tmp_path, {"good": "passes"}, docs="exit 1")
    run = run_workflow(
        repository,
        tmp_path / "run",
        workflow="nightly.yml",
        event="workflow_dispatch",
        inputs={"device": "nobody"},
        environment=index,
    )
    assert run.exit_code != 0
    assert run.jobs == {"plan": "failure", "gate": "failure"}, run.digest
    assert repository.files_on("data") == frozenset()


@pytest.mark.parametrize("event", ["push", "pull_request"])
@pytest.mark.parametrize(("exit_code", "result"), [(0, "success"), (1, "failure")])
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
    index: Mapping[str, str], hub: FakeGithub, exit_code: int, result: str, tmp_path: Path
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
