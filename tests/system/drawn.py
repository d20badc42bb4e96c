"""Which of many cases `make test` runs, and that the others are left to `make test-deep`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def deep(*values: object, name: str | None = None) -> Any:
    """The values of one case of ``pytest.mark.parametrize`` that only `make test-deep` runs."""
    return pytest.param(*values, id=name, marks=pytest.mark.deep)


def deep_but(drawn: Container[object], cases: Iterable[object]) -> list[Any]:
    """Cases of ``pytest.mark.parametrize``, each one value, of which `make test` runs the drawn ones only."""
    return [case if case in drawn else deep(case) for case in cases]
