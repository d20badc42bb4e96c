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
from contract.workflow_linters import evaluate
from deliveries import pull_request, push

FILES = read_files(Path(__file__).parents[3] / ".github")
GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "pull-requests.md").read_text(encoding="utf-8")
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
    (push("refs/tags/ciflow/crcr/mydevice/4711"), False),
    (push("refs/heads/gh/somebody/12/head"), False),
    (push("refs/heads/gh/somebody/12/orig"), False),
    (push("refs/heads/viable/strict"), False),
    (push("refs/tags/ciflow/trunk/4711"), False),
    (push("refs/heads/maintenance"), False),
]
"""What the relay delivers, and whether somebody may test it."""


@pytest.mark.parametrize("who", FIRST)
def test_what_nobody_tests_costs_no_runner(who: str) -> None:
    condition, inputs = FIRST[who]
    found = evaluate([(condition, {"github": _event(delivery), "inputs": inputs}) for delivery, _ in DELIVERIES])
    assert found == [is_tested for _, is_tested in DELIVERIES]
    by_hand = {"event_name": "workflow_dispatch", "event": {}}
    assert evaluate([(condition, {"github": by_hand, "inputs": inputs})]) == [True]


def test_the_guides_condition_selects_pull_requests_by_a_label() -> None:
    (condition,) = re.findall(r"^if: (.*)$", GUIDE, re.M)
    asked = [pull_request("ciflow/crcr/mydevice", "x"), pull_request("ciflow/crcr/other"), pull_request(), push()]
    assert evaluate([(condition, {"github": _event(delivery)}) for delivery in asked]) == [True, False, False, False]


def test_without_a_relay_nothing_is_reported() -> None:
    condition, inputs = FIRST["a vendor's report"]
    asked = [({"event_name": "schedule", "event": {}}, {"nightly": True}), (_event(push()), {"nightly": False})]
    for github, more in asked:
        for relay, is_reported in (("https://x", True), ("", False)):
            contexts = {"github": github, "inputs": {**inputs, **more, "relay": relay}}
            assert evaluate([(condition, contexts)]) == [is_reported]


def _event(delivery: dict[str, Any]) -> dict[str, Any]:
    event = {"action": delivery["event_type"], "client_payload": delivery}
    return {"event_name": "repository_dispatch", "event": event}


MAKES_A_RESULT = r"^ootci (build|test|torch build)\b"
"""Commands whose result a re-run is asked to make again."""
SAYS_IT_BY_ITS_EXIT_CODE = r"^ootci torch build\b(?!.*--exit-zero)"
OF_A_CHANGE = {"inputs": {"job": '{"change": true}'}, "env": {"SHARE": "1/3"}}
SHARES = [{"index": 1, "count": 1}, {"index": 1, "count": 3}, {"index": 3, "count": 3}]


def _jobs_that_make_a_result() -> dict[str, list[dict[str, Any]]]:
    return {
        f"{path} {name}": job["steps"]
        for path, file in FILES.items()
        if path in ("workflows/device.yml", "workflows/_torch.yml")
        for name, job in file.jobs.items()
        if any(re.search(MAKES_A_RESULT, step.get("run", ""), re.M) for step in job.get("steps", []))
    }


def test_every_job_that_makes_a_result_of_a_pull_request_is_known() -> None:
    names = {"device", "device-private", "build", "build-private"}
    assert _jobs_that_make_a_result().keys() == {
        *(f"workflows/device.yml {name}" for name in names),
        "workflows/_torch.yml build",
    }


@pytest.mark.parametrize("job", _jobs_that_make_a_result())
def test_no_job_is_green_that_would_have_to_be_repeated(job: str) -> None:
    """Whoever makes a result fails where it is not good, after its upload: in one job or in each of several shares.

    Source: GitHub's documentation, "Re-running workflows and jobs": of jobs that succeeded the outputs are used again.
    """
    steps = _jobs_that_make_a_result()[job]
    assert not any("continue-on-error" in step for step in steps)
    uploads = [number for number, step in enumerate(steps) if "upload-artifact@" in str(step.get("uses"))]
    failing = [step for step in steps if re.search(SAYS_IT_BY_ITS_EXIT_CODE, step.get("run", ""), re.M)]
    if failing:
        assert all("!cancelled()" in steps[number]["if"] for number in uploads)
        return
    last = steps[-1]
    assert len(steps) - 1 > max(uploads)
    command = last["run"].splitlines()[-1]
    assert re.fullmatch(r'ootci gate --pull-request --device "\$DEVICE"( \$\{SHARE:\+--shard "\$SHARE"\})?', command)
    assert ("SHARE" in command) == ("/device.yml device" in job)
    condition = last["if"].replace("!cancelled() && ", "")
    step = {"build": {"outputs": {"built": "no"}}}
    contexts = [{**OF_A_CHANGE, "matrix": {"share": share}, "steps": step, "needs": {}} for share in SHARES]
    assert evaluate([(condition, context) for context in contexts]) == [True] * len(SHARES)
    nightly = {**contexts[0], "inputs": {"job": '{"change": false}'}}
    assert evaluate([(condition, nightly)]) == [False]


@pytest.mark.parametrize(
    ("job", "command"),
    [
        ("_torch.yml fetch", 'torch fetch ${RUNNER:+--runner "$RUNNER"}'),
        ("device.yml plan", "torch fetch"),
    ],
)
def test_where_nothing_builds_torch_it_is_red_that_there_is_none(job: str, command: str) -> None:
    """So that a re-run of the failed jobs looks for it again: one that is green is not repeated."""
    path, _, name = job.partition(" ")
    steps = FILES[f"workflows/{path}"].jobs[name]["steps"]
    (number,) = (number for number, step in enumerate(steps) if "ootci torch fetch" in step.get("run", ""))
    assert steps[number]["run"] == f'ootci {command} --github-output "$GITHUB_OUTPUT"'
    assert "continue-on-error" not in steps[number]
    (upload,) = (step for step in steps[number:] if "upload-artifact@" in str(step.get("uses")))
    assert "!cancelled()" in upload["if"]


@pytest.mark.parametrize(
    ("file", "red", "repeated"),
    [
        (FILES["workflows/device.yml"], "device", {"device", "collect", "gate"}),
        (FILES["workflows/device.yml"], "device-private", {"device-private", "collect", "gate"}),
        (FILES["workflows/device.yml"], "build", {"build", "device", "device-private", "collect", "gate"}),
        (FILES["workflows/_pull-request-device.yml"], "device", {"device", "report"}),
        (FILES["workflows/pull-request.yml"], "device", {"device", "gate"}),
        (FILES["workflows/pull-request.yml"], "torch", {"torch", "device", "predict", "gate"}),
        (FILES["workflows/_torch.yml"], "fetch", {"fetch", "build"}),
        (FILES["workflows/device.yml"], "plan", set(DEVICE)),
        (File.parse("workflows/caller.yml", TEXTS["pytorch-pull-request.yml"]), "test", {"test", "report"}),
    ],
    ids=[
        "a share",
        "a share in a private image",
        "a build",
        "a device",
        "all devices",
        "torch",
        "torch of PyTorch's CI",
        "a plan without torch",
        "a vendor",
    ],
)
def test_a_re_run_of_the_failed_jobs_tests_and_reports_again(file: File, red: str, repeated: set[str]) -> None:
    """Source: GitHub's documentation, "Re-running workflows and jobs": failed jobs, and those that depend on them."""
    assert _with_dependents(file, red) == repeated
    assert all(re.search(r"always\(\)|!cancelled\(\)", str(file.jobs[name].get("if"))) for name in repeated - {red})


def test_what_a_share_is_named_and_what_is_collected_says_the_attempt() -> None:
    """So a share that is repeated takes the place of the one that failed, beside those that are kept."""
    uploads = [step["with"]["name"] for step in TEST if "upload-artifact@" in str(step.get("uses"))]
    assert len(uploads) == 2
    collected = DEVICE["collect"]["steps"]
    uploads += [step["with"]["name"] for step in collected if "upload-artifact@" in str(step.get("uses"))]
    assert all("github.run_attempt" in name for name in uploads)
    (shares,) = (step["with"]["pattern"] for step in collected if "share-" in str(step.get("with")))
    assert shares.endswith("=*-of-*")


def test_predictions_are_in_the_summary_of_the_run_that_is_reported() -> None:
    """The relay has no field for them; a report's address is the page of the run, where GitHub shows its summaries."""
    jobs = FILES["workflows/pull-request.yml"].jobs
    assert jobs["predict"]["steps"][-1]["run"] == 'ootci compat --planned --summary "$GITHUB_STEP_SUMMARY"'
    reporting = FILES["workflows/_pull-request-device.yml"].jobs["report"]["uses"]
    assert (jobs["device"]["uses"], jobs["begin"]["uses"]) == (
        "./.github/workflows/_pull-request-device.yml",
        reporting,
    )
    assert not any("url" in str(step.get("run", "")) for step in FILES["workflows/report.yml"].steps)


def _with_dependents(file: File, red: str) -> set[str]:
    found = {red}
    while more := {name for name, job in file.jobs.items() if found & set(_needed(job))} - found:
        found |= more
    return found


def _needed(job: dict[str, Any]) -> list[str]:
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else list(needs)
