"""The packages installed in an existing Python, asked of that Python without importing them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ootci.adapters.process import ask, exit_text
from ootci.adapters.python_env import device_environment, stated_git_version
from ootci.errors import ToolMissing

_QUESTION = """
import importlib.metadata, importlib.util, json, platform, sys
versions = {}
for name in sys.argv[1:]:
    try:
        versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        versions[name] = None
torch = importlib.util.find_spec("torch")
said = {"python": platform.python_version(), "versions": versions, "torch": torch and torch.origin}
print("\\n" + json.dumps(said))
"""
QUESTION_SECONDS = 120.0


class InterpreterProblem(Exception):
    """The Python cannot be asked. Its text is a reason for people."""


@dataclass(frozen=True)
class Installed:
    """The packages installed in a Python.

    Attributes:
        python_version: the Python's own version.
        versions: version of each distribution that was asked for, None of one that is absent.
        torch_git_version: ``torch.version.git_version``, read as text; None where there is none.

    """

    python_version: str
    versions: Mapping[str, str | None]
    torch_git_version: str | None


def program(python: str) -> Path:
    """The absolute path of an interpreter that is given as a path or as a name on PATH; links are not followed.

    Raises:
        ToolMissing: there is no such program.

    """
    found = shutil.which(python)
    if found is None:
        raise ToolMissing(
            f"`{python}` is no program",
            where="--python",
            fix="give the path of a Python, such as /opt/vendor/bin/python",
        )
    return Path(found).absolute()


def installed_beside(python: Path, distributions: Sequence[str], variables: Mapping[str, str]) -> Installed:
    """Ask a Python for its installed packages.

    Args:
        distributions: names of the distributions to ask for.
        variables: what is added to the environment of a process that runs vendor code.

    Raises:
        InterpreterProblem: it does not start, or does not answer.

    """
    env = device_environment(python.parent.parent, variables)
    answer = ask([str(python), "-c", _QUESTION, *distributions], env=env, timeout=QUESTION_SECONDS)
    if answer is None:
        raise InterpreterProblem(f"{python.name} cannot be started")
    if answer.exit_code != 0:
        words = answer.err.strip().splitlines()
        raise InterpreterProblem(
            f"{python.name} does not start: {exit_text(answer.exit_code)}{f', {words[-1][:300]}' if words else ''}"
        )
    try:
        # An environment may print something at its start; the answer is the last line.
        said = json.loads(answer.out.strip().splitlines()[-1])
        versions = {name: said["versions"].get(name) for name in distributions}
        place = Path(said["torch"]).with_name("version.py") if said["torch"] else None
        python_version = str(said["python"])
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        raise InterpreterProblem(f"{python.name} does not say what is installed beside it") from problem
    git_version = stated_git_version(place.read_bytes()) if place is not None and place.is_file() else None
    return Installed(python_version, versions, git_version)
