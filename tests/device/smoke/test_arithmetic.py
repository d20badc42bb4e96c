"""A little arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
import torch

from harness.compare import assert_matches, numbers, put

pytestmark = pytest.mark.capability("ops")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "matmul"])
def test_binary_operator_equals_cpu(device: torch.device, name: str) -> None:
    """A binary operator on the device gives what the cpu gives, and leaves its operands alone.

    Asked by `torch/_torch_docs.py` (add, sub, mul, true_divide, matmul) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    compute: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = getattr(operator, name)
    left, right = numbers(16, 16, seed=1), numbers(16, 16, seed=2)
    left_there, right_there = put(left, device), put(right, device)
    assert_matches(compute(left_there, right_there), compute(left, right), device)
    assert_matches(left_there, left, device)
    assert_matches(right_there, right, device)


def test_reduction_and_scalar(device: torch.device) -> None:
    """A sum on the device equals the cpu's, and `item()` brings the right number to Python.

    Asked by `torch/_torch_docs.py` (sum), `torch/_tensor_docs.py` (item) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    values = numbers(100, dtype=torch.int64)
    assert_matches(put(values, device).sum(), values.sum(), device)
    assert put(values, device).sum().item() == values.sum().item()


def test_in_place_operator_changes_this_tensor(device: torch.device) -> None:
    """An in-place operator changes the tensor itself and keeps its memory.

    Asked by `torch/_tensor_docs.py` (add_, mul_) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    values = numbers(10)
    there = put(values, device)
    address = there.data_ptr()
    assert there.add_(1).mul_(2) is there
    assert there.data_ptr() == address
    assert_matches(there, (values + 1) * 2, device)


def test_broadcasting(device: torch.device) -> None:
    """Shapes are broadcast as on the cpu.

    Asked by https://docs.pytorch.org/docs/stable/notes/broadcasting.html and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    column, row = numbers(5, 1, seed=1), numbers(1, 7, seed=2)
    assert_matches(put(column, device) * put(row, device), column * row, device)


def test_comparison_and_selection(device: torch.device) -> None:
    """Comparing gives booleans on the device, and they select the right elements.

    Asked by `torch/_torch_docs.py` (gt, where) and https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    values = numbers(50)
    there = put(values, device)
    assert_matches(there > 0, values > 0, device)
    assert_matches(there[there > 0], values[values > 0], device)
    assert_matches(torch.where(there > 0, there, 0.0), torch.where(values > 0, values, 0.0), device)
