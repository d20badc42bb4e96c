"""SECURITY.md says of each threat by which tests its defence is shown, and they exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from contract.test_workflows import RULES

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parents[1] / "SECURITY.md"
MODEL = PAGE.read_text(encoding="utf-8").partition("## Threat model\n")[2].partition("\n## ")[0]
THREATS = dict(part.split("\n", 1) for part in MODEL.split("\n### ")[1:])
NAMED = re.compile(r"^- `(?P<path>[\w/]+\.py)::(?P<test>test_\w+)(?:\[(?P<rule>\w+)\])?`$", re.M)


def _problems(text: str) -> list[str]:
    named = list(NAMED.finditer(text))
    listed = [line for line in text.splitlines() if line.startswith("- ")]
    missing = [found[0] for found in named if not _exists(found["path"], found["test"], found["rule"])]
    return missing if len(named) == len(listed) > 0 else ["a list of something else than tests"]


def _exists(path: str, test: str, rule: str | None) -> bool:
    file = TESTS / path
    if not file.is_file() or (rule and rule not in {rule.__name__ for rule in RULES}):
        return False
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == test for node in tree.body)


@pytest.mark.parametrize("threat", THREATS)
def test_the_tests_that_a_threat_names_exist(threat: str) -> None:
    assert _problems(THREATS[threat]) == []


@pytest.mark.parametrize(
    "text",
    [
        "Nothing is shown.\n",
        "- by looking\n",
        "- `contract/test_security.py::test_it`\n",
        "- `contract/test_security_page.py::test_it`\n",
        "- `contract/test_workflows.py::test_our_files_keep_the_rule[is_safe_for_all]`\n",
    ],
)
def test_a_threat_without_a_test_is_found(text: str) -> None:
    assert _problems(text) != []


def test_the_page_has_a_threat_model() -> None:
    assert len(THREATS) > 10
    assert MODEL.count("::test_") == sum(len(NAMED.findall(text)) for text in THREATS.values())
