"""Exchange with other libraries: DLPack and numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.dlpack import from_dlpack, to_dlpack  # type: ignore[attr-defined]

from harness.compare import assert_matches, assert_on, numbers, put

pytestmark = pytest.mark.capability("interop")

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.complex64)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_capsule_round_trip(device: torch.device, dtype: torch.dtype) -> None:
    """A tensor goes out as a DLPack capsule and comes back on the device, sharing its memory."""
    there = put(numbers(3, 4, dtype=dtype), device)
    back = from_dlpack(to_dlpack(there))
    assert_matches(back, numbers(3, 4, dtype=dtype), device)
    back.zero_()
    assert there.cpu().ne(0).sum().item() == 0, "the tensor that came back does not share its memory"


def test_capsule_keeps_layout(device: torch.device) -> None:
    """Strides and offsets survive, and the memory lives as long as the tensor that came back."""
    base = numbers(5, 6)
    there = put(base, device)
    back = from_dlpack(to_dlpack(there[1:, ::2].t()))
    del there
    assert back.stride() == base[1:, ::2].t().stride()
    assert_matches(back, base[1:, ::2].t(), device)


def test_protocol(device: torch.device) -> None:
    """`torch.from_dlpack(tensor)`, the protocol that other libraries follow, works and shares memory."""
    there = put(numbers(4), device)
    back = from_dlpack(there)
    back.zero_()
    assert_matches(there, torch.zeros(4), device)


@pytest.mark.core_defect("dlpack-device-type")
def test_protocol_tells_the_device(device: torch.device) -> None:
    """`__dlpack_device__` tells the kind of device and the card."""
    kind, index = put(numbers(4), device).__dlpack_device__()
    assert index == (device.index or 0)
    assert int(kind) == (1 if device.type == "cpu" else int(kind))


def test_gradient_is_refused(device: torch.device) -> None:
    """A tensor that needs a gradient is not given away."""
    with pytest.raises((RuntimeError, BufferError)):
        put(numbers(3), device).requires_grad_().__dlpack__()


def test_numpy_both_ways(device: torch.device) -> None:
    """Arrays of numpy arrive on the device, also read-only, strided and reversed ones, and come back as copies."""
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    for view in (array, array.T, array[::-1].copy(), np.asfortranarray(array)):
        there = torch.from_numpy(view).to(device)
        assert_on(there, device)
        assert np.array_equal(there.cpu().numpy(), view)
    assert_matches(torch.tensor(array, device=device), torch.from_numpy(array), device)
    assert_matches(torch.asarray(array, device=device), torch.from_numpy(array), device)
    scalar = torch.tensor(np.float64(2.5), device=device)
    assert scalar.dtype == torch.float64
    assert scalar.item() == 2.5


def test_numpy_scalars_mix(device: torch.device) -> None:
    """A numpy scalar is a number to a tensor on the device."""
    there = put(numbers(3), device)
    assert_matches(there * np.float32(2), numbers(3) * 2, device)
    assert_matches(there + np.int64(1), numbers(3) + 1, device)
