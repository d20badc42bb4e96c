"""A git without anybody's settings, and a remote for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from unit.adapters.branches import git


@pytest.fixture
def git_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(folder))
    return folder
