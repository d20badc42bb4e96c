"""What a call gave, and how it differs from what the cpu gave. Needs torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_leaves

from harness.compare import numbers, put
from harness.differences import difference

GRADIENT_FACTOR = 4.0
"""Widens the tolerance of gradients: they are sums of more terms, which may cancel each other."""


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes:
        made: results, whose device is checked.
        inputs: the arguments afterwards, since operators may write to them.
        factor: widens the tolerance.

    """

    made: object
    inputs: object = ()
    factor: float = 1.0

    @property
    def unusable(self) -> None:
        """What was computed can always be the reference."""

    @property
    def is_refusal(self) -> bool:
        """What was computed was not refused."""
        return False

    def differs(self, expected: Result, device: torch.device, *, values: bool = True) -> str | None:
        """How this differs from the cpu's, or None."""
        return difference(self.made, expected.made, device, values=values, factor=expected.factor) or difference(
            self.inputs, expected.inputs, None, values=values, factor=expected.factor
        )


def gradients(made: object, leaves: Sequence[torch.Tensor]) -> Result:
    """What was made, and its gradients with respect to tensors, in the same directions every time.

    Raises:
        ValueError: nothing depends on any of the tensors.

    """
    outputs = [leaf for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs or not leaves:
        raise ValueError("no result depends on a tensor that requires a gradient")
    directions = [
        put(numbers(*output.shape, dtype=output.dtype, seed=seed), output.device) for seed, output in enumerate(outputs)
    ]
    found = torch.autograd.grad(outputs, leaves, directions, allow_unused=True)
    return Result((found, [output.detach() for output in outputs]), factor=GRADIENT_FACTOR)
