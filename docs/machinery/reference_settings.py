"""The page of everything that an operator can set, from the one list in the code."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_table import table

from ootci.model.setting import SETTINGS, Kind, Setting

_HEAD = """\
# Settings

Variables, secrets and environments of the repository, and environment variables of `ootci`. A nightly needs none.

[Operate it](../guides/operate.md) shows where each is set, and `ootci setup --check` reports the state of each.

"""


def page(root: Path) -> str:
    """The page's Markdown.

    Args:
        root: the repository.

    """
    parts = [_HEAD]
    for kind in Kind:
        rows = [
            (f"`{one.name}`", one.default, " ".join(f"`{name}`" for name in readers(one, root)), one.purpose)
            for one in SETTINGS
            if one.kind is kind
        ]
        heading = kind.value.replace("repository", "Repository", 1).replace("environment var", "Environment var", 1)
        plural = f"{heading[:-1]}ies" if heading.endswith("y") else f"{heading}s"
        parts.append(f"## {plural}\n\n{table(('Name', 'When not set', 'Read by', 'Purpose'), rows)}")
    return "\n".join(parts)


def readers(setting: Setting, root: Path) -> list[str]:
    """Names of the files that read a setting: workflows, or modules of the tool and of its tests."""
    if setting.kind is Kind.PROCESS:
        pattern, folders = rf"[\"']{re.escape(setting.name)}[\"']", ("scripts/ootci", "tests/system")
    else:
        pattern, folders = _IN_WORKFLOWS[setting.kind].format(_name(setting)), (".github/workflows", "workflows")
    files = [
        path for folder in folders for path in sorted((root / folder).rglob("*")) if path.suffix in (".py", ".yml")
    ]
    read = [path for path in files if re.search(pattern, path.read_text(encoding="utf-8"))]
    tool = [path for path in read if "tests" not in path.relative_to(root).parts and path.name != "setting.py"]
    if setting.kind is Kind.PROCESS and not tool:
        return ["tests/system"]
    return sorted({path.relative_to(root).as_posix().removeprefix(".github/workflows/") for path in tool})


_IN_WORKFLOWS = {
    Kind.VARIABLE: r"\bvars\.{}\b",
    Kind.SECRET: r"{}",
    Kind.ENVIRONMENT: r"environment:\s+(?:name: )?{}\b",
}


def _name(setting: Setting) -> str:
    if setting.kind is not Kind.SECRET:
        return re.escape(setting.name)
    if setting.name.startswith("<"):
        return rf"secrets\[fromJSON\(inputs\.job\)\.credentials\.{setting.name.rpartition('_')[2].lower()}\]"
    return r"\bgithub\.token\b"
