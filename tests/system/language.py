"""The language lint: finds wording that readers have to decode, by the patterns of language.toml.

It reads Markdown, the templates of pages and feeds, the docstrings and comments of the tool and of the device suites,
and the comments of YAML files. The schemas' descriptions are docstrings. Of the modules in SHOWN it reads every text:
help of commands, pages, alerts, comments on pull requests, reasons of skipped tests. Code, between backticks or fenced,
is not prose.

Usage: python tests/system/language.py
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import tomllib

ROOT = Path(__file__).parents[2]
FILES = ("*.md", "scripts/ootci/*.py", "tests/device/*.py", ".github/*.yml", "devices/*.yaml", "workflows/*.yml")
FILES += ("dashboard/templates/*",)
SHOWN = (
    "scripts/ootci/cli/",
    "scripts/ootci/stages/judge/",
    "scripts/ootci/stages/render/",
    "tests/device/conftest.py",
)
"""Modules whose texts people read."""
_FENCED = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_MARKUP = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<[^>]*>", re.DOTALL)
_CODE = re.compile(r"(`+)[^`\n]+\1|<!--.*?-->", re.DOTALL)


class Rule(NamedTuple):
    """A wording and what to write instead."""

    pattern: re.Pattern[str]
    better: str


def rules() -> list[Rule]:
    """Every rule of language.toml."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["rule"]
    return [Rule(re.compile(rule["not"], re.IGNORECASE | re.MULTILINE), rule["better"]) for rule in listed]


def findings(text: str, suffix: str, *, is_shown: bool = False) -> Iterator[tuple[int, str]]:
    """The 1-based line of each wording that a rule rejects, with the wording and what to write instead.

    Args:
        is_shown: whether it is a module whose texts people read.

    """
    prose = _without_code((_texts if is_shown else _PROSE[suffix])(text), _CODE)
    for rule in rules():
        for found in rule.pattern.finditer(prose):
            yield prose.count("\n", 0, found.start()) + 1, f"“{' '.join(found[0].split())}”: {rule.better}"


def _without_code(text: str, code: re.Pattern[str]) -> str:
    """The text with code as empty backticks, on as many lines as before."""
    return code.sub(lambda found: "``" + "\n" * found[0].count("\n"), text)


def _markdown(text: str) -> str:
    return _without_code(text, _FENCED)


def _yaml(text: str) -> str:
    """A YAML file's comments, each on its own line."""
    return re.sub(r"^(?:.*?[ \t])??#+ (.*)$|^.*$", lambda line: line[1] or "", text, flags=re.MULTILINE)


def _template(text: str) -> str:
    """A template without its markup; what is between two tags is no code."""
    return _MARKUP.sub(lambda found: "|" + "\n" * found[0].count("\n"), re.sub(r"(?s)<code>.*?</code>", "|", text))


def _texts(source: str) -> str:
    """What :func:`_python` gives, each line with the texts that begin on it."""
    lines = _python(source).split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            text = " ".join(node.value.split())
            lines[node.lineno - 1] += f" / {text}"
    return "\n".join(lines)


def _python(source: str) -> str:
    """A module's docstrings and comments, each on its own lines."""
    lines = [""] * (source.count("\n") + 2)
    statements = (child for node in ast.walk(ast.parse(source)) for child in ast.iter_child_nodes(node))
    for text in (statement.value for statement in statements if isinstance(statement, ast.Expr)):
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            for number, line in enumerate(text.value.split("\n"), text.lineno):
                lines[number - 1] = line.strip()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = token.string.lstrip("#: ")
    return "\n".join(lines)


_PROSE = {
    ".html": _template,
    ".xml": _template,
    ".svg": _template,
    ".md": _markdown,
    ".py": _python,
    ".yml": _yaml,
    ".yaml": _yaml,
}


def _findings(name: str) -> list[tuple[int, str]]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return sorted(set(findings(text, Path(name).suffix, is_shown=name.endswith(".py") and name.startswith(SHOWN))))


def main() -> int:
    """Print every finding; 1 when there are any."""
    listed = subprocess.run(["git", "ls-files", *FILES], cwd=ROOT, check=True, capture_output=True, text=True)
    found = [
        f"{name}:{line}: {what}"
        for name in listed.stdout.split()
        if "/golden/" not in name
        for line, what in _findings(name)
    ]
    sys.stdout.write("".join(f"{line}\n" for line in found) or "language: no findings\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
