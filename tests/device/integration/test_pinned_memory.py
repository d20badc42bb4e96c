"""Page-locked host memory, from which a device copies without waiting."""

from __future__ import annotations

import pytest
import torch

from harness.compare import assert_matches, numbers, put

pytestmark = [pytest.mark.capability("pinned_memory"), pytest.mark.device_only("it copies nothing to another device")]


def test_tensor_is_pinned() -> None:
    """`pin_memory()` gives a pinned copy on the cpu with the same elements; the original stays as it was."""
    values = numbers(10, 3)
    pinned = values.pin_memory()
    assert pinned.device.type == "cpu"
    assert pinned.is_pinned()
    assert not values.is_pinned()
    assert torch.equal(pinned, values)
    assert pinned.data_ptr() != values.data_ptr()
    assert pinned.pin_memory() is pinned


def test_factories_pin() -> None:
    """`pin_memory=True` of a factory gives a pinned tensor."""
    assert torch.empty(5, pin_memory=True).is_pinned()
    assert torch.ones(5, pin_memory=True).is_pinned()
    assert not torch.empty(5).is_pinned()


def test_parts_of_pinned_memory_are_pinned() -> None:
    """Slices, views and storages of a pinned tensor are pinned; copies of it are not."""
    pinned = numbers(10, 3).pin_memory()
    assert pinned[3:].is_pinned()
    assert pinned.t().is_pinned()
    assert pinned[7, 2:].is_pinned()
    assert pinned.untyped_storage().is_pinned()
    assert not pinned.clone().is_pinned()


@pytest.mark.core_defect("storage-pinned-for-cuda")
def test_storage_is_pinned() -> None:
    """`UntypedStorage.pin_memory` gives pinned memory with the same bytes."""
    storage = torch.arange(100, dtype=torch.uint8).untyped_storage()
    pinned = storage.pin_memory()
    assert pinned.is_pinned()
    assert not storage.is_pinned()
    assert pinned.tolist() == list(range(100))


def test_tensor_on_the_device_is_not_pinned(device: torch.device) -> None:
    """Memory of the device is not pinned host memory, and cannot be made so."""
    there = put(numbers(3), device)
    assert not there.is_pinned()
    with pytest.raises(RuntimeError):
        there.pin_memory()


def test_non_blocking_copy_to_the_device(device: torch.device) -> None:
    """A non-blocking copy from pinned memory arrives whole, though the memory is let go at once."""
    values = numbers(256, 1024)
    copies = [values.mul(factor).pin_memory().to(device, non_blocking=True) for factor in range(8)]
    for factor, there in enumerate(copies):
        assert_matches(there, values * factor, device)


def test_non_blocking_copy_from_the_device(device: torch.device) -> None:
    """A non-blocking copy into pinned memory is complete after the stream was waited for."""
    values = numbers(256, 1024)
    there = put(values, device)
    target = torch.zeros(256, 1024, pin_memory=True)
    target.copy_(there * 2, non_blocking=True)
    torch.accelerator.current_stream().synchronize()
    assert torch.equal(target, values * 2)


def test_many_pinned_blocks() -> None:
    """Pinned memory is given back: taking it again and again works, and blocks do not overlap."""
    for _ in range(200):
        torch.empty(1024 * 1024, dtype=torch.uint8, pin_memory=True)
    blocks = [torch.full((1000,), number, pin_memory=True) for number in range(20)]
    for number, block in enumerate(blocks):
        assert torch.equal(block, torch.full((1000,), number))
