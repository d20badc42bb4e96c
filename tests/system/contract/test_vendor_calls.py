"""What a vendor's call of device.yml gives reaches the steps that it is for, says GitHub's own evaluator."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from contract.workflow_file import read_files
from contract.workflow_linters import evaluate

DEVICE = read_files(Path(__file__).parents[3] / ".github")["workflows/device.yml"].jobs
BUILDING = ("build", "build-private", "device", "device-private")


def _filled(text: str, contexts: dict[str, Any]) -> str:
    """A text with the values of its expressions."""
    found = re.findall(r"\$\{\{(.*?)\}\}", text, re.S)
    for expression, value in zip(found, evaluate([(one, contexts) for one in found]), strict=True):
        text = text.replace(f"${{{{{expression}}}}}", "" if value is None else str(value))
    return text


@pytest.mark.parametrize("job", BUILDING)
def test_the_callers_checkout_has_its_submodules_files_of_lfs_and_tags_where_it_is_built(job: str) -> None:
    (step,) = (step for step in DEVICE[job]["steps"] if step.get("with", {}).get("path") == "caller")
    inputs = {"submodules": "recursive", "lfs": True, "fetch-depth": 0}
    asked = [(step["with"][name], {"inputs": inputs}) for name in inputs]
    assert evaluate(asked) == list(inputs.values())


def test_shares_of_one_variant_are_not_collected_with_those_of_another() -> None:
    (upload,) = (step for step in DEVICE["device"]["steps"] if step.get("name") == "Upload the share")
    (download,) = (step for step in DEVICE["collect"]["steps"] if step.get("name") == "Download the shares")
    variants = ("", "py3.11", "py3.1", "2.13.0-py3.11", "1")
    share = {"share": {"index": 1, "count": 2}}
    names, patterns = {}, {}
    for variant in variants:
        contexts = {
            "env": {"DEVICE": "dev"},
            "inputs": {"variant": variant},
            "matrix": share,
            "github": {"run_attempt": "1"},
        }
        names[variant] = _filled(upload["with"]["name"], contexts)
        patterns[variant] = _filled(download["with"]["pattern"], contexts)
    for variant, pattern in patterns.items():
        assert [other for other, name in names.items() if fnmatchcase(name, pattern)] == [variant]


@pytest.mark.parametrize(
    ("results", "is_cancelled"),
    [
        (("cancelled", "skipped"), True),
        (("skipped", "cancelled"), True),
        (("failure", "skipped"), False),
        (("success", "skipped"), False),
    ],
)
def test_the_gate_is_told_that_the_devices_job_was_cancelled(results: tuple[str, str], is_cancelled: bool) -> None:
    (gate,) = (step for step in DEVICE["gate"]["steps"] if step.get("id") == "gate")
    assert "${CANCELLED:+--cancelled}" in gate["run"]
    needs = {name: {"result": result} for name, result in zip(("device", "device-private"), results, strict=True)}
    assert _filled(gate["env"]["CANCELLED"], {"needs": needs}) == ("yes" if is_cancelled else "")
