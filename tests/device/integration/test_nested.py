"""Nested tensors: batches of sequences of different lengths."""

from __future__ import annotations

import pytest
import torch

from harness.compare import assert_matches, assert_on, numbers, put

pytestmark = [
    pytest.mark.capability("nested"),
    # torch itself calls nested tensors a prototype.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

LENGTHS = (3, 1, 4)


def _parts(device: torch.device) -> list[torch.Tensor]:
    return [put(numbers(length, 5, seed=length), device) for length in LENGTHS]


def test_jagged_tensor_is_made(device: torch.device) -> None:
    """A jagged tensor is made of parts on the device, gives them back and can be padded."""
    nested = torch.nested.nested_tensor(_parts(device), layout=torch.jagged)
    assert nested.device == device
    assert_on(nested.values(), device)
    for seen, expected in zip(nested.unbind(), _parts(torch.device("cpu")), strict=True):
        assert_matches(seen, expected, device)
    padded = torch.nested.to_padded_tensor(nested, -1.0)
    assert padded.shape == (3, 4, 5)
    assert padded.cpu()[1, 1:].eq(-1).all()


def test_jagged_arithmetic(device: torch.device) -> None:
    """Pointwise operators and a linear layer work on a jagged tensor part by part."""
    nested = torch.nested.nested_tensor(_parts(device), layout=torch.jagged)
    weight = numbers(2, 5, seed=9)
    result = torch.nn.functional.linear(nested.sin() * 2, put(weight, device))
    for seen, part in zip(result.unbind(), _parts(torch.device("cpu")), strict=True):
        assert_matches(seen, (part.sin() * 2) @ weight.t(), device)


def test_jagged_moves_between_devices(device: torch.device) -> None:
    """A jagged tensor of the cpu is moved to the device and back."""
    nested = torch.nested.nested_tensor(_parts(torch.device("cpu")), layout=torch.jagged)
    there = nested.to(device)
    for seen, expected in zip(there.unbind(), nested.unbind(), strict=True):
        assert_matches(seen, expected, device)
    for seen, expected in zip(there.cpu().unbind(), nested.unbind(), strict=True):
        assert torch.equal(seen, expected)


def test_gradient_through_jagged(device: torch.device) -> None:
    """Gradients flow through a jagged tensor to its parts."""
    parts = [part.requires_grad_() for part in _parts(device)]
    nested = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    (nested * nested).values().sum().backward()
    for part, values in zip(parts, _parts(torch.device("cpu")), strict=True):
        assert part.grad is not None
        assert_matches(part.grad, 2 * values, device)


def test_strided_layout(device: torch.device) -> None:
    """A nested tensor of the older, strided layout is made, computed with, padded and copied as on the cpu."""
    here, there = (torch.nested.nested_tensor(_parts(where)) for where in (torch.device("cpu"), device))
    assert there.is_nested
    assert there.device == device
    for seen, expected in ((there, here), (there * 2 + there, here * 2 + here), (here.to(device), here)):
        for part, reference in zip(seen.unbind(), expected.unbind(), strict=True):
            assert_matches(part, reference, device)
    assert_matches(there.to_padded_tensor(0.5), here.to_padded_tensor(0.5), device)
    for part, reference in zip(there.cpu().unbind(), here.unbind(), strict=True):
        assert torch.equal(part, reference)
