"""The actions of others are those that somebody looked up, at the commit and the version that were found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import tomllib
from contract.workflow_file import File, read_files

ROOT = Path(__file__).parents[3]
LOOKED_UP = tomllib.loads(Path(__file__).with_name("pinned_actions.toml").read_text(encoding="utf-8"))["action"]
USED = re.compile(r"^\s*(?:- )?uses: +(?P<name>[^.\s@][^\s@]*)@(?P<commit>\S+)(?: # (?P<version>\S+))?$", re.M)

Pin = tuple[str, str, str | None]


def _pins(files: Mapping[str, File]) -> set[Pin]:
    found = (match for file in files.values() for match in USED.finditer(file.text))
    return {(match["name"], match["version"], match["commit"]) for match in found}


def _looked_up() -> set[Pin]:
    return {(action["name"], action["version"], action["commit"]) for action in LOOKED_UP}


def test_what_is_used_is_what_was_looked_up() -> None:
    assert _pins(read_files(ROOT / ".github")) == _looked_up()


@pytest.mark.parametrize(("old", "new"), [("90b1 # v7.0.1", "90b2 # v7.0.1"), ("90b1 # v7.0.1", "90b1 # v7.0.2")])
def test_a_commit_or_a_version_that_is_another_is_found(old: str, new: str) -> None:
    files = read_files(ROOT / ".github")
    text = files["workflows/ci.yml"].text
    assert old in text
    files["workflows/ci.yml"] = File.parse("workflows/ci.yml", text.replace(old, new, 1))
    assert _pins(files) - _looked_up() != set()


def test_an_action_is_looked_up_once_at_a_full_commit_and_where_it_says() -> None:
    assert len({action["name"] for action in LOOKED_UP}) == len(LOOKED_UP)
    for action in LOOKED_UP:
        assert re.fullmatch(r"[0-9a-f]{40}", action["commit"])
        repository = "/".join(action["name"].split("/")[:2])
        assert action["tags"] == f"https://github.com/{repository}/releases/tag/{action['version']}"
