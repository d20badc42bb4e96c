"""Where two tensors first differ, in a line. Needs torch."""

from __future__ import annotations

import torch


def first_difference(actual: torch.Tensor, expected: torch.Tensor, *, rtol: float, atol: float) -> str | None:
    """The first element that is not what was expected, and how many are not; None where there is none to be found.

    Args:
        actual: what the device computed, on the cpu.
        expected: what the cpu computed.
        rtol: relative tolerance.
        atol: absolute tolerance.

    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return None
    if any(tensor.layout is not torch.strided or tensor.is_nested for tensor in (actual, expected)):
        return None
    try:
        wrong = ~torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
        count = int(wrong.sum())
        if count == 0:
            return None
        index = tuple(wrong.nonzero()[0].tolist())
    except RuntimeError:  # torch cannot compare some dtypes, such as those of 8 bits
        return None
    where = f" at index {index}" if index else ""
    of = f" ({count} of {wrong.numel()} elements differ)" if wrong.numel() > 1 else ""
    return f"expected {expected[index].item()}{where}, got {actual[index].item()}{of}"
