"""``ootci plan --pull-request``: what of PyTorch is tested, by whom, and that none of it is taken for a nightly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deliveries import HEAD, PUSHED, event_file, pull_request, push
from misbehaving import stub_torch_wheel
from repositories import pull_requests
from unit.samples import plan, register, run, stored

from ootci.history.store import History
from ootci.model.delivery import PullRequestDelivery, read_delivery
from ootci.model.device import load_registry
from ootci.model.plan import Plan
from ootci.model.record import read, write
from ootci.model.torch_build import Channel
from ootci.stages.judge import judge

from commands import Ran, Tool  # isort: skip

OPTED = {"asks": "true", "never": "false", "silent": None}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three devices, each with another wish; the last says nothing."""
    for name, wish in OPTED.items():
        text = f"pull_requests: {wish}\n" if wish else ""
        register(tmp_path, name, f"tier: gating\ncadence: weekly\n{text}")
    return tmp_path


def _plan(ootci: Tool, folder: Path, delivery: dict[str, Any] | None, *more: str, **variables: str) -> Ran:
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "5", "GITHUB_EVENT_NAME": "repository_dispatch"}
    if delivery is not None:
        environment["GITHUB_EVENT_PATH"] = str(event_file(folder / "event.json", delivery))
    arguments = more if "--pull-request" in more else ("--pull-request", "delivered", *more)
    return ootci("plan", *arguments, cwd=folder, env={**environment, **variables})


def _planned(folder: Path) -> Plan:
    return read(Plan, folder / ".ootci" / "plan.json")


@pytest.mark.parametrize(
    ("delivery", "tested"),
    [
        (pull_request(), ["asks"]),
        (pull_request("ciflow/crcr/never", "ciflow/crcr/silent"), ["asks"]),
        (pull_request("ciflow/crcr/asks", action="closed"), []),
        (push("refs/heads/main"), ["asks"]),
        (push("refs/heads/main", deleted=True), []),
    ],
)
def test_devices_opt_in_and_labels_decide_nothing(
    ootci: Tool, folder: Path, delivery: dict[str, Any], tested: list[str]
) -> None:
    assert _plan(ootci, folder, delivery, "--github-output", "outputs").code == 0
    assert [found.device for found in _planned(folder).runs] == tested
    assert f"count={len(tested)}\n" in (folder / "outputs").read_text(encoding="utf-8")


@pytest.mark.parametrize("branch", ["#12345-fix", "+a", "'q'", "$(x);`y`", "(x)", "änderung", "@", "a" * 255])
def test_any_branch_name_that_git_allows_is_planned_and_handed_on(ootci: Tool, folder: Path, branch: str) -> None:
    delivery = pull_request()
    for end in ("head", "base"):
        delivery["payload"]["pull_request"][end]["ref"] = branch
    ran = _plan(ootci, folder, delivery)
    assert ran.code == 0, ran.err
    found = read_delivery(folder / "event.json", event_file=True)
    assert isinstance(found, PullRequestDelivery)
    assert found.payload.pull_request.head.ref == found.payload.pull_request.base.ref == branch


def test_who_is_not_tested_is_told_why(ootci: Tool, folder: Path) -> None:
    with (folder / "devices" / "asks.yaml").open("a", encoding="utf-8") as stream:
        stream.write("paused:\n  reason: It is being moved.\n")
    ran = _plan(ootci, folder, pull_request())
    assert ran.out.splitlines() == [
        "asks: left out, It is being moved.",
        "never: left out, its device file does not enable pull requests",
        "silent: left out, its device file does not enable pull requests",
    ]
    _plan(ootci, folder, pull_request(action="closed"))
    assert {left.reason for left in _planned(folder).left_out[1:]} == {"it was closed or deleted"}


def test_a_plan_says_what_is_tested_and_that_no_torch_of_it_can_be_had(ootci: Tool, folder: Path) -> None:
    ran = _plan(ootci, folder, pull_request())
    trigger = _planned(folder).trigger
    assert trigger.event == "pull_request"
    assert trigger.proposal is not None
    assert trigger.proposal.model_dump() == {
        "repository": "pytorch/pytorch",
        "pull_request": 4711,
        "commit": HEAD,
        "ref": "refs/pull/4711/merge",
    }
    (planned,) = _planned(folder).runs
    torch = planned.torch
    what = "pull request 4711 of pytorch/pytorch at 1111111111"
    assert (torch.wanted, torch.channel, torch.version) == (what, Channel.SOURCE, None)
    assert torch.unavailable_reason is not None
    assert torch.unavailable_reason.startswith(f"there is no wheel of {what}: ")
    assert "torch: there is no wheel of pull request 4711" in ran.err
    assert "asks: torch none (source)" in ran.out


def test_a_push_is_no_pull_request(ootci: Tool, folder: Path) -> None:
    _plan(ootci, folder, push())
    trigger = _planned(folder).trigger
    assert trigger.event == "push"
    assert trigger.proposal is not None
    assert (trigger.proposal.pull_request, trigger.proposal.commit) == (None, PUSHED)
    assert str(trigger.proposal) == "refs/heads/main of pytorch/pytorch at 3333333333"


def test_a_wheel_of_it_can_be_given_and_nothing_else(ootci: Tool, folder: Path) -> None:
    wheel = stub_torch_wheel(folder / "wheels", "2.15.0a0+gitabc")
    assert _plan(ootci, folder, pull_request(), "--torch", str(wheel)).code == 0
    torch = _planned(folder).runs[0].torch
    assert (torch.channel, torch.version, torch.unavailable_reason) == (Channel.WHEEL, "2.15.0a0+gitabc", None)
    assert torch.wanted.startswith("pull request 4711 of")
    address = "https://example.org/torch-2.15.0a0%2Bgitabc-py3-none-any.whl"
    assert _plan(ootci, folder, pull_request(), "--torch", f"{address}#sha256=ab").code == 0
    torch = _planned(folder).runs[0].torch
    assert (torch.url, torch.version, torch.sha256, torch.wheel) == (address, "2.15.0a0+gitabc", "ab", None)
    for wrong in (
        "https://example.org/torchvision-1.0-py3-none-any.whl",
        "https://example.org/",
        "http://[x/torch.whl",
    ):
        ran = _plan(ootci, folder, pull_request(), "--torch", wrong)
        assert (ran.code, "TORCH-002: the address is not that of a torch wheel" in ran.err) == (2, True)
    for other in ("nightly", "2.13.0"):
        ran = _plan(ootci, folder, pull_request(), "--torch", other)
        assert (ran.code, f"`{other}` is not the torch of a pull request" in ran.err) == (2, True)


def test_nothing_delivered_is_said(ootci: Tool, folder: Path) -> None:
    ran = _plan(ootci, folder, None)
    assert (ran.code, "CLI-001: nothing was delivered" in ran.err) == (2, True)
    (folder / "payload.json").write_text(json.dumps(pull_request()), encoding="utf-8")
    assert _plan(ootci, folder, None, "--payload", "payload.json").code == 0
    ran = _plan(ootci, folder, None, "--pull-request", "7", "--payload", "payload.json")
    assert (ran.code, "what was delivered is not read\n  where: --payload" in ran.err) == (2, True)


@pytest.fixture
def pytorch(tmp_path: Path) -> dict[str, str]:
    """A repository with pull request 7, which can be merged, and 8, which cannot."""
    address = pull_requests(tmp_path, "7/head", "7/merge", "8/head")
    return {"OOTCI_PYTORCH_GIT": address, "GITHUB_EVENT_NAME": "workflow_dispatch"}


def test_a_pull_request_can_be_named_by_its_number(ootci: Tool, folder: Path, pytorch: dict[str, str]) -> None:
    ran = _plan(ootci, folder, None, "--pull-request", "7", **pytorch)
    assert ran.code == 0, ran.err
    found = _planned(folder)
    assert found.trigger.event == "workflow_dispatch"
    assert found.trigger.proposal is not None
    assert found.trigger.proposal.pull_request == 7
    assert [item.device for item in found.runs] == ["asks"]
    assert _plan(ootci, folder, None, "--pull-request", "7", "--device", "never", **pytorch).code == 0
    assert [item.device for item in _planned(folder).runs] == ["never"]


@pytest.mark.parametrize(
    ("number", "code", "what"),
    [
        ("8", 2, "PULL-001: pull request 8 cannot be merged: it is closed, or conflicts"),
        ("9", 2, "PULL-001: pull request 9 does not exist"),
        ("0", 2, "CLI-001: `0` is no pull request"),
        ("7/merge", 2, "CLI-001"),
        ("--upload-pack=x", 2, ""),
        ("7\n8", 2, "CLI-001"),
    ],
)
def test_a_number_that_is_none_is_told(
    ootci: Tool, folder: Path, pytorch: dict[str, str], number: str, code: int, what: str
) -> None:
    ran = _plan(ootci, folder, None, f"--pull-request={number}", "--pull-request", number, **pytorch)
    assert (ran.code, what in ran.err, "Traceback" in ran.err) == (code, True, False)


@pytest.mark.parametrize("torch", ["nightly", "gone.whl", "https://example.org/numpy-2.0-py3-none-any.whl"])
def test_a_torch_that_cannot_be_its_own_is_refused_before_pytorchs_repository_is_asked(
    ootci: Tool, folder: Path, torch: str
) -> None:
    nowhere = (folder / "no-repository").as_uri()
    asked = _plan(ootci, folder, None, "--pull-request", "7", OOTCI_PYTORCH_GIT=nowhere)
    assert (asked.code, "PULL-002" in asked.err) == (3, True)
    ran = _plan(ootci, folder, None, "--pull-request", "7", "--torch", torch, OOTCI_PYTORCH_GIT=nowhere)
    assert (ran.code, "PULL-002" in ran.err, "where: " in ran.err) == (2, False, True), ran.err


def test_what_was_tested_of_a_pull_request_is_in_no_history_and_changes_no_page(ootci: Tool, folder: Path) -> None:
    stored(folder / "data", plan(0, tuple(OPTED)), *(run(0, name) for name in OPTED))
    before = {path: path.read_bytes() for path in sorted((folder / "data").rglob("*")) if path.is_file()}
    _plan(ootci, folder, pull_request())
    planned = _planned(folder)
    made = run(1, "asks", integration={"two": "failed"}).model_copy(
        update={"plan_id": planned.id, "id": planned.runs[0].run_id}
    )
    write(made, folder / ".ootci" / "runs" / "asks" / "run.json")
    ran = ootci("history", "append", cwd=folder)
    assert (ran.code, "HIST-006: the plan is no nightly: it tests pull request 4711 of" in ran.err) == (2, True)
    after = {path: path.read_bytes() for path in sorted((folder / "data").rglob("*")) if path.is_file()}
    assert after == before
    verdicts = judge(load_registry(folder / "devices"), History(folder / "data"), made.finished_at)
    assert {item.device: item.verdict.value for item in verdicts.devices}["asks"] == "OK"


def test_a_pull_request_that_nobody_tests_keeps_nothing_from_merging(ootci: Tool, folder: Path) -> None:
    _plan(ootci, folder, pull_request(action="closed"))
    ran = ootci("gate", "--pull-request", cwd=folder)
    assert (ran.code, ran.out) == (0, "may one merge: yes (no device is tested on it)\n")
