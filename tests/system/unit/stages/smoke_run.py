"""The suite smoke, as the stage test runs it, on a Python that plays a script instead."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from unit.samples import FIRST_NIGHT

from ootci.model.event import TestEnd, read_events
from ootci.stages.test.suite_run import SuiteEnd, SuiteRun

FAKE = Path(__file__).with_name("fake_pytest.py")


def clock() -> datetime:
    return FIRST_NIGHT


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


@dataclass(frozen=True)
class Played:
    """A suite that was played, and what it left behind in its folder."""

    folder: Path
    end: SuiteEnd

    @property
    def outcomes(self) -> dict[str, str]:
        return {name: outcome.value for name, outcome in self.end.ended.items()}

    @property
    def told(self) -> dict[str, TestEnd]:
        return {item.id: item for item in read_events(self.folder / "events.jsonl") if isinstance(item, TestEnd)}

    @property
    def spares(self) -> list[str]:
        """The processes that stood by."""
        path = self.folder / "spares"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    @property
    def log(self) -> str:
        return (self.folder / "smoke.log").read_text(encoding="utf-8")

    @property
    def starts(self) -> list[str]:
        return (self.folder / "starts").read_text(encoding="utf-8").splitlines()

    def asked(self, number: int) -> list[str]:
        return (self.folder / f"asked.{number}").read_text(encoding="utf-8").splitlines()
