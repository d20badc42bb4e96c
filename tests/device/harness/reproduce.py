"""The last lines of a failure: how to reproduce it, as a command and as lines of Python."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import pytest

ARGUMENTS = pytest.StashKey[tuple[str, ...]]()
"""What pytest is given to run a test whose id it does not find by itself."""

PREFIX = "Reproduce (from the suites folder): "
PYTHON_PREFIX = "In Python (from the suites folder):"


def arguments_of(item: pytest.Item) -> tuple[str, ...]:
    """What pytest is given to run one test, besides the device."""
    return item.stash.get(ARGUMENTS, (item.nodeid,))


def command(arguments: Sequence[str], device: str) -> str:
    """The command that runs one test again. Ids are relative to the suites folder, so it is to be run there."""
    return PREFIX + shlex.join(["python", "-m", "pytest", *arguments, "--device", device])


def python(lines: Sequence[str]) -> str:
    """Lines of Python, indented below what they are."""
    return "\n".join([PYTHON_PREFIX, *(f"    {line}" for line in lines)])
