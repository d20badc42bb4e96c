"""requirements.txt, which workflows install, and what pyproject.toml asks for are one."""

from __future__ import annotations

import re
from pathlib import Path

import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]


def _pinned(text: str) -> dict[str, Requirement]:
    joined = re.sub(r"\\\n\s*", "", text)
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    found = [Requirement(re.sub(r"\s*--hash=\S+", "", line)) for line in lines]
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    return {canonicalize_name(item.name): item for item in found}


def test_what_workflows_install_is_what_the_tool_asks_for() -> None:
    pinned = _pinned((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    assert {str(item.specifier)[:2] for item in pinned.values()} == {"=="}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [Requirement(text) for text in project["dependencies"]]
    assert asked
    for item in asked:
        version = str(pinned[canonicalize_name(item.name)].specifier).removeprefix("==")
        assert item.specifier.contains(version), f"run `make requirements`: {item}, pinned is {version}"
