"""One sample of an operator as lines of Python that need torch and the plugin only. Needs torch.

They are written where they surely give the suite's result: for small, plain samples, whose elements are written
out, and results that are one tensor. Otherwise there are none, and the failure shows how to call its test instead.
"""

from __future__ import annotations

import re

import torch

from harness.differences import difference
from harness.operator_database import Operator
from harness.results import Result
from harness.samples import Arguments, Sample
from harness.tolerance import EQUAL, TOLERANCES

MAX_ELEMENTS = 32
"""More than these nobody wants to read in a line."""

PLAIN = (bool, int, str, type(None), torch.dtype, torch.layout, torch.memory_format)


class _Unwritable(Exception):
    """A value that has no short expression."""


def sample_lines(
    operator: Operator, sample: Sample, seen: Result | None, control: Result, device: torch.device
) -> tuple[str, ...] | None:
    """The lines that call an operator on the cpu and on the device and compare, or None.

    Args:
        operator: the operator.
        sample: what it is called with.
        seen: what the device gave; None where it raised.
        control: what the cpu gave.
        device: the device under test.

    """
    expected = control.made
    # What happens to the arguments takes more than a few lines to show.
    if seen is not None and difference(seen.made, expected, device) is None:
        return None
    path = _path(operator)
    known = isinstance(expected, torch.Tensor) and expected.dtype not in (torch.bool, torch.complex32)
    if path is None or not known or operator.on_host is not None or "attention" in operator.name:
        return None
    assert isinstance(expected, torch.Tensor)
    try:
        call = f"{path}({_arguments(sample.arguments)})"
    except _Unwritable:
        return None
    tolerance = TOLERANCES.get(expected.dtype, EQUAL)
    return (
        "import torch",
        f"def call(device): return {call}",
        f"expected, seen = call('cpu'), call('{device}')",
        f"assert str(seen.device) == '{device}', seen.device",
        f"torch.testing.assert_close(seen.cpu(), expected, rtol={tolerance.relative}, atol={tolerance.absolute}, "
        "equal_nan=True)",
    )


def _path(operator: Operator) -> str | None:
    """What the operator is called by in ``torch``, if it is that very function."""
    found: object = torch
    for name in operator.info.name.split("."):
        found = getattr(found, name, None)
    return f"torch.{operator.info.name}" if found is not None and found is operator.info.op else None


def _arguments(arguments: Arguments) -> str:
    tensors = arguments.tensors()
    memory = {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.layout is torch.strided}
    if sum(tensor.numel() for tensor in tensors) > MAX_ELEMENTS or len(memory) != len(tensors) or not tensors:
        raise _Unwritable
    named = [f"{name}={_value(value)}" for name, value in arguments.named.items()]
    return ", ".join([*(_value(value) for value in arguments.positional), *named])


def _value(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, float):
        return _finite(repr(value))
    if isinstance(value, PLAIN) and value != "cpu":
        return str(value) if type(value).__module__ == "torch" else repr(value)
    if type(value) in (list, tuple):
        assert isinstance(value, (list, tuple))
        inside = ", ".join(_value(item) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    raise _Unwritable


def _tensor(tensor: torch.Tensor) -> str:
    whole = tensor.layout is torch.strided and tensor.is_contiguous() and tensor.storage_offset() == 0
    plain = not (tensor.is_nested or tensor.is_complex() or tensor.is_neg() or tensor.is_quantized)
    # Of a tensor without elements the list does not tell the shape.
    if not (whole and plain and tensor.numel() and type(tensor) is torch.Tensor):
        raise _Unwritable
    if tensor.untyped_storage().nbytes() != tensor.numel() * tensor.itemsize:
        raise _Unwritable
    return f"torch.tensor({_finite(repr(tensor.tolist()))}, dtype={tensor.dtype}, device=device)"


def _finite(numbers: str) -> str:
    return re.sub(r"\b(inf|nan)\b", r"torch.\1", numbers)
