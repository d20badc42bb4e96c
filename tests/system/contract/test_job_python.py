"""The jobs that build and test a device run on the Python that its file asks for, says GitHub's own evaluator."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from contract.workflow_file import read_files
from contract.workflow_linters import evaluate

FILES = read_files(Path(__file__).parents[3] / ".github")
DEVICE = FILES["workflows/device.yml"]


@pytest.mark.parametrize("job", ["build", "build-private", "device", "device-private"])
def test_the_device_file_decides_and_else_the_caller(job: str) -> None:
    (set_up,) = (step for step in DEVICE.jobs[job]["steps"] if str(step.get("uses")).endswith("/setup-ootci"))
    text = set_up["with"]["python-version"]
    entries = [json.dumps({"python": python}) for python in ("3.13", "", "system")]
    given = [(text, {"inputs": {"job": entry, "python-version": "3.11"}, "needs": {}}) for entry in entries]
    # The Python of a torch that was downloaded for a pull request comes before the caller's.
    for entry in (entries[0], entries[1]):
        planned = {"plan": {"outputs": {"job": entry, "python": "3.10"}}}
        given.append((text, {"inputs": {"job": "", "python-version": "3.11"}, "needs": planned}))
    assert evaluate(given) == ["3.13", "3.11", "system", "3.13", "3.10"]


@pytest.mark.parametrize(("wanted", "sets_up"), [("3.11", True), ("system", False)])
def test_githubs_python_is_not_installed_where_there_is_none(wanted: str, sets_up: bool) -> None:
    steps = list(FILES["actions/setup-ootci/action.yml"].steps)
    (step,) = (step for step in steps if "setup-python" in str(step.get("uses")))
    assert evaluate([(step["if"], {"inputs": {"python-version": wanted}})]) == [sets_up]
    # `python` is setup-python's; a system may have `python3` only.
    assert not any(re.search(r"^python\b", str(step.get("run")), re.M) for step in steps)
