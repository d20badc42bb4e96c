"""Python environments: creating virtual ones, running pip in them, and reading what is installed."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from ootci.adapters.process import ask, exit_text
from ootci.errors import ToolMissing

_SECRET_PREFIXES = ("ACTIONS_", "GITHUB_", "INPUT_", "OOTCI_")
_PYTEST_PREFIX = "PYTEST_"
"""Options and plugins of the user's pytest: a plugin that the device's environment lacks would end every suite."""
_OURS = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "GH_TOKEN"}


def base_python(version: str | None = None) -> str:
    """The interpreter that device environments are made from: the one that the tool's own environment came from.

    Args:
        version: such as ``3.12``, where the device file names one; it is found on PATH where the tool's is another.

    Raises:
        ToolMissing: there is no Python of that version.

    """
    if version is None or version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return getattr(sys, "_base_executable", None) or sys.executable
    found = shutil.which(f"python{version}")
    if found is None:
        raise ToolMissing(
            f"Python {version} is not on this machine",
            where="`python` in the device file",
            fix=f"install it, with `venv`, so that `python{version}` is on PATH; or run ootci with that Python",
        )
    return found


def interpreter(environment: Path) -> Path:
    """A virtual environment's interpreter."""
    return environment / "bin" / "python"


def python_version(environment: Path) -> str | None:
    """The version of a virtual environment's Python; None where there is none (Python's documentation, "venv")."""
    try:
        settings = (environment / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^version *= *(\S+)", settings, re.MULTILINE)
    return found[1] if found else None


def create_command(environment: Path, python: str | None = None) -> list[str]:
    """The command that makes a virtual environment, from the interpreter that is given or else the tool's own."""
    return [python or base_python(), "-m", "venv", str(environment)]


def pip_command(environment: Path, command: str, *arguments: str) -> list[str]:
    """A pip command in a virtual environment; never asks, never looks for a newer pip.

    What is installed is not compiled to bytecode: Python does so for what is imported, which is half of torch.
    """
    base = [str(interpreter(environment)), "-m", "pip", "--disable-pip-version-check", "--no-input", command]
    return [*base, *(["--no-compile"] if command == "install" else []), *arguments]


def device_environment(environment: Path | None, extra: Mapping[str, str]) -> dict[str, str]:
    """Environment variables of a process that runs vendor code: the host's without secrets and without our Python's.

    The environment's programs come first on PATH, and the variables of the device file, ``extra``, win; in their values
    ``{venv}`` stands for the environment's folder.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _OURS and not name.startswith((*_SECRET_PREFIXES, _PYTEST_PREFIX))
    }
    path = kept.get("PATH", os.defpath)
    if environment is not None:
        # An environment that was given, such as a system's Python, need not be a virtual one.
        if (environment / "pyvenv.cfg").exists():
            kept["VIRTUAL_ENV"] = str(environment)
        kept["PATH"] = f"{environment / 'bin'}{os.pathsep}{path}"
        extra = {name: value.replace("{venv}", str(environment)) for name, value in extra.items()}
    return {**kept, "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1", **extra}


def as_it_is() -> dict[str, str]:
    """Variables that make a process see an environment as its user's shell does, and write nothing there."""
    variables = {"PYTHONNOUSERSITE": "", "PYTHONDONTWRITEBYTECODE": "1"}
    if "PYTHONPATH" in os.environ:
        variables["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return variables


def installed_version(environment: Path, distribution: str) -> str | None:
    """The installed version of a distribution, read from its metadata without running anything; None if absent."""
    wanted = canonicalize_name(distribution)
    return next((version for name, version, _ in _installed(environment) if name == wanted), None)


def _installed(environment: Path) -> Iterator[tuple[str, str, Path]]:
    """Name, version and metadata folder of each distribution."""
    for info in environment.glob("lib/python3.*/site-packages/*.dist-info"):
        name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        yield canonicalize_name(name), version, info


def overwritten_files(environment: Path, distribution: str) -> dict[str, tuple[str, ...]]:
    """Files of a distribution that others installed over, by the name of the other; pip lets them do so.

    Read from each one's record of installed files (PyPA specification, "Recording installed projects").
    """
    files = {}
    for name, _, info in _installed(environment):
        try:
            rows = list(csv.reader((info / "RECORD").read_text(encoding="utf-8").splitlines()))
        except (OSError, UnicodeDecodeError, csv.Error):
            continue
        files[name] = {os.path.normpath(row[0]) for row in rows if row and not row[0].endswith(".pyc")}
    own = files.pop(canonicalize_name(distribution), set())
    return {name: tuple(sorted(others & own)) for name, others in sorted(files.items()) if others & own}


def torch_git_version(environment: Path) -> str | None:
    """``torch.version.git_version`` of the installed torch, read as text, because importing torch may fail."""
    for path in environment.glob("lib/python3.*/site-packages/torch/version.py"):
        with contextlib.suppress(OSError):
            return stated_git_version(path.read_bytes())
    return None


def stated_git_version(source: bytes) -> str | None:
    """``git_version`` of ``torch/version.py``, read without running it; None where it has none."""
    found = re.search(rb"^git_version *(?::[^=\n]*)?= *(['\"])([0-9A-Za-z]+)\1 *$", source, re.MULTILINE)
    return found[2].decode() if found else None


_QUESTION = """
import importlib.metadata, importlib.util, json, platform, sys
versions = {}
for name in sys.argv[1:]:
    try:
        versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        versions[name] = None
torch = importlib.util.find_spec("torch")
found = {"python": platform.python_version(), "versions": versions, "torch": torch and torch.origin}
print("\\n" + json.dumps(found))
"""
QUESTION_SECONDS = 120.0


class InterpreterProblem(Exception):
    """The Python cannot be asked. Its text is a reason for people."""


@dataclass(frozen=True)
class Installed:
    """The distributions in a Python that were requested, None for absent ones, and its torch's commit, read as text."""

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
