"""``ootci render``: where the site is published, and documentation that may be missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import plan, register, run, stored

from commands import Tool  # isort: skip


def _judge_one_nightly(ootci: Tool, folder: Path) -> None:
    register(folder)
    stored(folder / "data", plan(), run())
    assert ootci("judge", cwd=folder).code == 0


@pytest.mark.parametrize(
    ("given", "repository", "address"),
    [
        ("github-pages", "Owner/Tests", "https://owner.github.io/tests/"),
        ("github-pages", "Owner/owner.github.io", "https://owner.github.io/"),
        ("https://ci.example.com/", "Owner/Tests", "https://ci.example.com/"),
        ("github-pages", "", None),
    ],
)
def test_the_site_knows_its_address(
    ootci: Tool, tmp_path: Path, given: str, repository: str, address: str | None
) -> None:
    _judge_one_nightly(ootci, tmp_path)
    ran = ootci("render", "--address", given, cwd=tmp_path, env={"GITHUB_REPOSITORY": repository})
    assert ran.code == 0, ran.err
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert ('rel="canonical"' in front) is (address is not None)
    assert address is None or f'<link rel="canonical" href="{address}">' in front


def test_documentation_that_is_missing_is_an_error_or_a_warning(ootci: Tool, tmp_path: Path) -> None:
    _judge_one_nightly(ootci, tmp_path)
    docs, site = tmp_path / "docs", tmp_path / "site"
    ran = ootci("render", "--docs", "docs", cwd=tmp_path)
    assert (ran.code, site.exists()) == (2, False)

    ran = ootci("render", "--docs", "docs", "--docs-optional", cwd=tmp_path, env={"GITHUB_ACTIONS": "true"})
    assert ran.code == 0, ran.err
    assert "::warning title=CLI-001::the pages are made without documentation, and link to none: " in ran.err
    assert (site / "index.html").is_file()
    assert not (site / "docs").exists()

    docs.mkdir()
    (docs / "index.html").write_text("<!doctype html>", encoding="utf-8")
    ran = ootci("render", "--docs", "docs", "--docs-optional", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert (site / "docs" / "index.html").is_file()
