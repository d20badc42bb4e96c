"""The tool's list of capabilities and that of the suites, which cannot import each other, are one list."""

from __future__ import annotations

import runpy
from pathlib import Path

from ootci.model.capability import Capability

SUITES = Path(__file__).parents[2] / "device"


def test_the_tool_and_the_suites_know_the_same_capabilities() -> None:
    known = runpy.run_path(str(SUITES / "harness" / "capabilities.py"))["CAPABILITIES"]
    assert [capability.value for capability in Capability] == list(known)
