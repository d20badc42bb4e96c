"""Memory of the device: what is taken is given back, counted and limited."""

from __future__ import annotations

import gc

import pytest
import torch

from harness.compare import numbers, put
from harness.process import run_python

pytestmark = [pytest.mark.capability("memory"), pytest.mark.device_only("torch.accelerator leaves its memory out")]

MIB = 1024 * 1024


def _allocated(index: int | None = None) -> int:
    gc.collect()
    torch.accelerator.synchronize()
    return torch.accelerator.memory_allocated(index)


def test_allocated_bytes_follow_tensors(device: torch.device) -> None:
    """`memory_allocated` grows with a tensor by at least its size, and shrinks when it goes."""
    before = _allocated()
    tensor = torch.empty(4 * MIB, dtype=torch.uint8, device=device)
    grown = _allocated() - before
    assert 4 * MIB <= grown <= 6 * MIB, f"a tensor of 4 MiB took {grown} bytes"
    view = tensor[10:]
    del tensor
    assert _allocated() - before == grown, "a view keeps the memory alive"
    del view
    assert _allocated() == before


def test_training_leaks_nothing(device: torch.device) -> None:
    """After 100 training steps exactly as much memory is allocated as after the first ones."""
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    inputs = put(numbers(16, 32), device)

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    before = _allocated()
    for _ in range(100):
        step()
    assert _allocated() == before, "memory is lost with every step"


def test_failed_operators_leak_nothing(device: torch.device) -> None:
    """Operators that end in an error give back what they took."""
    left, right = torch.ones(64, 64, device=device), torch.ones(63, 64, device=device)
    before = _allocated()
    for _ in range(20):
        with pytest.raises(RuntimeError):
            left @ right
    assert _allocated() == before


def test_copies_leak_nothing(device: torch.device) -> None:
    """Copies back and forth, strided and with another dtype, give back what they took."""
    values = numbers(64, 64)

    def round_trip() -> None:
        there = values.t().to(device, torch.float64)
        there[::2].cpu()
        there.to(torch.float16).cpu()

    round_trip()
    before = _allocated()
    for _ in range(50):
        round_trip()
    assert _allocated() == before


def test_peak_is_remembered_and_reset(device: torch.device) -> None:
    """The peak stays after the memory is given back, until `reset_peak_memory_stats`."""
    before = _allocated()
    torch.accelerator.reset_peak_memory_stats()
    tensor = torch.empty(8 * MIB, dtype=torch.uint8, device=device)
    del tensor
    assert torch.accelerator.max_memory_allocated() >= before + 8 * MIB
    assert torch.accelerator.max_memory_reserved() >= torch.accelerator.max_memory_allocated()
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() < before + 8 * MIB


def test_cache_is_emptied(device: torch.device) -> None:
    """`empty_cache` gives unused memory back to the device and keeps what is in use."""
    kept = put(numbers(1000), device)
    tensor = torch.empty(64 * MIB, dtype=torch.uint8, device=device)
    del tensor
    torch.accelerator.synchronize()
    reserved = torch.accelerator.memory_reserved()
    assert reserved >= torch.accelerator.memory_allocated()
    torch.accelerator.empty_cache()
    after = torch.accelerator.memory_reserved()
    assert after <= reserved
    assert after < 64 * MIB + _allocated()
    assert torch.equal(kept.cpu(), numbers(1000))


def _empty_the_host_cache_of_a_fresh_process(device: torch.device) -> None:
    run_python(
        "import sys, torch; torch.ones(1, device=sys.argv[1]); torch.accelerator.empty_host_cache()", device.type
    )


@pytest.mark.core_defect("empty-host-cache-crashes")
@pytest.mark.skipif(not hasattr(torch.accelerator, "empty_host_cache"), reason="this torch has no empty_host_cache")
def test_host_cache_is_emptied(device: torch.device) -> None:
    """`empty_host_cache` keeps pinned memory that is in use, and a device that pins nothing survives it."""
    try:
        pinned = numbers(1000).pin_memory()
    except RuntimeError:
        _empty_the_host_cache_of_a_fresh_process(device)
        return
    torch.empty(MIB, dtype=torch.uint8, pin_memory=True)  # what is let go is kept for the next
    torch.accelerator.empty_host_cache()
    assert pinned.is_pinned()
    assert torch.equal(pinned, numbers(1000))


def test_statistics_agree(device: torch.device) -> None:
    """`memory_stats` tells the same as the functions for single numbers."""
    tensor = torch.empty(MIB, dtype=torch.uint8, device=device)
    stats = torch.accelerator.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.accelerator.memory_allocated()
    assert stats["reserved_bytes.all.current"] == torch.accelerator.memory_reserved()
    assert stats["allocated_bytes.all.peak"] == torch.accelerator.max_memory_allocated()
    del tensor


@pytest.mark.needs_devices(2)
def test_each_card_counts_for_itself(device_name: str) -> None:
    """Memory of one card is not counted for another."""
    first, second = _allocated(0), _allocated(1)
    tensor = torch.empty(4 * MIB, dtype=torch.uint8, device=torch.device(device_name, 1))
    assert _allocated(0) == first
    assert _allocated(1) >= second + 4 * MIB
    del tensor
    assert _allocated(1) == second


@pytest.mark.skipif(not hasattr(torch.accelerator, "get_memory_info"), reason="this torch has no get_memory_info")
def test_free_memory_is_told(device: torch.device) -> None:
    """`get_memory_info` tells free and total bytes, and free bytes do not grow while memory is taken."""
    free, total = torch.accelerator.get_memory_info()
    assert 0 < free <= total
    tensor = torch.empty(64 * MIB, dtype=torch.uint8, device=device)
    torch.accelerator.synchronize()
    assert torch.accelerator.get_memory_info()[0] <= free
    assert torch.accelerator.get_memory_info()[1] == total
    del tensor


def test_out_of_memory_is_an_exception(device: torch.device) -> None:
    """Asking for far more memory than there is raises OutOfMemoryError, and then the device works as before."""
    before = _allocated()
    for _ in range(3):
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(1 << 46, dtype=torch.uint8, device=device)
    assert _allocated() == before
    there = put(numbers(100), device)
    assert (there + there).cpu().sum().item() == pytest.approx(2 * numbers(100).sum().item(), rel=1e-4)


def test_memory_is_reused(device: torch.device) -> None:
    """Taking and giving back the same size a thousand times does not reserve more and more."""
    tensor = torch.empty(MIB, dtype=torch.uint8, device=device)
    del tensor
    torch.accelerator.synchronize()
    reserved = torch.accelerator.memory_reserved()
    for _ in range(1000):
        torch.empty(MIB, dtype=torch.uint8, device=device)
    torch.accelerator.synchronize()
    assert torch.accelerator.memory_reserved() <= reserved + 4 * MIB
