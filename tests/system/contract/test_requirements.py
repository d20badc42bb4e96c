"""What workflows install is pinned with checksums, and is what pyproject.toml asks for and what the tests ran with."""

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


def test_the_documentation_is_built_with_what_its_tests_ran_with() -> None:
    pinned = _pinned((ROOT / "requirements-docs.txt").read_text(encoding="utf-8"))
    development = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    tested = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in development)}
    assert "properdocs" in pinned
    for name, item in pinned.items():
        assert str(item.specifier) == f"=={tested[name]}", (
            f"run `make requirements`: {item}, tested with {tested[name]}"
        )


def test_the_documentation_is_built_with_nothing_but_what_is_pinned() -> None:
    text = (ROOT / ".ci" / "docs").read_text(encoding="utf-8").replace("\\\n", "")
    (line,) = [line for line in text.splitlines() if "pip" in line.split() and "install" in line.split()]
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(line.split())
