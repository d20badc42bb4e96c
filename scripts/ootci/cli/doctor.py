"""``ootci doctor``: missing programs on this machine, and how to install them."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from dataclasses import dataclass

import click
from packaging.version import Version

from ootci.adapters import torch_index
from ootci.adapters.process import version_line
from ootci.adapters.torch_index import IndexProblem
from ootci.cli.options import folder_options, format_option
from ootci.cli.show import show_table
from ootci.errors import EXIT_FINE, EXIT_INFRASTRUCTURE
from ootci.flows.context import Folders
from ootci.resources import suites_folder

MIN_FREE_GIB = 5.0
GIB = 1 << 30


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        state: ``found``, ``missing``, or ``optional`` when it is missing and nothing depends on it.
        detail: a version, or how to get it.

    """

    name: str
    state: str
    detail: str


def _program(name: str, minimum: str, how: str, *, needed: bool = True) -> Finding:
    line = version_line(name)
    if line is None:
        return Finding(name, "missing" if needed else "optional", how)
    found = re.search(r"\d+(?:\.\d+)+", line)
    if found and Version(found[0]) < Version(minimum):
        return Finding(name, "missing", f"{found[0]} is older than {minimum}; {how}")
    return Finding(name, "found", found[0] if found else line)


def _debian(package: str) -> str:
    return f"install it, on Debian or Ubuntu: apt-get install {package}"


def _python() -> Finding:
    version = platform.python_version()
    return Finding("python", "found" if sys.version_info >= (3, 10) else "missing", version)


def _disk(folders: Folders) -> Finding:
    folder = next(path for path in (folders.work, *folders.work.parents) if path.exists())
    free = shutil.disk_usage(folder).free / GIB
    if free < MIN_FREE_GIB:
        return Finding("disk space", "missing", f"{free:.1f} GiB free, a device environment needs {MIN_FREE_GIB:.0f}")
    return Finding("disk space", "found", f"{free:.0f} GiB free")


def _index() -> Finding:
    url = torch_index.nightly_index("cpu")
    try:
        newest = torch_index.nightlies(url)[-1].version
    except IndexProblem as problem:
        return Finding(
            "nightly index", "optional", f"{problem}; the newest release is tested instead, and the dashboard shows it"
        )
    return Finding("nightly index", "found", f"newest torch {newest}")


def _findings(folders: Folders) -> list[Finding]:
    return [
        _python(),
        _program("git", "2.28", _debian("git")),
        _program("c++", "11", _debian("g++")),
        _program("cmake", "3.18", _debian("cmake")),
        _program("ninja", "1.10", _debian("ninja-build")),
        _program("make", "4", _debian("make")),
        _program("ccache", "4", f"makes repeated builds faster; {_debian('ccache')}", needed=False),
        _disk(folders),
        Finding("suites", "found", str(suites_folder())),
        _index(),
    ]


@click.command(short_help="List what this machine lacks.")
@format_option
@folder_options("work")
def doctor(output_format: str, folders: Folders) -> None:
    """List what this machine lacks and how to get it. Exit code 3 if something required is missing."""
    findings = _findings(folders)
    rows = [(item.name, item.state, item.detail) for item in findings]
    missing = sum(item.state == "missing" for item in findings)
    end = f"missing, although needed: {missing}" if missing else "everything needed is here"
    show_table(("what", "state", "detail"), rows, output_format, summary=end)
    sys.exit(EXIT_INFRASTRUCTURE if missing else EXIT_FINE)
