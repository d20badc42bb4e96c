"""Finding the test that makes a later one crash, by running fewer and fewer of the tests before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

GROWTH = 8
"""A crash that comes late mostly comes soon after its cause, so the nearest tests are tried first."""


def find_culprit(
    before: Sequence[str], dies_after: Callable[[Sequence[str]], bool], runs: int
) -> tuple[str, ...] | None:
    """Look for what has to run before a test so that it crashes.

    Args:
        before: the tests that ran before it in its process, in order.
        dies_after: runs some of them and then the test in a fresh process, and says whether that crashes.
        runs: how many processes may be spent.

    Returns:
        The fewest tests that are known to bring the crash about, one if things are simple; None when nothing did.

    """
    size = min(1, len(before))
    harmless = 0
    while size and runs > 0:
        runs -= 1
        if dies_after(before[-size:]):
            break
        harmless, size = size, min(size * GROWTH, len(before)) if size < len(before) else 0
    else:
        return None
    proven = tuple(before[-size:])
    suspects = proven[: len(proven) - harmless]
    while len(suspects) > 1 and runs > 0:
        runs -= 1
        half = suspects[len(suspects) // 2 :]
        if dies_after(half):
            proven = half
        suspects = half if proven == half else suspects[: len(suspects) // 2]
    if proven != suspects and runs > 0 and dies_after(suspects):
        # The remaining suspects were found by elimination and not yet run; the crash may need two tests together.
        proven = suspects
    return proven
