"""The parts of `make test` that ci.yml runs side by side: each test is in one of them, and they are all run."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
import yaml
from _pytest.mark.expression import Expression
from commands import run_command
from worker_order import DEVICE_FIXTURES, MARKERS

PARTS = ("fast", "openreg", "workflows", "browser")
DEEP = ("deep",)
OF_A_PART = ("torch", "act", "browser")


def _selected(root: Path, target: str, part: str = "") -> Expression:
    """Which markers a command of the Makefile selects."""
    said = run_command(["make", "--dry-run", target, f"PART={part}"], root).out
    return Expression.compile(re.split(r" -m ", said.splitlines()[-1])[-1].strip().strip('"'))


def _takes(expression: Expression, markers: frozenset[str]) -> bool:
    return expression.evaluate(lambda name, **_: name in markers)


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> dict[str, frozenset[str]]:
    """The markers of every test that was found, also of those that this run leaves out."""
    return request.config.stash[MARKERS]


def test_every_test_is_in_exactly_one_part_or_deep(root: Path, found: dict[str, frozenset[str]]) -> None:
    jobs = {part: _selected(root, "test", part) for part in PARTS} | {"deep": _selected(root, "test-deep")}
    taken = {
        name: [job for job, expression in jobs.items() if _takes(expression, each)] for name, each in found.items()
    }
    assert {name: parts for name, parts in taken.items() if len(parts) != 1} == {}


def test_the_parts_together_are_the_whole_command(root: Path) -> None:
    whole, parts = _selected(root, "test"), [_selected(root, "test", part) for part in PARTS]
    for bits in itertools.product((False, True), repeat=len(OF_A_PART) + 1):
        markers = frozenset(itertools.compress((*OF_A_PART, *DEEP), bits))
        assert _takes(whole, markers) == any(_takes(part, markers) for part in parts)


def test_a_test_with_the_device_s_environment_is_marked_so(found: dict[str, frozenset[str]]) -> None:
    """Without the marker its part would make the environment, which takes most of another one's time."""
    assert [name for name, each in found.items() if each & DEVICE_FIXTURES and "torch" not in each] == []


def test_a_part_that_is_not_there_is_an_error(root: Path) -> None:
    with pytest.raises(SyntaxError):
        _selected(root, "test", "slow")


def test_github_runs_every_part_and_the_deep_tests(root: Path) -> None:
    jobs = {name: _jobs(root, name) for name in ("ci", "deep")}
    assert set(jobs["ci"]["test"]["strategy"]["matrix"]["part"]) == set(PARTS)
    assert max(job["timeout-minutes"] for job in jobs["ci"].values()) <= 15
    run = [[step["run"] for step in jobs[name]["test"]["steps"] if step["name"] == "Test"] for name in jobs]
    assert run == [['.ci/run "$PART"'], [".ci/run deep"]]


def _jobs(root: Path, name: str) -> dict[str, dict[str, object]]:
    workflow = yaml.safe_load((root / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))
    jobs: dict[str, dict[str, object]] = workflow["jobs"]
    return jobs
