"""Pull requests of PyTorch: which events cost a runner, and what a re-run of the failed jobs repeats.

act shows neither: it gives up at the first failed leg.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from contract.test_callers import TEXTS
from contract.workflow_file import File, read_files
from contract.workflow_linters import are_there, evaluate
from deliveries import pull_request, push
from e2e.conftest import missing

FILES = read_files(Path(__file__).parents[3] / ".github")
DEVICE = FILES["workflows/device.yml"].jobs
TEST = DEVICE["device"]["steps"]
FIRST = {
    "our own": (FILES["workflows/pull-request.yml"].jobs["plan"]["if"], {}),
    "a vendor's test": (DEVICE["plan"]["if"], {"job": "", "pull-request": "delivered"}),
    "a vendor's report": (FILES["workflows/report.yml"].jobs["report"]["if"], {"nightly": False, "relay": "https://x"}),
}
"""The condition of the job that comes first, which costs a runner, and the inputs of its workflow."""
DELIVERIES = [
    (pull_request(action="opened"), True),
    (pull_request(action="synchronize"), True),
    (pull_request(action="reopened"), True),
    (pull_request(action="closed"), False),
    (push("refs/heads/main"), True),
    (push("refs/heads/release/2.15"), True),
    (push("refs/tags/ciflow/crcr/mydevice/4711"), True),
    (push("refs/heads/gh/somebody/12/head"), False),
    (push("refs/heads/gh/somebody/12/orig"), False),
    (push("refs/heads/viable/strict"), False),
    (push("refs/tags/ciflow/trunk/4711"), False),
    (push("refs/heads/maintenance"), False),
]
"""What the relay delivers, and whether somebody may test it."""


@pytest.mark.parametrize("who", FIRST)
def test_what_nobody_tests_costs_no_runner(who: str) -> None:
    if not are_there():
        missing("npm or the linters from there", "install npm, and call `make test`")
    condition, inputs = FIRST[who]
    text = re.sub(r"\s+", " ", condition)
    found = evaluate([(text, {"github": _event(delivery), "inputs": inputs}) for delivery, _ in DELIVERIES])
    assert found == [is_tested for _, is_tested in DELIVERIES]
    by_hand = {"event_name": "workflow_dispatch", "event": {}}
    assert evaluate([(text, {"github": by_hand, "inputs": inputs})]) == [True]


def test_without_a_relay_nothing_is_reported() -> None:
    if not are_there():
        missing("npm or the linters from there", "install npm, and call `make test`")
    condition, inputs = FIRST["a vendor's report"]
    asked = [({"event_name": "schedule", "event": {}}, {"nightly": True}), (_event(push()), {"nightly": False})]
    for github, more in asked:
        for relay, is_reported in (("https://x", True), ("", False)):
            contexts = {"github": github, "inputs": {**inputs, **more, "relay": relay}}
            assert evaluate([(re.sub(r"\s+", " ", condition), contexts)]) == [is_reported]


def _event(delivery: dict[str, Any]) -> dict[str, Any]:
    event = {"action": delivery["event_type"], "client_payload": delivery}
    return {"event_name": "repository_dispatch", "event": event}


def test_a_device_that_is_newly_broken_makes_its_job_red_after_all_else() -> None:
    *before, last = TEST
    assert last["run"].splitlines()[-1] == 'ootci gate --pull-request --device "$DEVICE"'
    assert "continue-on-error" not in last
    assert "!cancelled()" in last["if"]
    assert any("upload-artifact@" in str(step.get("uses")) for step in before)


@pytest.mark.parametrize(
    ("file", "red", "repeated"),
    [
        (FILES["workflows/_pull-request-device.yml"], "device", {"device", "report"}),
        (FILES["workflows/pull-request.yml"], "device", {"device", "gate"}),
        (File.parse("workflows/caller.yml", TEXTS["pytorch-pull-request.yml"]), "test", {"test", "report"}),
    ],
    ids=["a device", "all devices", "a vendor"],
)
def test_a_re_run_of_the_failed_jobs_tests_and_reports_again(file: File, red: str, repeated: set[str]) -> None:
    """Source: GitHub's documentation, "Re-running workflows and jobs": failed jobs, and those that depend on them."""
    assert _with_dependents(file, red) == repeated
    assert all("always()" in str(file.jobs[name].get("if")) for name in repeated - {red})


def _with_dependents(file: File, red: str) -> set[str]:
    found = {red}
    while more := {name for name, job in file.jobs.items() if found & set(_needed(job))} - found:
        found |= more
    return found


def _needed(job: dict[str, Any]) -> list[str]:
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else list(needs)
