"""How what an operator gave differs from what the cpu gave, in a line. Needs torch."""

from __future__ import annotations

import torch
from torch.utils._pytree import tree_flatten, tree_leaves

from harness.elements import elements_differ
from harness.yardstick import NO_YARDSTICK, Yardstick


def difference(
    actual: object,
    expected: object,
    device: torch.device | None,
    *,
    values: bool = True,
    yardstick: Yardstick = NO_YARDSTICK,
) -> str | None:
    """How something made of tensors and numbers differs from the cpu's, or None.

    Args:
        actual: the device's.
        expected: the cpu's.
        device: where tensors have to be; None for anywhere.
        values: whether elements are compared, or only what they are stored in.
        yardstick: gives the exact values, and how far from them elements may be.

    """
    seen, form = tree_flatten(actual)
    wanted, wanted_form = tree_flatten(expected)
    if len(seen) != len(wanted):
        return f"expected {len(wanted)} results ({wanted_form}), got {len(seen)} ({form})"
    for index, (one, other) in enumerate(zip(seen, wanted, strict=True)):
        told = _kept_in(one, other, device) or (
            _elements(one, other, index, len(wanted), yardstick) if values else None
        )
        if told is not None:
            return told if len(seen) == 1 else f"result {index + 1} of {len(seen)}: {told}"
    return None


def _kept_in(actual: object, expected: object, device: torch.device | None) -> str | None:
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        if type(actual) is not type(expected):
            return f"expected {type(expected).__name__}, got {type(actual).__name__}"
        return None
    if actual.dtype != expected.dtype:
        return f"expected dtype {expected.dtype}, got {actual.dtype}"
    if actual.shape != expected.shape:
        return f"expected shape {tuple(expected.shape)}, got {tuple(actual.shape)}"
    if actual.layout != expected.layout:
        return f"expected layout {expected.layout}, got {actual.layout}"
    if device is not None and actual.device != device:
        return f"expected a result on {device}, got one on {actual.device}"
    return None


def _elements(actual: object, expected: object, index: int, count: int, yardstick: Yardstick) -> str | None:
    seen, cpu = _as_tensor(actual), _as_tensor(expected)
    if seen is None or cpu is None:
        return None

    def exact() -> torch.Tensor | None:
        leaves = tree_leaves(yardstick.exact())
        return _as_tensor(leaves[index]) if len(leaves) == count else None

    return elements_differ(seen, cpu, exact, own=yardstick.own, rounds=yardstick.rounds, as_one=yardstick.as_one)


def _as_tensor(value: object) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    return torch.tensor(value) if isinstance(value, (bool, int, float, complex)) else None
