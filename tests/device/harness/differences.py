"""How what an operator gave differs from what the cpu gave, in a line. Needs torch."""

from __future__ import annotations

import torch
from torch.utils._pytree import tree_flatten

from harness.compare import TOLERANCES
from harness.first_difference import first_difference


def difference(
    actual: object, expected: object, device: torch.device | None, *, values: bool = True, factor: float = 1.0
) -> str | None:
    """How something made of tensors and numbers differs from the cpu's, or None.

    Args:
        actual: the device's.
        expected: the cpu's.
        device: where tensors have to be; None for anywhere.
        values: whether elements are compared, or only what they are stored in.
        factor: widens the tolerance.

    """
    seen, form = tree_flatten(actual)
    wanted, wanted_form = tree_flatten(expected)
    if len(seen) != len(wanted):
        return f"expected {len(wanted)} results ({wanted_form}), got {len(seen)} ({form})"
    for index, (one, other) in enumerate(zip(seen, wanted, strict=True)):
        told = _kept_in(one, other, device) or (_elements(one, other, factor) if values else None)
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


def _elements(actual: object, expected: object, factor: float) -> str | None:
    if isinstance(actual, torch.Tensor) and isinstance(expected, torch.Tensor):
        return _tensor_elements(actual.detach().cpu(), expected.detach(), factor)
    if isinstance(actual, (bool, int, float, complex)) and isinstance(expected, (bool, int, float, complex)):
        return _tensor_elements(torch.tensor(actual), torch.tensor(expected), factor)
    return None


def _tensor_elements(actual: torch.Tensor, expected: torch.Tensor, factor: float) -> str | None:
    if expected.dtype is torch.complex32:
        # torch can hardly compute with this dtype on the cpu, not even compare.
        actual, expected = torch.view_as_real(actual.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    if expected.dtype is torch.bool and expected.layout is torch.strided and not expected.is_nested:
        # A kernel that stores other bytes than 0 and 1 is wrong, though such booleans may compare as equal.
        actual, expected = actual.contiguous().view(torch.uint8), expected.contiguous().view(torch.uint8)
    # The quick way first: most results are equal bit by bit.
    if expected.layout is torch.strided and not expected.is_nested and torch.equal(actual, expected):
        return None
    relative, absolute = TOLERANCES.get(expected.dtype, (0.0, 0.0))
    rtol, atol = relative * factor, absolute * factor
    try:
        torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)
    except AssertionError as error:
        # Of one element torch tells all there is to tell.
        first = first_difference(actual, expected, rtol=rtol, atol=atol) if expected.numel() > 1 else None
        return " ".join(" ".join(filter(None, [first and f"{first}.", str(error)])).split())
    return None
