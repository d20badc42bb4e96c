"""Pull requests and pushes of PyTorch, run by act: who is tested, what the relay is told, and that no page changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from commands import Tool
from deliveries import HEAD, PUSHED, pull_request, push
from e2e.act_runner import ActRun, Repository, run_workflow
from e2e.packages import NIGHTLY, serve_torch
from misbehaving import write_device
from pytorch_ci import PyTorchCi, pytorch_ci
from pytorch_sources import pytorch_sources
from relay_server import SECRETS, RelayServer
from repositories import pull_requests

pytestmark = [pytest.mark.act, pytest.mark.long]

WISHES = {"good": "true", "worse": "true", "silent": "false"}
NO_SUCH_RUNNER = "runner:\n  labels: [no-such-machine]\n"
WHEEL = f"cpu/torch/torch-{quote(NIGHTLY)}-py3-none-any.whl"


@pytest.fixture(scope="module")
def ci() -> Iterator[PyTorchCi]:
    """PyTorch's own CI, which built nothing of what is delivered."""
    with pytorch_ci() as found:
        for commit in (HEAD, PUSHED):
            found.run(commit)
        yield found


@pytest.fixture(scope="module")
def index(
    packages: Mapping[str, str], ci: PyTorchCi, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, str]]:
    """Environment variables with which pip and the tool find every package, and GitHub, without a network."""
    with serve_torch(tmp_path_factory.mktemp("index")) as torch:
        yield {**packages, **torch, **ci.environment}


def _run(repository: Repository, folder: Path, index: Mapping[str, str], relay: RelayServer, **options: Any) -> ActRun:
    options.setdefault("variables", {"OOTCI_RELAY_URL": relay.url})
    environment = {**index, **relay.token_variables, **options.pop("environment", {})}
    run = run_workflow(repository, folder, environment=environment, **options)
    assert not any(secret in str(run.events) for secret in SECRETS)
    return run


def _reports(run: ActRun) -> list[dict[str, Any]]:
    """What the devices that took part reported."""
    files = [run.store / "artifacts" / f"run-{name}-1" / "run.json" for name in ("good", "worse")]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def _deliver(
    repository: Repository,
    folder: Path,
    index: Mapping[str, str],
    relay: RelayServer,
    delivery: dict[str, Any],
    **options: Any,
) -> ActRun:
    payload = {"action": delivery["event_type"], "client_payload": delivery}
    event = {"workflow": "pull-request.yml", "event": "repository_dispatch", "payload": payload, "run_id": 2}
    return _run(repository, folder, index, relay, **event, **options)


@pytest.fixture(scope="module")
def repository(index: Mapping[str, str], ootci: Tool, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with the history of a nightly on which every device passed."""
    folder = tmp_path_factory.mktemp("nightly")
    made = Repository.copy(folder)
    registry = made.without_devices()
    for name, wish in WISHES.items():
        extra = f"pull_requests: {wish}\n" + (NO_SUCH_RUNNER if name == "silent" else "")
        write_device(registry, name, "passes", extra=extra)
    made.with_small_suites()
    made.commit()
    places = (f"--work={folder / 'work'}", f"--history={folder / 'data'}")
    ran = ootci("nightly", *places, f"--site={folder / 'site'}", "--suites=tests/device", cwd=made.checkout, env=index)
    assert ran.code == 0, ran.err
    ran = ootci("history", "publish", *places, f"--remote={made.remote}", cwd=made.checkout)
    assert ran.code == 0, ran.err
    return made


def test_a_delivered_pull_request_is_tested_by_who_wants_it_and_reported(
    repository: Repository, index: Mapping[str, str], relay: RelayServer, tmp_path: Path
) -> None:
    before = repository.files_on("data")
    run = _deliver(repository, tmp_path / "run", index, relay, pull_request("ciflow/crcr/silent"))
    done = ("plan", "torch/fetch", "predict", "device/good", "device/worse", "report/report")
    # No torch of the pull request can be had, so that nothing is known of it: the gate fails closed.
    assert run.jobs == {**dict.fromkeys(done, "success"), "gate": "failure"}, run.digest
    assert run.steps("gate")["May one merge?"] == "failure"
    what = "pull request 4711 of pytorch/pytorch at 1111111111"
    assert f"PyTorch's CI has no wheel of {what}: nothing was built for the CPU" in str(run.events)
    works = [body["workflow"] for body in relay.state.taken]
    said = [(work["job_name"], work["status"], work["conclusion"]) for work in works]
    assert said[:2] == [("good", "in_progress", None), ("worse", "in_progress", None)]
    assert sorted(said[2:]) == [("good", "completed", "neutral"), ("worse", "completed", "neutral")]
    assert {(work["run_id"], work["check_run_id"]) for work in works} == {("2", "2-1")}
    assert {body["payload"]["pull_request"]["head"]["sha"] for body in relay.state.taken} == {HEAD}
    assert repository.files_on("data") == before
    assert not (run.store / "pages").exists()


@pytest.mark.deep
def test_a_push_is_tested_and_a_relay_that_nobody_runs_makes_nothing_red(
    repository: Repository, index: Mapping[str, str], relay: RelayServer, tmp_path: Path
) -> None:
    gone = {"variables": {"OOTCI_RELAY_URL": "http://127.0.0.1:9/"}, "environment": {"OOTCI_RELAY_PATIENCE": "1"}}
    run = _deliver(repository, tmp_path / "run", index, relay, push(), **gone)
    done = ("plan", "torch/fetch", "predict", "device/good", "device/worse", "report/report")
    assert run.jobs == {**dict.fromkeys(done, "success"), "gate": "failure"}, run.digest
    assert f"refs/heads/main of pytorch/pytorch at {PUSHED[:10]}" in str(run.events)
    assert "worse is not reported: no answer that counts: nobody is there" in str(run.events)


def test_a_pull_request_that_is_closed_costs_no_runner(
    repository: Repository, index: Mapping[str, str], relay: RelayServer, tmp_path: Path
) -> None:
    run = _deliver(repository, tmp_path / "run", index, relay, pull_request(action="closed"))
    assert (run.exit_code, run.jobs) == (0, {}), run.digest
    assert relay.state.asked == 0


def test_what_is_no_delivery_is_red_and_reaches_no_machine_of_a_device(
    repository: Repository, index: Mapping[str, str], relay: RelayServer, tmp_path: Path
) -> None:
    delivery = {**pull_request(), "delivery_id": "$(touch pwned)"}
    run = _deliver(repository, tmp_path / "run", index, relay, delivery)
    assert run.exit_code != 0
    assert run.jobs == {"plan": "failure", "gate": "failure"}, run.digest


@pytest.fixture
def pytorch(tmp_path: Path) -> str:
    """A repository that has pull request 7."""
    return pull_requests(tmp_path, "7/head", "7/merge")


@pytest.mark.deep
def test_a_pull_request_by_number_is_held_against_the_nightly(
    repository: Repository,
    index: Mapping[str, str],
    relay: RelayServer,
    pytorch: str,
    tmp_path: Path,
) -> None:
    changed = repository.duplicate(tmp_path)
    file = changed.checkout / "devices" / "worse.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("FAKE_BEHAVIOUR: passes", "FAKE_BEHAVIOUR: fails"), encoding="utf-8")
    changed.commit()
    run = _run(
        changed,
        tmp_path / "run",
        index,
        relay,
        workflow="pull-request.yml",
        event="workflow_dispatch",
        inputs={"number": "7", "torch": f"{index['OOTCI_NIGHTLY_INDEX']}/{WHEEL}"},
        run_id=4,
        environment={"OOTCI_PYTORCH_GIT": pytorch},
    )
    done = ("plan", "predict", "device/good", "device/worse")
    assert run.jobs == {**dict.fromkeys(done, "success"), "gate": "failure"}, run.digest
    # The device that broke is tested again by "Re-run failed jobs", the other one is not.
    broke = {name: run.steps(f"device/{name}")["Did the pull request break the device?"] for name in ("good", "worse")}
    assert broke == {"good": "success", "worse": "failure"}
    said = str(run.events)
    assert "may one merge: no (1 of 2 gating devices newly broken: Worse)" in said
    assert "- good: not worse" in said
    assert relay.state.asked == 0


@pytest.mark.deep
def test_the_torch_of_pytorchs_ci_is_tested_by_every_device_and_the_summary_tells_it(
    repository: Repository, index: Mapping[str, str], ci: PyTorchCi, relay: RelayServer, tmp_path: Path
) -> None:
    pytorch = pytorch_sources(tmp_path)
    python = f"linux-jammy-py3.{sys.version_info.minor}-gcc11"
    number = ci.built(tmp_path / "built", pytorch.head, build=python)
    run = _run(
        repository,
        tmp_path / "run",
        index,
        relay,
        workflow="pull-request.yml",
        event="workflow_dispatch",
        inputs={"number": "7"},
        run_id=7,
        environment={"OOTCI_PYTORCH_GIT": pytorch.url},
        # Torch is not built where there is one.
        variables={"OOTCI_TORCH_RUNNER": '["no-such-machine"]'},
    )
    done = ("plan", "torch/fetch", "predict", "device/good", "device/worse", "gate")
    assert run.jobs == dict.fromkeys(done, "success"), run.digest
    told = f"built by PyTorch's CI, https://github.com/pytorch/pytorch/actions/runs/{number}"
    for report in _reports(run):
        assert report["torch"]["git_version"] == report["torch_request"]["commit"] == pytorch.head
        assert report["torch_request"]["origin"] == told
    line = f"torch: 2.15.0a0+git{pytorch.head[:7]}; {told}"
    assert any(line in str(event.get("msg")) for event in run.events)


def _built(
    repository: Repository, folder: Path, index: Mapping[str, str], relay: RelayServer, pytorch: str, number: str
) -> ActRun:
    """Test a pull request of which PyTorch's CI has no wheel, with a machine that builds torch."""
    return _run(
        repository,
        folder,
        index,
        relay,
        workflow="pull-request.yml",
        event="workflow_dispatch",
        inputs={"number": number},
        run_id=5,
        environment={"OOTCI_PYTORCH_GIT": pytorch},
        variables={"OOTCI_TORCH_RUNNER": '["ubuntu-latest"]'},
    )


@pytest.mark.deep
def test_torch_is_built_once_of_the_pull_request_and_tested_by_every_device(
    repository: Repository, index: Mapping[str, str], ci: PyTorchCi, relay: RelayServer, tmp_path: Path
) -> None:
    pytorch = pytorch_sources(tmp_path)
    ci.run(pytorch.head)
    run = _built(repository, tmp_path / "run", index, relay, pytorch.url, "7")
    done = ("plan", "torch/fetch", "torch/build", "predict", "device/good", "device/worse", "gate")
    assert run.jobs == dict.fromkeys(done, "success"), run.digest
    for report in _reports(run):
        assert report["torch"]["git_version"] == report["torch_request"]["commit"] == pytorch.merge
        assert report["torch_request"]["channel"] == "source"
        assert report["torch_request"]["origin"].startswith(
            "built from source: PyTorch's CI has no wheel of pull request 7"
        )


@pytest.mark.deep
def test_a_pull_request_whose_torch_does_not_build_is_red_and_its_devices_have_none(
    repository: Repository, index: Mapping[str, str], ci: PyTorchCi, relay: RelayServer, tmp_path: Path
) -> None:
    pytorch = pytorch_sources(tmp_path)
    ci.run(pytorch.broken)
    run = _built(repository, tmp_path / "run", index, relay, pytorch.url, "8")
    # Red, so that a re-run builds again; act ends the run here. The plan goes on without a wheel.
    assert (run.jobs["plan"], run.jobs["torch/build"]) == ("success", "failure"), run.digest
    planned = json.loads((run.store / "artifacts" / "plan-1-with-torch-1" / "plan.json").read_text(encoding="utf-8"))
    reasons = {item["torch"]["unavailable_reason"] for item in planned["runs"]}
    assert reasons == {"torch does not build: exit code 1"}
