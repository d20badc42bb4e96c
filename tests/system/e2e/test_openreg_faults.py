"""A fault of the reference device costs the tests that it hits; run.json says which, and how all others ended."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from commands import Tool
from drawn import deep_but
from unit.samples import build, plan

from ootci.model.plan import PlannedSuite
from ootci.model.record import write
from ootci.model.workspace import RunFolder

pytestmark = pytest.mark.torch

DEVICE = "openreg"
TESTS = 10
"""How many tests the one file has at least that is run here."""

FILE = """name: openreg
display_name: OpenReg
vendor: A vendor
maintainers: ["@somebody"]
plugin:
  distribution: torch-openreg
  path: openreg
environment:
  OPENREG_DEVICE_COUNT: "2"
  OPENREG_FAULT: {fault}
check:
  devices: 2
suites:
  - name: smoke
limits:
  test_seconds: 45
"""


@dataclass(frozen=True)
class Case:
    """A fault, and what it costs.

    Attributes:
        fault: as the device's variable has it; the call is one of a test in the middle.
        outcome: of the tests that it hits.
        message: what is said of the first of them.
        most: how many it hits at most.

    """

    fault: str
    outcome: str
    message: str
    most: int = 1


CASES = (
    Case("crash@launch:20", "crashed", "killed by SIGSEGV"),
    Case("hang@launch:20", "timed_out", "still running when the test's 45 s were up"),
    Case("out-of-memory@malloc:1", "failed", "OutOfMemoryError"),
    Case("wrong-result@launch:20", "failed", "AssertionError", most=TESTS - 1),
)


@pytest.fixture(scope="module")
def suites(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suites, of which smoke has one file."""
    folder = tmp_path_factory.mktemp("suites")
    shutil.copytree(root / "tests" / "device" / "harness", folder / "harness")
    for name in ("conftest.py", "pytest.ini", "probe.py"):
        shutil.copy(root / "tests" / "device" / name, folder / name)
    (folder / "smoke").mkdir()
    shutil.copy(root / "tests" / "device" / "smoke" / "test_tensors.py", folder / "smoke")
    return folder


@pytest.mark.parametrize("case", deep_but(CASES[:1], CASES), ids=lambda case: case.fault.partition("@")[0])
def test_a_fault_costs_what_it_hits(device_python: Path, ootci: Tool, suites: Path, tmp_path: Path, case: Case) -> None:
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "openreg.yaml").write_text(FILE.format(fault=case.fault), encoding="utf-8")
    folder = RunFolder(tmp_path / ".ootci" / "runs" / DEVICE)
    write(build(name=DEVICE, python=os.fspath(device_python)), folder.build)
    write(plan(names=[DEVICE], suites=(PlannedSuite(name="smoke"),)), tmp_path / ".ootci" / "plan.json")
    assert ootci("test", DEVICE, "--exit-zero", "--suites", str(suites), cwd=tmp_path).code == 0
    assert ootci("collect", DEVICE, cwd=tmp_path).code == 0
    run: dict[str, Any] = json.loads(folder.run.read_text(encoding="utf-8"))
    (report,) = run["suites"]
    assert report["state"] == "complete"
    outcomes = Counter(item["outcome"] for item in run["outcomes"])
    assert set(outcomes) == {case.outcome, "passed"}
    assert outcomes.total() >= TESTS
    assert outcomes[case.outcome] <= case.most
    hit = next(item for item in run["outcomes"] if item["outcome"] == case.outcome)
    assert case.message in hit["message"]
    assert [attempt["outcome"] for attempt in hit["attempts"]], "it is run again, and that is kept"
    assert {stage["name"]: stage["status"] for stage in run["stages"]}["smoke"] == "failed"
