"""Dear preparations, made once although several pytest workers need them, and not tried again when they fail."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from filelock import FileLock

Prepared = TypeVar("Prepared")


def prepare_once(folder: Path, name: str, make: Callable[[], Prepared]) -> Prepared:
    """Make what is needed, or wait until another process has made it.

    Args:
        folder: one folder for all processes of a test run, and of no other run.
        name: tells this preparation from others in the folder.
        make: makes it; what it gives has to survive pickling. An exception of it fails every test that asks.

    """
    begun, made, failed = (folder / f"{name}.{state}" for state in ("begun", "made", "failed"))
    with FileLock(folder / f"{name}.lock"):
        if made.exists():
            # Written by this function, in this run.
            found: Prepared = pickle.loads(made.read_bytes())  # noqa: S301
            return found
        if failed.exists():
            reason = failed.read_text(encoding="utf-8")
            pytest.fail(f"{name} could not be made by another worker: {reason}", pytrace=False)
        if begun.exists():
            pytest.fail(f"{name} could not be made: another worker died of it", pytrace=False)
        begun.touch()
        try:
            prepared = make()
        except BaseException as error:
            failed.write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
            raise
        made.write_bytes(pickle.dumps(prepared))
        return prepared
