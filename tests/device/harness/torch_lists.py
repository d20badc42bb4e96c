"""PyTorch's own lists of what there is to test, where this torch has them. Needs torch, numpy and expecttest.

They are part of the wheel (torch/testing/_internal) but no public interface: a name may be gone in the next version.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Sequence
from typing import Any, Protocol

import pytest
import torch


class Named(Protocol):
    """A test case."""

    @property
    def id(self) -> str:
        """The test's parameter."""


def torch_list(module: str, name: str) -> tuple[Any, ...]:
    """One of torch's lists; empty where this torch has no list of that name.

    Raises:
        ImportError: a package that torch's own tests need is missing.

    """
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            return ()
        last = traceback.extract_tb(error.__traceback__)[-1]
        # Without what was raised before: pytest would read those files of torch whole, which takes seconds each time.
        raise ImportError(
            f"the suite ops needs {module}, which cannot be imported: {error} ({last.filename}, line {last.lineno})\n"
            "  where: the Python of the device\n"
            "  what to do: install numpy and expecttest beside torch"
        ) from None
    return tuple(getattr(found, name, ()))


def cases(found: Sequence[Named], what: str) -> list[Any]:
    """The test cases as pytest's parameters; without any, one that is skipped with the reason.

    Args:
        found: the test cases.
        what: what torch's list is of.

    """
    if found:
        return [pytest.param(case, id=case.id) for case in found]
    reason = f"torch {torch.__version__} has no list of {what} where torch 2.13 has it"
    return [pytest.param(None, id="none", marks=pytest.mark.skip(reason=reason))]
