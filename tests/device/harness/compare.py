"""Comparing the device with the cpu. Needs torch."""

from __future__ import annotations

import functools

import torch

from harness.elements import elements_differ


def put(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy on the device that shares nothing with the original, not even in the control run."""
    return tensor.to(device, copy=True)


def backward(result: torch.Tensor) -> None:
    """The gradients of the sum of a result, without a sum: a device that has none keeps the tests of gradients."""
    result.backward(put(torch.ones(result.shape, dtype=result.dtype), result.device))


def assert_on(tensor: torch.Tensor, device: torch.device) -> None:
    """Assert that a tensor and its storage are on a device."""
    __tracebackhide__ = True
    assert tensor.device == device, f"expected a result on {device}, got one on {tensor.device}"
    storage = tensor.untyped_storage().device
    assert storage == device, f"the tensor is on {device}, its storage on {storage}"


OPAQUE = "tensors of the device are opaque: its memory has no addresses"


@functools.cache
def has_addresses(device: torch.device) -> bool:
    """Whether memory of the device has addresses.

    Where it has none, tensors are opaque: PyTorch asks them for a shape, not for strides
    (aten/src/ATen/OpaqueTensorImpl.h).
    """
    try:
        return torch.empty(1, device=device).untyped_storage().data_ptr() != 0
    except RuntimeError:
        return False


def assert_laid_out(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Assert that a tensor has the shape of another one, and, if it is not opaque, its strides and offset."""
    __tracebackhide__ = True
    assert actual.shape == expected.shape
    if has_addresses(actual.device):
        assert (actual.stride(), actual.storage_offset()) == (expected.stride(), expected.storage_offset())


def assert_matches(
    actual: torch.Tensor, expected: torch.Tensor, device: torch.device, *, exact: torch.Tensor | None = None
) -> None:
    """Assert that a result is on the device, with the dtype and shape of the cpu's, and has the right values.

    Args:
        actual: what the device computed.
        expected: what the cpu computed.
        device: where the result has to be.
        exact: what the cpu computed in float64 on the same inputs: for results of many steps, in which rounding grows.

    """
    __tracebackhide__ = True  # what fails is the line of the test
    assert_on(actual, device)
    assert expected.device.type == "cpu", "the reference is not on the cpu"
    seen, cpu = actual.detach().cpu(), expected.detach()
    assert seen.dtype == cpu.dtype, f"expected dtype {cpu.dtype}, got {seen.dtype}"
    assert seen.shape == cpu.shape, f"expected shape {tuple(cpu.shape)}, got {tuple(seen.shape)}"
    assert seen.layout == cpu.layout, f"expected layout {cpu.layout}, got {seen.layout}"
    told = elements_differ(seen, cpu, lambda: None if exact is None else exact.detach())
    kind = f"{str(actual.dtype).removeprefix('torch.')}[{', '.join(map(str, actual.shape))}]"
    assert told is None, f"{told}\nThe result is {kind} on {actual.device}."


def numbers(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """The same pseudo-random cpu tensor every time, made without touching the global generator.

    Args:
        shape: sizes.
        dtype: floating and complex numbers are standard normal, integers are within -10..10, booleans are even.
        seed: another tensor for another seed.

    """
    generator = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).to(torch.bool)
    if dtype.is_complex:
        parts = torch.randn(*shape, 2, generator=generator, dtype=torch.float64)
        return torch.view_as_complex(parts).to(dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    low = 0 if dtype is torch.uint8 else -10
    return torch.randint(low, 11, shape, generator=generator).to(dtype)
