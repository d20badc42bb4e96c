"""The tool as a command, in this process, because starting Python for each call takes longer than the call."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from commands import Ran, Tool, scrubbed
from fake_actions import fake_actions
from fake_github import FakeGithub, fake_github
from unit.cli.device_runs_world import NAMES, World
from unit.samples import register

from ootci.adapters import github_rest
from ootci.cli import device_runs
from ootci.cli.main import main
from ootci.flows import reports


@pytest.fixture
def ootci(monkeypatch: pytest.MonkeyPatch) -> Tool:
    def call(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            patch.chdir(cwd)
            for name in set(os.environ) - set(wanted := scrubbed(env)):
                patch.delenv(name)
            for name, value in wanted.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["ootci", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
        return Ran(int(ended.value.code or 0), out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def quick_environments(tool_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool in this process makes devices' environments from the Python that gives them pip in no time."""
    monkeypatch.setattr(sys, "_base_executable", str(tool_python.resolve()))


@pytest.fixture
def hub() -> Iterator[FakeGithub]:
    with fake_github() as server:
        yield server


@pytest.fixture
def world(ootci: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository with two devices on a stand-in for GitHub."""
    monkeypatch.setattr(github_rest, "PAUSE_SECONDS", 0.0)
    for name in NAMES:
        register(tmp_path, name)
    with fake_actions() as hub:
        made = World(hub, ootci, tmp_path)
        for module in (device_runs, reports):
            monkeypatch.setattr(module, "clock", lambda: made.now)
        hub.now = lambda: made.now
        yield made
