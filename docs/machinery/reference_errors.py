"""The catalogue of errors, from their classes and from what was really said when each was provoked."""

from __future__ import annotations

import json
from pathlib import Path

from markdown_table import escaped, table

from ootci import errors
from ootci.errors import OotciError

_HEAD = """\
# Errors

Every error has an id that never changes, and says three things: what happened, where, and what to do.
`ootci explain ID` prints what stands here. The examples are what a test provoked.

"""
_GROUPS = {
    "DEV": "device files",
    "FILE": "files between the stages",
    "CLI": "options",
    "TORCH": "getting torch",
    "WHEEL": "wheels that are read",
    "BIS": "bisection",
    "RUN": "naming a run",
    "PULL": "pull requests",
    "HIST": "the history",
    "HOST": "this machine",
    "RELAY": "PyTorch's relay",
    "NIGHT": "the nightly itself",
    "HUB": "GitHub",
    "EXT": "devices that their vendors run",
}
"""What the letters of an id stand for."""


def page() -> str:
    """The page's Markdown."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OotciError)]
    kinds = sorted((kind for kind in found if "id" in vars(kind)), key=lambda kind: kind.id)
    examples = json.loads(Path(__file__).with_name("error_examples.json").read_text(encoding="utf-8"))
    rows = [(f"[{kind.id}](#{kind.id.lower()})", _GROUPS[kind.id.partition("-")[0]], kind.meaning) for kind in kinds]
    codes = table(
        ("Exit code", "It says"),
        [
            ("0", "fine"),
            ("1", "the device failed its tests, or the gate says no: no error, and it has no id"),
            ("2", "the input is wrong"),
            ("3", "our or the host's infrastructure failed"),
        ],
    )
    parts = [_HEAD, codes, "\n", table(("Id", "About", "Meaning"), [(a, b, escaped(c)) for a, b, c in rows]), "\n"]
    return "".join([*parts, *(_entry(kind, examples[kind.id]) for kind in kinds)])


def _entry(kind: type[OotciError], example: dict[str, str]) -> str:
    said = f"error {kind.id}: {example['what']}\n  where: {example['where']}\n  what to do: {example['fix']}"
    return (
        f"## {kind.id}\n\n{escaped(kind.meaning)} Exit code {kind.exit_code}.\n\n"
        f"~~~~text\n{said}\n~~~~\n\n{escaped(kind.remedy)}\n\n"
    )
