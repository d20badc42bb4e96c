"""What a vendor copies from ``workflows/``, run by act in a vendor's repository that calls a release of ours.

No job can run the tool of another commit than the release's: on ``main`` it is broken.
"""

from __future__ import annotations

import json
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from deliveries import PUSHED, pull_request, push
from drawn import deep
from e2e.act_runner import TAG, ActRun, Repository, run_workflow
from e2e.packages import NIGHTLY, RELEASE, serve_torch
from misbehaving import install, write_device
from pytorch_ci import pytorch_ci
from relay_server import RelayServer

from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.torch_build import Channel

pytestmark = [pytest.mark.act, pytest.mark.long]

ROOT = Path(__file__).parents[3]
DEVICE = "mydevice"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Our repository at a release, with suites that take no time."""
    repository = Repository.copy(tmp_path_factory.mktemp("ours"))
    repository.with_small_suites()
    repository.commit()
    repository.release()
    return repository


@pytest.fixture(scope="module")
def index(packages: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Environment variables with which pip and the tool find every package, and what PyTorch's CI built of a push."""
    with serve_torch(tmp_path_factory.mktemp("index")) as torch, pytorch_ci() as ci:
        ci.built(tmp_path_factory.mktemp("built"), PUSHED, build=f"linux-jammy-py3.{sys.version_info.minor}-gcc11")
        yield {**packages, **torch, **ci.environment}


def _vendor(folder: Path, caller: str, behaviour: str = "passes", extra: str = "") -> Repository:
    """A vendor's repository: the plugin, its device file, and the caller where GitHub looks for it."""
    repository = Repository.empty(folder, "vendor/plugin")
    write_device(repository.checkout, DEVICE, behaviour, extra=extra)
    workflows = repository.checkout / ".github" / "workflows"
    workflows.mkdir(parents=True)
    text = (ROOT / "workflows" / caller).read_text(encoding="utf-8")
    (workflows / caller).write_text(text.replace("@main", f"@{TAG}"), encoding="utf-8")
    repository.commit()
    return repository


def _report(run: ActRun, artifact: str) -> dict[str, Any]:
    path = run.store / "artifacts" / artifact / "run.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_a_push_tests_the_callers_plugin_by_the_callers_device_file_and_the_gate_fails_where_it_does(
    ours: Repository, index: Mapping[str, str], tmp_path: Path
) -> None:
    """The file lies in a folder of its own, beside that of the plugin."""
    vendor = _vendor(tmp_path, "on-push.yml", "fails")
    name = f"{DEVICE}.yaml"
    _moved(vendor.checkout / name, vendor.checkout / "ci" / name, f"path: {DEVICE}", f"path: ../{DEVICE}")
    caller = vendor.checkout / ".github" / "workflows" / "on-push.yml"
    _moved(caller, caller, f"device-file: {name}", f"device-file: ci/{name}")
    vendor.commit()
    run = run_workflow(vendor, tmp_path / "run", workflow="on-push.yml", event="push", environment=index, called=ours)
    assert run.jobs == {"device/plan": "success", f"device/{DEVICE}": "success", "device/gate": "failure"}, run.digest
    failed = {(job, step) for job in run.jobs for step, result in run.steps(job).items() if result != "success"}
    assert failed == {("device/gate", "Is the device as expected?")}
    assert f"{DEVICE.capitalize()} (FAILING)" in run.digest
    report = _report(run, f"run-{DEVICE}-1")
    plugin = report["plugin"]
    assert (plugin["source"], plugin["commit"]) == (f"../{DEVICE}", vendor.sha)


def _moved(file: Path, to: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.unlink()
    to.parent.mkdir(exist_ok=True)
    to.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.deep
def test_a_nightly_tests_what_its_matrix_says(ours: Repository, index: Mapping[str, str], tmp_path: Path) -> None:
    vendor = _vendor(tmp_path, "nightly.yml")
    run = run_workflow(
        vendor, tmp_path / "run", workflow="nightly.yml", event="schedule", environment=index, called=ours
    )
    jobs = dict.fromkeys(("device/plan", f"device/{DEVICE}", "device/gate"), "success")
    assert (run.exit_code, run.jobs) == (0, jobs), run.digest
    for variant, version in (("nightly-py3.11", NIGHTLY), ("2.13.0-py3.12", RELEASE)):
        torch = _report(run, f"run-{DEVICE}-{variant}-1")["torch"]
        assert torch["version"] == version
    # An hour later there is no newer nightly.
    later = run_workflow(
        vendor,
        tmp_path / "later",
        workflow="nightly.yml",
        event="schedule",
        run_id=2,
        environment={**index, "STUB_CACHE": str(tmp_path / "run" / "kept")},
        called=ours,
    )
    assert (later.exit_code, later.jobs) == (0, {"device/plan": "success"}), later.digest


PREPARE = """#!/bin/sh -e
"$STUB_PYTHON" -m venv --without-pip env
cp -R prepared/* env/lib/python3.*/site-packages/
"""


@pytest.mark.parametrize("behaviour", ["passes", deep("fails")])
def test_an_environment_that_the_vendors_job_prepared_is_tested_as_it_is(
    ours: Repository, packages: Mapping[str, str], tmp_path: Path, behaviour: str
) -> None:
    vendor = _vendor(tmp_path, "own-job.yml", behaviour)
    prepared = install(vendor.checkout / "prepared", DEVICE)
    (prepared / "pytest.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    script = vendor.checkout / "prepare-environment"
    script.write_text(PREPARE, encoding="utf-8")
    script.chmod(0o755)
    vendor.commit()
    environment = {**packages, "STUB_OWN_JOB": "yes"}
    run = run_workflow(
        vendor, tmp_path / "run", workflow="own-job.yml", event="push", environment=environment, called=ours
    )
    is_good = behaviour == "passes"
    assert (run.exit_code == 0, run.jobs) == (is_good, {"test": "success" if is_good else "failure"}), run.digest
    assert f"{DEVICE}: {'OK' if is_good else 'FAILING'}:" in run.digest
    kept = run.store / "artifacts" / "pytorch-integration-tests"
    assert (kept / "site" / "d" / DEVICE / "index.html").is_file()
    report = read(Run, kept / "work" / "runs" / DEVICE / "run.json")
    assert (report.torch_request.channel, report.plugin and report.plugin.source) == (
        Channel.INSTALLED,
        "installed in the environment given",
    )


OWN_MACHINE = """check: {command: [sh, -c, 'test ! -e "$CARD_IS_GONE"']}
runner: {labels: [self-hosted, mycard], shares: 2}
"""
OWN_BUILDER = "build: {runner: {labels: [builder]}}\n"
SHARES = (f"device/{DEVICE} 1 of 2-1", f"device/{DEVICE} 2 of 2-2")
"""act adds the number of a matrix's leg."""


@pytest.mark.deep
def test_built_once_elsewhere_the_tests_are_shared_out_on_the_vendors_machine_and_put_together(
    ours: Repository, index: Mapping[str, str], tmp_path: Path
) -> None:
    vendor = _vendor(tmp_path, "self-hosted-container.yml", extra=OWN_MACHINE + OWN_BUILDER)
    run = run_workflow(
        vendor,
        tmp_path / "run",
        workflow="self-hosted-container.yml",
        event="schedule",
        environment={**index, "CARD_IS_GONE": str(tmp_path / "gone")},
        called=ours,
        labels=("ubuntu-latest", "mycard", "builder"),
    )
    jobs = dict.fromkeys(("device/plan", "device/build", *SHARES, "device/collect", "device/gate"), "success")
    assert (run.exit_code, run.jobs) == (0, jobs), run.digest
    artifacts = run.store / "artifacts"
    assert {path.name for path in artifacts.iterdir()} == {
        f"plan-{DEVICE}-1",
        f"built-{DEVICE}-1",
        f"share-{DEVICE}=1-of-2-1",
        f"share-{DEVICE}=2-of-2-1",
        f"run-{DEVICE}-1",
    }
    share = artifacts / f"share-{DEVICE}=2-of-2-1"
    uploaded = {path.name for path in (share / "shards" / "2-of-2").iterdir()}
    assert uploaded == {"build.json", "env.json", "events.jsonl", "logs"}
    handed = json.loads((artifacts / f"built-{DEVICE}-1" / "handover.json").read_text(encoding="utf-8"))
    report = _report(run, f"run-{DEVICE}-1")
    assert handed["provenance"]["url"] == report["url"]
    plugin, place, outcomes = report["plugin"], report["environment"], report["outcomes"]
    assert [(wheel["name"], wheel["sha256"]) for wheel in handed["wheels"]] == [(plugin["wheel"], plugin["sha256"])]
    assert handed["provenance"]["machine"] in str(place["built_on"])
    assert len({item["id"] for item in outcomes}) == len(outcomes) == 5
    assert {item["outcome"] for item in outcomes} == {"passed"}


@pytest.mark.deep
def test_a_lost_card_is_the_machines_fault_and_nothing_is_built(
    ours: Repository, index: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "gone").write_text("", encoding="utf-8")
    vendor = _vendor(tmp_path, "self-hosted-container.yml", extra=OWN_MACHINE)
    run = run_workflow(
        vendor,
        tmp_path / "run",
        workflow="self-hosted-container.yml",
        event="workflow_dispatch",
        environment={**index, "CARD_IS_GONE": str(tmp_path / "gone")},
        called=ours,
        labels=("ubuntu-latest", "mycard"),
    )
    jobs = dict.fromkeys(("device/plan", "device/build", *SHARES, "device/collect"), "success")
    assert run.jobs == {**jobs, "device/gate": "failure"}, run.digest
    assert f"{DEVICE}: INFRA" in run.digest
    assert "may one merge: cannot say (none of 1 gating device has a result" in run.digest
    stages = {stage["name"]: stage["status"] for stage in _report(run, f"run-{DEVICE}-1")["stages"]}
    assert (stages["fetch"], stages["build"], stages["smoke"]) == ("failed", "not_run", "not_run")


@pytest.mark.deep
def test_an_external_nightly_is_reported_to_the_relay(
    ours: Repository, index: Mapping[str, str], relay: RelayServer, tmp_path: Path
) -> None:
    vendor = _vendor(tmp_path, "external-report.yml")
    run = run_workflow(
        vendor,
        tmp_path / "run",
        workflow="external-report.yml",
        event="schedule",
        environment={**index, **relay.token_variables},
        called=ours,
        variables={"OOTCI_RELAY_URL": relay.url},
    )
    jobs = dict.fromkeys(("device/plan", f"device/{DEVICE}", "device/gate", "report/report"), "success")
    assert (run.exit_code, run.jobs) == (0, jobs), run.digest
    (taken,) = relay.state.taken
    work = taken["workflow"]
    assert (taken["event_type"], work["job_name"], work["conclusion"]) == ("nightly", DEVICE, "success"), run.digest
    assert work["test_results"] == {"passed": 5, "failed": 0, "skipped": 0}


def _delivered(
    ours: Repository,
    environment: Mapping[str, str],
    relay: RelayServer,
    folder: Path,
    delivery: dict[str, object],
    *,
    wish: str = "true",
    behaviour: str = "passes",
    extra: str = "",
    **options: Any,
) -> ActRun:
    """Run what a vendor copies for pull requests."""
    vendor = _vendor(folder, "pytorch-pull-request.yml", behaviour, extra=f"pull_requests: {wish}\n{extra}")
    return run_workflow(
        vendor,
        folder / "run",
        workflow="pytorch-pull-request.yml",
        event="repository_dispatch",
        environment={**environment, **relay.token_variables},
        called=ours,
        payload={"action": delivery["event_type"], "client_payload": delivery},
        variables={"OOTCI_RELAY_URL": relay.url},
        **options,
    )


@pytest.mark.deep
def test_what_the_relay_delivers_is_tested_and_answered(
    ours: Repository, index: Mapping[str, str], relay: RelayServer, tmp_path: Path
) -> None:
    run = _delivered(ours, index, relay, tmp_path, push())
    # act names a job by the workflow that is called.
    jobs = dict.fromkeys(("device/plan", f"device/{DEVICE}", "device/gate", "report/report"), "success")
    assert (run.exit_code, run.jobs) == (0, jobs), run.digest
    said = [(item["event_type"], item["delivery_id"], item["workflow"]["status"]) for item in relay.state.taken]
    assert said == [("push", "d2", "in_progress"), ("push", "d2", "completed")], run.digest
    assert relay.state.taken[-1]["payload"]["after"] == PUSHED
    assert _report(run, f"run-{DEVICE}-1")["torch"] == {"version": f"2.15.0a0+git{PUSHED[:7]}", "git_version": PUSHED}


def test_who_takes_no_part_in_a_pull_request_is_neither_tested_nor_red(
    ours: Repository, index: Mapping[str, str], relay: RelayServer, tmp_path: Path
) -> None:
    run = _delivered(ours, index, relay, tmp_path, pull_request(), wish="false")
    assert (run.exit_code, run.jobs) == (0, dict.fromkeys(("report/report", "device/plan"), "success")), run.digest
    assert relay.state.taken == []


@pytest.mark.deep
def test_a_re_run_of_the_failed_jobs_repeats_the_share_that_failed_and_reports_again(
    ours: Repository, index: Mapping[str, str], relay: RelayServer, tmp_path: Path
) -> None:
    """act repeats no job: the second attempt is what GitHub's would be."""
    shares = {"behaviour": "fails", "extra": "runner: {labels: [ubuntu-latest], shares: 2}\n"}
    first = _delivered(ours, index, relay, tmp_path, push(), **shares)
    (red,) = (name for name in SHARES if f"{name}: may one merge: no" in first.digest)
    (good,) = (name for name in SHARES if f"{name}: may one merge: yes" in first.digest)
    # The job, too, but for the copy that act runs: see `Repository.commit`.
    failed = {step for step, result in first.steps(red).items() if result == "failure"}
    assert failed == {"Did the pull request break the device?"}
    assert first.steps(good)["Did the pull request break the device?"] == "success"
    number = SHARES.index(red) + 1
    kept = first.store / "artifacts"
    assert {path.name for path in kept.glob("share-*")} == {f"share-{DEVICE}={item}-of-2-1" for item in (1, 2)}

    # The machine is well again.
    vendor = Repository(tmp_path / "checkout", tmp_path / "remote.git")
    file = vendor.checkout / f"{DEVICE}.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(": fails", ": passes"), encoding="utf-8")
    # The jobs after the plan, whose outputs GitHub uses again.
    planned = next(str(event["arg"]) for event in first.events if event.get("name") == "job")
    caller = vendor.checkout / ".github" / "workflows" / "pytorch-pull-request.yml"
    text = re.sub(r"  begin:.*?(?=  test:)", "", caller.read_text(encoding="utf-8"), flags=re.S)
    text = text.replace("[begin, test]", "test").replace("${{ needs.test.outputs.plan-artifact }}", f"plan-{DEVICE}-1")
    given = f"plan-artifact: plan-{DEVICE}-1\n      job: '{planned}'\n"
    caller.write_text(text.replace("pull-request: delivered\n", given), encoding="utf-8")
    vendor.commit()
    second = run_workflow(
        vendor,
        tmp_path / "second",
        workflow=caller.name,
        event="repository_dispatch",
        attempt=2,
        environment={**index, **relay.token_variables, "STUB_STORE": str(first.store)},
        called=ours,
        payload={"action": "push", "client_payload": push()},
        variables={"OOTCI_RELAY_URL": relay.url},
        options=["--matrix", f"share:map[count:2 index:{number}]"],
    )
    again = {job for job in second.jobs if job.startswith(f"device/{DEVICE} ")}
    assert len(again) == 1, second.digest
    assert set(second.jobs.values()) == {"success"}, second.digest
    report = json.loads((kept / f"run-{DEVICE}-2" / "run.json").read_text(encoding="utf-8"))
    assert {item["outcome"] for item in report["outcomes"]} == {"passed"}
    assert len(report["outcomes"]) == 5
    works = [item["workflow"] for item in relay.state.taken]
    assert [(work["run_attempt"], work["status"], work["conclusion"]) for work in works] == [
        ("1", "in_progress", None),
        ("1", "completed", "failure"),
        ("2", "in_progress", None),
        ("2", "completed", "success"),
    ]


@pytest.mark.parametrize(
    ("head", "label", "is_tested"),
    [
        deep({"full_name": "vendor/plugin"}, "ubuntu-card", True, name="a branch"),
        deep({"full_name": "stranger/plugin", "fork": True}, "ubuntu-latest", True, name="a fork on GitHub's machine"),
        pytest.param({"full_name": "stranger/plugin", "fork": True}, "ubuntu-card", False, id="a fork"),
        deep(None, "mycard", False, name="a fork that was deleted"),
    ],
)
def test_a_strangers_pull_request_comes_to_no_machine_of_the_vendors(
    ours: Repository,
    index: Mapping[str, str],
    tmp_path: Path,
    head: Mapping[str, object] | None,
    label: str,
    is_tested: bool,
) -> None:
    vendor = _vendor(tmp_path, "on-push.yml", extra=f"runner:\n  labels: [{label}]\n")
    caller = vendor.checkout / ".github" / "workflows" / "on-push.yml"
    caller.write_text(caller.read_text(encoding="utf-8").replace("  push:\n", "  pull_request:\n"), encoding="utf-8")
    vendor.commit()
    run = run_workflow(
        vendor,
        tmp_path / "run",
        workflow="on-push.yml",
        event="pull_request",
        environment=index,
        called=ours,
        labels=("ubuntu-latest", label),
        payload={"pull_request": {"number": 1, "base": {"ref": "main"}, "head": {"ref": "change", "repo": head}}},
    )
    assert run.jobs["device/plan"] == "success", run.digest
    assert (f"device/{DEVICE}" in run.jobs, run.exit_code == 0) == (is_tested, is_tested), run.digest
