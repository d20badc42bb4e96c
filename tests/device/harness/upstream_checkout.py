"""A checkout of PyTorch: its device-generic test files, and whether its commit is that of the installed torch."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.options import usage_error

OPTION = "--upstream-tests"
COMMIT_OPTION = "--upstream-commit"
ANY = "any"
TIMEOUT_SECONDS = 30.0
MARK = b"instantiate_device_type_tests"
"""The function with which a file makes its tests for each device, which it may call by another name."""
PER_OPERATOR = b"@ops("
PER_OPERATOR_TESTS = 1000
"""About how many tests a method with that decorator makes: one for each operator and dtype."""


def check_checkout(tests: Path, wanted: str) -> None:
    """Make sure that the tests belong to this torch: another commit's tests do not test it.

    Args:
        tests: PyTorch's folder ``test``.
        wanted: the commit, or "any".

    Raises:
        pytest.UsageError: the folder is not there, or its commit is another one or not known.

    """
    where = f"the option {OPTION}={tests}"
    if not tests.is_dir():
        raise usage_error("there is no such folder", where, "name the folder `test` of a checkout of PyTorch")
    if wanted == ANY:
        return
    found = _commit(tests)
    if found != wanted:
        raise usage_error(
            f"the checkout is at commit {found or 'unknown (not in git)'}, the installed torch was built from {wanted}",
            where,
            f"check out that commit, or say {COMMIT_OPTION}={ANY} to run these files with another torch",
        )


def is_device_generic(file: Path) -> bool:
    """Whether a file of tests makes some of them for each device."""
    return MARK in file.read_bytes()


def device_generic_files(tests: Path) -> tuple[str, ...]:
    """The files of tests that are made for each device, relative to PyTorch's folder ``test``, in order."""
    found = (path for path in sorted(tests.rglob("test_*.py")) if path.is_file() and is_device_generic(path))
    return tuple(path.relative_to(tests).as_posix() for path in found)


def likely_tests(file: Path) -> int:
    """About how many tests a file makes, by its text; a missing file counts as one."""
    text = file.read_bytes() if file.is_file() else b""
    return 1 + text.count(b"def test_") + PER_OPERATOR_TESTS * text.count(PER_OPERATOR)


def _commit(folder: Path) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
