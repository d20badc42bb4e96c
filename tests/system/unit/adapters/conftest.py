"""A git without anybody's settings, and a remote for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repositories import bare_repository
from unit.adapters.branches import data_branch

from ootci.adapters.data_branch import DataBranch


@pytest.fixture
def git_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare_repository(tmp_path / "remote.git")


@pytest.fixture
def one(tmp_path: Path, remote: Path) -> DataBranch:
    return data_branch(tmp_path, "one", remote)


@pytest.fixture
def two(tmp_path: Path, remote: Path) -> DataBranch:
    return data_branch(tmp_path, "two", remote)
