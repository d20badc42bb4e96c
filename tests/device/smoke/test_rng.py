"""Random numbers."""

from __future__ import annotations

import pytest
import torch

from harness.compare import assert_on

pytestmark = pytest.mark.capability("rng")


def test_seed_makes_numbers_repeat(device: torch.device) -> None:
    """After the same seed come the same numbers, after them come others, and they are on the device."""
    torch.manual_seed(7)
    first = torch.randn(100, device=device)
    next_ones = torch.randn(100, device=device)
    torch.manual_seed(7)
    again = torch.randn(100, device=device)
    assert_on(first, device)
    assert torch.equal(first.cpu(), again.cpu())
    assert not torch.equal(first.cpu(), next_ones.cpu())


def test_numbers_are_distributed_as_asked(device: torch.device) -> None:
    """Normal numbers have about the right mean and deviation, uniform ones stay within their bounds."""
    torch.manual_seed(0)
    normal = torch.randn(20_000, device=device).cpu()
    # Six standard errors of 20,000 numbers: a right generator does not get there by chance.
    assert abs(normal.mean().item()) < 0.045
    assert abs(normal.std().item() - 1) < 0.035
    uniform = torch.rand(20_000, device=device).cpu()
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean().item() - 0.5) < 0.015


@pytest.mark.device_only("its generator is the cpu's")
def test_cpu_generator_is_left_alone(device: torch.device) -> None:
    """Random numbers on the device do not advance the cpu's generator."""
    torch.manual_seed(3)
    before = torch.get_rng_state()
    torch.randn(10, device=device)
    torch.empty(10, device=device).uniform_()
    torch.nn.functional.dropout(torch.ones(10, device=device), p=0.5)
    assert torch.equal(torch.get_rng_state(), before)
