"""The page of the workflows that others call or start, from their files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from markdown_table import escaped, table

_HEAD = """\
# Workflows

Whole workflows to copy are in [`workflows/`](../../workflows/README.md). These are the ones that they call, and those
of this repository that a person may start.

"""


_WRITING = """\
`id-token: write` changes nothing on GitHub: it lets a job prove to others which workflow it belongs to. A job that
calls a workflow passes permissions on. All other jobs only read."""
_JOB = re.compile(r"^  (?P<job>[\w-]+):$|^      (?P<scope>[\w-]+): write # (?P<why>.+)$", re.M)


def page(root: Path) -> str:
    """The page's Markdown.

    Args:
        root: the repository.

    """
    parts = [_HEAD]
    for path in sorted((root / ".github" / "workflows").glob("[a-z]*.yml")):
        text = path.read_text(encoding="utf-8")
        content = yaml.safe_load(text)
        # PyYAML takes the key `on` for a boolean.
        triggers = content.get("on", content.get(True)) or {}
        for event, how in (("workflow_call", "Called by others"), ("workflow_dispatch", "Started by a person")):
            if isinstance(triggers, dict) and event in triggers:
                parts.append(_section(path, text, how, triggers[event] or {}))
    action = root / "action.yml"
    content = yaml.safe_load(action.read_text(encoding="utf-8"))
    text = f"# {content['description']}\n"
    parts.append(_section(action, text, "A step of your own job", content))
    head = ("Workflow", "Job", "Permission", "What it is for")
    parts.append(f"## Jobs that may write\n\n{_WRITING}\n\n{table(head, writing(root))}")
    return "\n".join(parts)


def writing(root: Path) -> list[tuple[str, str, str, str]]:
    """Workflow, job, permission and reason of each permission to write that a job has."""
    rows = []
    for path in sorted((root / ".github" / "workflows").glob("*.yml")):
        job = ""
        for found in _JOB.finditer(path.read_text(encoding="utf-8").partition("\njobs:\n")[2]):
            job = found["job"] or job
            if found["scope"]:
                rows.append((f"`{path.name}`", f"`{job}`", f"`{found['scope']}: write`", escaped(found["why"])))
    return rows


def _section(path: Path, text: str, how: str, trigger: dict[str, Any]) -> str:
    lines = text.splitlines()
    comment = [line.lstrip("# ") if "->" not in line and "\\>" not in line else "" for line in _first(lines)]
    prose = "\n".join(comment).strip()
    parts = [f"## {path.name}: {how[0].lower()}{how[1:]}", prose]
    if trigger.get("inputs"):
        parts.append(table(("Input", "What is given", "When absent", "What it is for"), _inputs(trigger["inputs"])))
    if trigger.get("secrets"):
        rows = [(f"`{name}`", escaped(item["description"])) for name, item in trigger["secrets"].items()]
        parts.append(table(("Secret", "What it is for"), rows))
    if trigger.get("outputs"):
        rows = [(f"`{name}`", escaped(item["description"])) for name, item in trigger["outputs"].items()]
        parts.append(table(("Output", "What it says"), rows))
    return "\n\n".join(parts) + "\n"


def _first(lines: list[str]) -> list[str]:
    kept = []
    for line in lines:
        if not line.startswith("#"):
            break
        kept.append(line)
    return kept


def _inputs(inputs: dict[str, dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    rows = []
    for name, item in inputs.items():
        absent = "must be given" if item.get("required") else f"`{item['default']}`" if item.get("default") else "empty"
        rows.append((f"`{name}`", str(item.get("type", "string")), absent, escaped(item["description"])))
    return rows
