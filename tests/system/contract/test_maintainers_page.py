"""Every path that the pages for maintainers name exists, so that a file that moves takes them along."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_PATH = re.compile(r"`((?!\.venv/|\.ootci/)(?:[\w.*-]*/[\w.*/-]*|[\w-]+\.(?:py|yml|yaml|js|css|md|toml)))`")


def _paths(text: str) -> list[str]:
    return _PATH.findall(_FENCE.sub("", text))


@pytest.mark.parametrize(("page", "fewest"), [("docs/maintainers/architecture.md", 40), ("CONTRIBUTING.md", 15)])
def test_every_path_of_the_page_exists(page: str, fewest: int) -> None:
    named = _paths((ROOT / page).read_text(encoding="utf-8"))
    assert len(named) >= fewest
    assert [path for path in named if not any(ROOT.glob(path.rstrip("/")))] == []


def test_paths_are_told_from_other_code() -> None:
    text = "`a/b.py` `errors.py` `docs/` `e2e/test_*` `make nightly` `.venv/bin/x` `deep` `drawn.deep`\n"
    assert _paths(f"{text}```\n`c/d`\n```\n") == ["a/b.py", "errors.py", "docs/", "e2e/test_*"]
