"""Defects of exchanging tensors with other libraries."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.utils.dlpack

from sabotage import broken


def _everywhere(name: str, function: Any) -> None:
    """Replace a function of DLPack also where tests have imported it by name."""
    setattr(torch.utils.dlpack, name, function)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").endswith("test_interop"):
            setattr(module, name, function)


@broken("exchange-copies", "DLPack that copies", "interop")
def _copies() -> None:
    original = torch.utils.dlpack.to_dlpack
    _everywhere("to_dlpack", lambda tensor: original(tensor.clone()))


@broken("exchange-forgets-strides", "DLPack that forgets strides", "interop")
def _strides() -> None:
    original = torch.utils.dlpack.to_dlpack
    _everywhere("to_dlpack", lambda tensor: original(tensor.contiguous()))


@broken("gives-gradients-away", "DLPack that gives away what needs a gradient", "interop")
def _gradients() -> None:
    original = torch.Tensor.__dlpack__
    torch.Tensor.__dlpack__ = lambda self, *a, **n: original(self.detach(), *a, **n)  # type: ignore[method-assign,assignment]


@broken("arrays-arrive-in-order", "arrays that lose their order on the way", "interop")
def _order() -> None:
    original = torch.from_numpy
    torch.from_numpy = lambda array: original(array.ravel(order="K").reshape(array.shape).copy())  # type: ignore[assignment]


@broken("numpy-numbers-are-refused", "operators that refuse numbers of numpy", "interop")
def _refused() -> None:
    import numpy as np

    for name in ("__mul__", "__add__"):
        original = getattr(torch.Tensor, name)

        def operator(self: Any, other: Any, original: Any = original) -> Any:
            if isinstance(other, np.generic):
                raise TypeError(f"unsupported operand type: {type(other).__name__}")
            return original(self, other)

        setattr(torch.Tensor, name, operator)
