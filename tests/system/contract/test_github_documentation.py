"""Every construct that our workflows use is in GitHub's documentation, and the list of where says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tomllib
from contract.workflow_file import File, Mapped, read_files

ROOT = Path(__file__).parents[3]
DOCUMENTED = Path(__file__).with_name("github_documentation.toml")

_NESTED = ("concurrency", "container", "environment", "strategy")
"""Keys of a job with keys that GitHub names; those of the others are the workflow's own."""
_TEXT = re.compile(r"'[^']*'")
_FUNCTION = re.compile(r"\b([A-Za-z]\w*)\(")
_CONTEXT = re.compile(r"(?<![\w.\])])([a-z]\w*)[.\[]([\w-]*)(?:\.([\w-]+))?")
_OPEN = ("env", "inputs", "matrix", "secrets", "vars")
"""Contexts whose properties the workflow or the repository names."""


def _expressions(value: Any, key: str = "") -> Iterator[str]:
    """Every expression below a value; a condition is one without braces, too."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _expressions(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _expressions(inner)
    elif isinstance(value, str):
        yield from [value] if key == "if" else re.findall(r"\$\{\{(.*?)\}\}", value, re.DOTALL)


def _in_expression(text: str) -> Iterator[str]:
    bare = _TEXT.sub("", text)
    yield from (f"{name}()" for name in _FUNCTION.findall(bare))
    for context, name, then in _CONTEXT.findall(bare):
        if context in _OPEN:
            yield f"{context}.*"
        elif context in ("jobs", "needs", "steps"):
            yield f"{context}.*.{then}"
        else:
            yield f"{context}.{name}"


def _keys(value: Any, prefix: str) -> Iterator[str]:
    yield from (f"{prefix}.{key}" for key in value or () if isinstance(value, dict))


def _of_job(job: Mapped) -> Iterator[str]:
    yield from _keys(job, "jobs")
    for key in _NESTED:
        yield from _keys(job.get(key), f"jobs.{key}")
    yield from _keys(job.get("permissions"), "permissions")


def _constructs(file: File) -> Iterator[str]:
    yield from file.content
    for event in file.content.get("on", {}):
        yield f"on.{event}"
        settings = file.trigger(event)
        for item in settings if isinstance(settings, list) else [settings]:
            yield from _keys(item, f"on.{event}")
    for job in file.jobs.values():
        yield from _of_job(job)
    yield from _keys(file.content.get("runs"), "runs")
    for step in file.steps:
        yield from _keys(step, "steps")
    for expression in _expressions(file.content):
        yield from _in_expression(expression)


def _all(files: Iterable[File]) -> set[str]:
    return {construct for file in files for construct in _constructs(file)}


def test_every_construct_is_documented_and_every_entry_is_used() -> None:
    pages = tomllib.loads(DOCUMENTED.read_text(encoding="utf-8"))
    listed = [construct for page in pages.values() for construct in page["constructs"]]
    assert len(listed) == len(set(listed))
    callers = [File.parse(path.name, path.read_text(encoding="utf-8")) for path in ROOT.glob("workflows/**/*.yml")]
    assert callers
    assert _all([*read_files(ROOT / ".github").values(), *callers]) == set(listed)


def test_what_is_not_documented_is_found() -> None:
    text = (
        "on: {push: {}}\njobs:\n  a:\n    strategy: {insert: 1}\n    if: insert(x) && github.insert == needs.b.insert"
    )
    used = _all([File.parse("workflows/x.yml", text)])
    assert {"jobs.strategy.insert", "insert()", "github.insert", "needs.*.insert"} <= used
