"""The files of the suite `upstream`, which lie in a checkout of PyTorch and not beside the other suites."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ootci.model.device import UPSTREAM
from ootci.model.outcome import file_of


def narrowed(suite: str, tests: Iterable[str] | None, left_out: Collection[str] = ()) -> Sequence[str]:
    """Options with which only the files are imported that are needed.

    Args:
        suite: other suites need no such option.
        tests: those that are to be run; None for the whole suite.
        left_out: files that the whole suite is collected without.

    """
    if suite != UPSTREAM:
        return ()
    if tests is not None:
        return (f"--upstream-files={','.join(dict.fromkeys(file_of(test, UPSTREAM) for test in tests))}",)
    return (f"--upstream-skip={','.join(sorted(left_out))}",) if left_out else ()
