"""Comparing the device with the cpu. Needs torch."""

from __future__ import annotations

import torch

from harness.first_difference import first_difference

# Wider than torch.testing's defaults where a device may sum in another order or fuse operations; still far from what a
# wrong kernel gives.
TOLERANCES = {
    torch.float64: (1e-9, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (2e-2, 2e-2),
    torch.complex64: (1e-4, 1e-5),
    torch.complex128: (1e-9, 1e-9),
}
"""Relative and absolute tolerance by dtype; other dtypes compare exactly."""


def put(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy on the device that shares nothing with the original, not even in the control run."""
    return tensor.to(device, copy=True)


def assert_on(tensor: torch.Tensor, device: torch.device) -> None:
    """Assert that a tensor and its storage are on a device."""
    __tracebackhide__ = True
    assert tensor.device == device, f"expected a result on {device}, got one on {tensor.device}"
    storage = tensor.untyped_storage().device
    assert storage == device, f"the tensor says {device}, its storage says {storage}"


def assert_matches(actual: torch.Tensor, expected: torch.Tensor, device: torch.device, *, factor: float = 1.0) -> None:
    """Assert that a result is on the device and equals the cpu's.

    Args:
        actual: what the device computed.
        expected: what the cpu computed.
        device: where the result has to be.
        factor: widens the tolerance, for results of many steps.

    """
    __tracebackhide__ = True  # what fails is the line of the test
    assert_on(actual, device)
    assert expected.device.type == "cpu", "the reference is not on the cpu"
    relative, absolute = TOLERANCES.get(expected.dtype, (0.0, 0.0))
    seen, rtol, atol = actual.detach().cpu(), relative * factor, absolute * factor

    def message(told: str) -> str:
        first = first_difference(seen, expected.detach(), rtol=rtol, atol=atol)
        kind = f"{str(actual.dtype).removeprefix('torch.')}[{', '.join(map(str, actual.shape))}]"
        return "\n".join(filter(None, [first, told, f"The result is {kind} on {actual.device}."]))

    torch.testing.assert_close(seen, expected.detach(), rtol=rtol, atol=atol, equal_nan=True, msg=message)


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
