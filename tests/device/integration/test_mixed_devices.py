"""Operands that live on different devices: refused, never moved in silence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.compare import assert_matches, numbers, put

pytestmark = pytest.mark.capability("mixed_devices")

device_only = pytest.mark.device_only("there is no other device to mix it with")

Binary = Callable[[torch.Tensor, torch.Tensor], object]

INDEX = torch.zeros(4, 4, dtype=torch.int64)


def _index_like(tensor: torch.Tensor) -> torch.Tensor:
    return INDEX.to(tensor.device)


# Each takes two 4 x 4 tensors, of which exactly one is on the device.
BINARY: dict[str, Binary] = {
    "add": lambda a, b: a + b,
    "add_in_place": lambda a, b: a.add_(b),
    "add_out": lambda a, b: torch.add(a, a, out=b),
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": lambda a, b: torch.maximum(a, b),
    "atan2": lambda a, b: torch.atan2(a, b),
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "where": lambda a, b: torch.where(a > 0, a, b),
    "lerp": lambda a, b: torch.lerp(a, b, 0.5),
    "addcmul": lambda a, b: torch.addcmul(a, a, b),
    "mm": lambda a, b: a @ b,
    "bmm": lambda a, b: torch.bmm(a.unsqueeze(0), b.unsqueeze(0)),
    "addmm": lambda a, b: torch.addmm(a, a, b),
    "linear": lambda a, b: torch.nn.functional.linear(a, b),
    "cat": lambda a, b: torch.cat([a, b]),
    "stack": lambda a, b: torch.stack([a, b]),
    "gather": lambda a, b: torch.gather(a, 0, _index_like(b)),
    "scatter": lambda a, b: torch.scatter(a, 0, _index_like(b), a),
    "index_select": lambda a, b: torch.index_select(a, 0, _index_like(b)[0]),
    "index_add": lambda a, b: torch.index_add(a, 0, INDEX[0].to(a.device), b),
    "isin": lambda a, b: torch.isin(a, b),
    "embedding": lambda a, b: torch.nn.functional.embedding(_index_like(a), b),
    "mse_loss": lambda a, b: torch.nn.functional.mse_loss(a, b),
    "batch_norm": lambda a, b: torch.nn.functional.batch_norm(a, b[0], b[1] ** 2 + 1),
    "allclose": lambda a, b: torch.allclose(a, b),
    "equal": lambda a, b: torch.equal(a, b),
}


@device_only
@pytest.mark.parametrize("device_first", [True, False], ids=["device_cpu", "cpu_device"])
@pytest.mark.parametrize("name", BINARY)
def test_cpu_and_device_operands_are_refused(device: torch.device, name: str, device_first: bool) -> None:
    """An operator with one operand on the cpu and one on the device raises an error and changes neither."""
    left, right = numbers(4, 4, seed=1), numbers(4, 4, seed=2)
    # An operator that is missing raises as well, so it has to work before its refusal means anything.
    BINARY[name](put(left, device), put(right, device))
    there, here = put(left, device), right.clone()
    operands = (there, here) if device_first else (here, there)
    with pytest.raises(RuntimeError):
        BINARY[name](*operands)
    assert torch.equal(here, right), "the cpu operand was changed"
    assert_matches(there, left, device)


@device_only
@pytest.mark.needs_devices(2)
@pytest.mark.parametrize("name", ["add", "add_in_place", "mm", "cat", "where", "linear"])
def test_operands_on_two_cards_are_refused(device: torch.device, device_name: str, name: str) -> None:
    """An operator with operands on two cards raises an error."""
    left, right = put(numbers(4, 4), device), put(numbers(4, 4), torch.device(device_name, 1))
    with pytest.raises(RuntimeError):
        BINARY[name](left, right)


@device_only
def test_module_on_the_device_refuses_cpu_input(device: torch.device) -> None:
    """A module on the device refuses an input that was forgotten on the cpu."""
    for module, shape in ((torch.nn.Linear(4, 4), (2, 4)), (torch.nn.Conv2d(3, 2, 3), (1, 3, 8, 8))):
        with pytest.raises(RuntimeError):
            module.to(device)(numbers(*shape))


def test_scalar_stays_with_the_tensor(device: torch.device) -> None:
    """Python numbers and zero-dimensional cpu tensors mix with a tensor on the device; the result stays there."""
    values = numbers(6, seed=3).abs() + 1
    there = put(values, device)
    scalar = torch.tensor(2.0)
    assert_matches(2 // there, 2 // values, device)
    assert_matches(2 / there, 2 / values, device)
    assert_matches(2**there, 2**values, device)
    assert_matches(2 - there, 2 - values, device)
    assert_matches(there + scalar, values + scalar, device)
    assert_matches(scalar * there, scalar * values, device)
    assert_matches(torch.where(there > 1.5, there, scalar), torch.where(values > 1.5, values, scalar), device)


def test_copy_crosses_devices(device: torch.device) -> None:
    """`copy_` is the operator that crosses devices, both ways, converting the dtype as it goes."""
    values = numbers(3, 4)
    there = torch.empty(3, 4, dtype=torch.float64, device=device)
    assert there.copy_(values) is there
    assert_matches(there, values.double(), device)
    back = torch.empty(3, 4)
    back.copy_(there)
    assert torch.equal(back, values)


def test_index_on_the_cpu_selects_on_the_device(device: torch.device) -> None:
    """A list, a slice and a cpu tensor of indices select from a tensor on the device; the result stays there.

    Indices on the device select nothing from a tensor on the cpu.
    """
    values = numbers(5, 3)
    there = put(values, device)
    assert_matches(there[[0, 3]], values[[0, 3]], device)
    assert_matches(there[torch.tensor([4, 1])], values[torch.tensor([4, 1])], device)
    assert_matches(there[1:, torch.tensor([0])], values[1:, torch.tensor([0])], device)
    if device.type != "cpu":
        with pytest.raises(RuntimeError):
            values[put(torch.tensor([4, 1]), device)]
