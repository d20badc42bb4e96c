"""Defects of operands on different devices."""

from __future__ import annotations

from typing import Any

import torch

from sabotage import broken
from sabotage.kernels import replace, there, wrap


@broken("mixed-addition", "an addition that takes operands on the cpu", "mixed_devices")
def _mixed_addition() -> None:
    replace("add.Tensor", lambda a, b, alpha=1: there(a.cpu() + b.cpu() * alpha))


@broken("scalars-lead-to-the-cpu", "results that follow a number to the cpu", "mixed_devices")
def _scalars() -> None:
    for name in ("floor_divide", "reciprocal", "pow.Scalar", "rsub.Scalar", "add.Tensor", "mul.Tensor", "where.self"):
        wrap(name, lambda whole, *arguments, **named: whole(*arguments, **named).cpu())


@broken("strict-indices", "indexing that refuses indices on the cpu", "mixed_devices")
def _strict_indices() -> None:
    def index(whole: Any, tensor: Any, indices: Any) -> Any:
        if any(isinstance(one, torch.Tensor) and one.device != tensor.device for one in indices):
            raise RuntimeError("indices should be on the same device as the indexed tensor")
        return whole(tensor, indices)

    wrap("index.Tensor", index)
