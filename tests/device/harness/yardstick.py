"""What a result is measured by: the exact one, and how far from it an operator may be. Needs torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.tolerance import Tolerance


def _none() -> None:
    return None


@dataclass(frozen=True)
class Yardstick:
    """How results of one call are measured.

    Attributes:
        exact: computes what the call gives in float64 or complex128 on the cpu, when first asked; None where it cannot.
        own: PyTorch's tolerance for the operator and the dtype that it is called with, if it has one.
        rounds: whether the operator rounds to few values, so that results are equal and not close.
        as_one: whether the cpu's largest error in a result counts for each element of it, as for gradients of
            attention: which terms cancel depends on the algorithm, and PyTorch's own tests compare largest errors, too
            (test/test_transformers.py).

    """

    exact: Callable[[], Any] = _none
    own: Tolerance | None = None
    rounds: bool = False
    as_one: bool = False

    def of(self, part: Callable[[Any], Any]) -> Yardstick:
        """The same for a part of the result."""

        def exact() -> Any:
            whole = self.exact()
            return None if whole is None else part(whole)

        return replace(self, exact=exact)


NO_YARDSTICK = Yardstick()
"""Without an exact result the cpu's is compared with, within the tolerance of its dtype."""
