"""actionlint and GitHub's own parser have nothing against our workflow files and those that vendors copy."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from contract.workflow_calls import calls_from_elsewhere
from contract.workflow_linters import lint

ROOT = Path(__file__).parents[3]

NOT_KNOWN_YET = (
    (r'property "workflow_(repository|sha)" is not defined', "`job.workflow_...` is newer than this actionlint"),
    (r'property "result" is not defined in object type \{outputs:', "GitHub documents `jobs.<job_id>.result`"),
)
"""What actionlint says without reason, and why."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each says of our own files, and of the callers as if they were here."""
    folder = tmp_path_factory.mktemp("linted")
    shutil.copytree(ROOT / ".github", folder / ".github")
    for path in (ROOT / "workflows").glob("*.yml"):
        text = calls_from_elsewhere(path.read_text(encoding="utf-8"))
        (folder / ".github" / "workflows" / f"caller-{path.name}").write_text(text, encoding="utf-8")
    return lint(folder)


def test_actionlint_finds_nothing(found: dict[str, list[str]]) -> None:
    told = [text for text in found["actionlint"] if not any(re.search(known, text) for known, _ in NOT_KNOWN_YET)]
    assert told == []


@pytest.mark.parametrize("known", [known for known, _ in NOT_KNOWN_YET])
def test_what_is_let_pass_is_still_said(found: dict[str, list[str]], known: str) -> None:
    assert any(re.search(known, text) for text in found["actionlint"])


def test_githubs_own_parser_finds_nothing(found: dict[str, list[str]]) -> None:
    assert found["languageservice"] == []
