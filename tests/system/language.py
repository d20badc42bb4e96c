"""The language lint: finds wording that readers have to decode, by the patterns of language.toml.

It reads Markdown, the templates of pages and feeds, the docstrings, comments and texts of the tool and of the device
suites, and the comments of YAML files. The schemas' descriptions are docstrings. Code, between backticks or fenced, is
not prose.

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


def findings(text: str, suffix: str) -> Iterator[tuple[int, str]]:
    """The 1-based line of each wording that a rule rejects, with the wording and what to write instead."""
    prose = _without_code(_PROSE[suffix](text), _CODE)
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


def _python(source: str) -> str:
    """A module's docstrings and comments, each on its own lines, and other texts on the lines on which they begin."""
    lines = [""] * (source.count("\n") + 2)
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if node in docstrings:
            for number, line in enumerate(node.value.split("\n"), node.lineno):
                lines[number - 1] = line.strip()
        elif " " in node.value:
            lines[node.lineno - 1] += f" / {' '.join(node.value.split())}"
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] += token.string.lstrip("#: ")
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
    return sorted(set(findings(text, Path(name).suffix)))


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
