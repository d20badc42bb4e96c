"""The suite smoke, as the stage test runs it, on a Python that plays a script instead."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ootci.stages.test.suite_run import SuiteRun

FAKE = Path(__file__).with_name("fake_pytest.py")


def smoke_run(folder: Path, **changes: Any) -> SuiteRun:
    """The suite smoke with all its files in one folder; ``changes`` are the fields that matter to a test."""
    run = SuiteRun(
        suite="smoke",
        device="dev",
        python="python",
        suites=folder / "suites",
        variables={},
        events=folder / "events.jsonl",
        logs=folder,
        scratch=folder,
        suite_seconds=20,
        test_seconds=10,
        poll_seconds=0.02,
    )
    return replace(run, **changes)


def fake_python(folder: Path) -> str:
    """The path of a Python that plays a script, made in the folder."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S {FAKE} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return str(python)
