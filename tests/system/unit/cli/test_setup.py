"""``ootci home``: whether a workflow run publishes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_github import REPOSITORY, TOKEN, FakeGithub

from commands import Tool  # isort: skip


@pytest.mark.parametrize(
    ("facts", "answer", "why"),
    [
        ({}, "yes", "this is its default branch"),
        ({"fork": True}, "no", "it is a fork"),
        ({"default_branch": "trunk"}, "no", "this is refs/heads/main, not the default branch"),
    ],
)
def test_a_run_publishes_on_the_default_branch_of_no_fork(
    ootci: Tool, tmp_path: Path, hub: FakeGithub, facts: dict[str, object], answer: str, why: str
) -> None:
    hub.facts |= facts
    env = {
        **hub.environment,
        "GITHUB_ACTIONS": "true",
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_TOKEN": TOKEN,
    }
    files = ("--github-output", "outputs", "--summary", "summary")
    ran = ootci("home", *files, "--format", "json", cwd=tmp_path, env=env)
    assert (ran.code, json.loads(ran.out)) == (0, {"home": answer == "yes", "reason": why})
    assert (tmp_path / "outputs").read_text(encoding="utf-8") == f"home={answer}\n"
    assert (tmp_path / "summary").exists() == (answer == "no")
    if answer == "no":
        assert (tmp_path / "summary").read_text(encoding="utf-8") == f"This run publishes nothing: {why}.\n\n"
