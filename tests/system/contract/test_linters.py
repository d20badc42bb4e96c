"""What `make lint` checks holds; it runs beside the other tests, since it takes a minute of one CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_command

pytestmark = pytest.mark.long


def test_the_linters_and_type_checkers_find_nothing(root: Path) -> None:
    linted = run_command(["make", "lint"], root)
    assert linted.code == 0, linted.out + linted.err
