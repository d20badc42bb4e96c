"""Making tensors on the device and getting them back."""

from __future__ import annotations

import copy

import pytest
import torch

from harness.compare import assert_matches, assert_on, numbers, put

pytestmark = pytest.mark.capability("tensors")


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.int64, torch.bool], ids=lambda dtype: str(dtype).removeprefix("torch.")
)
def test_round_trip(device: torch.device, dtype: torch.dtype) -> None:
    """A tensor copied to the device and back has the same elements.

    Numbers, indices and masks: no device of PyTorch does without these; the other dtypes are up to the device.

    Asked by https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    values = numbers(4, 5, dtype=dtype)
    there = put(values, device)
    assert_on(there, device)
    assert there.dtype == dtype
    assert torch.equal(there.cpu(), values)


def test_copies_are_copies(device: torch.device) -> None:
    """A tensor on the device shares no memory with the one that it was copied from.

    Asked by `torch/_tensor_docs.py` (to, copy_) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    values = numbers(6)
    expected = values.clone()
    there = put(values, device)
    values.zero_()
    assert_matches(there, expected, device)
    back = there.to("cpu", copy=True)
    there.zero_()
    assert torch.equal(back, expected)


def test_non_contiguous_round_trip(device: torch.device) -> None:
    """A transposed, strided or expanded tensor arrives with the same elements in the same places.

    Asked by `torch/_tensor_docs.py` (to, cpu, expand) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    base = numbers(6, 8)
    for view in (base.t(), base[::2, 1::3], base[:, :1].expand(6, 5)):
        assert torch.equal(put(view, device).cpu(), view)
    there = put(base, device)
    assert torch.equal(there.t().cpu(), base.t())
    assert torch.equal(there[::2, 1::3].cpu(), base[::2, 1::3])


def test_factories(device: torch.device) -> None:
    """Factories make the right elements on the device.

    Asked by `torch/_torch_docs.py` (zeros, full, arange, tensor, empty, ones_like) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    assert_matches(torch.zeros(2, 3, device=device), torch.zeros(2, 3), device)
    assert_matches(torch.full((3,), 7, device=device), torch.full((3,), 7), device)
    assert_matches(torch.arange(0, 10, 3, device=device), torch.arange(0, 10, 3), device)
    assert_matches(torch.tensor([1.5, 2.5], device=device), torch.tensor([1.5, 2.5]), device)
    assert_on(torch.empty(2, device=device), device)
    assert_matches(torch.ones_like(torch.empty(2, device=device)), torch.ones(2), device)


def test_empty_tensor(device: torch.device) -> None:
    """A tensor without elements can be made and copied.

    Asked by `torch/_torch_docs.py` (zeros) and https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    there = torch.zeros(0, 3, device=device)
    assert there.cpu().shape == (0, 3)


def test_printing_tells_the_device(device: torch.device, device_name: str) -> None:
    """Printing a tensor shows its elements, and the device unless that is the cpu.

    Asked by `torch/_tensor_str.py` (_str_intern).
    """
    text = repr(torch.tensor([1.5, -2.0], device=device))
    assert "1.5" in text
    assert "-2.0" in text
    assert (f"device='{device}'" in text) is (device_name != "cpu")


def test_deepcopy_is_independent(device: torch.device) -> None:
    """`copy.deepcopy` makes an independent tensor on the same device.

    Asked by `torch/_tensor.py` (__deepcopy__).
    """
    there = put(numbers(5), device)
    twin = copy.deepcopy(there)
    there.zero_()
    assert_matches(twin, numbers(5), device)


@pytest.mark.device_only("numpy shares the memory of cpu tensors")
def test_numpy_is_refused(device: torch.device) -> None:
    """`.numpy()` of a tensor on the device is refused: its memory is not the host's.

    Asked by `torch/_tensor_docs.py` (numpy).
    """
    with pytest.raises(TypeError, match="convert"):
        torch.ones(2, device=device).numpy()
