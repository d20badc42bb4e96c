"""Quantized tensors and fake quantization."""

from __future__ import annotations

import pytest
import torch

from harness.compare import assert_matches, backward, numbers, put
from harness.outcomes import unsupported

pytestmark = [
    pytest.mark.capability("quantization"),
    # torch announces the end of quantized dtypes.
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

CPU = torch.device("cpu")


def _quantized(device: torch.device) -> torch.Tensor:
    try:
        return torch.quantize_per_tensor(put(numbers(4, 6), device), 0.05, 3, torch.qint8)
    except NotImplementedError as error:
        unsupported(f"torch has no quantized tensors on this device: {error}")


def test_per_tensor(device: torch.device) -> None:
    """A tensor is quantized with one scale and back as on the cpu, and its integers can be seen."""
    seen, expected = _quantized(device), _quantized(CPU)
    assert seen.device == device
    assert seen.q_scale() == pytest.approx(0.05)
    assert seen.q_zero_point() == 3
    assert_matches(seen.int_repr(), expected.int_repr(), device)
    assert_matches(seen.dequantize(), expected.dequantize(), device)


def test_per_channel(device: torch.device) -> None:
    """A tensor is quantized with a scale for each row as on the cpu."""
    _quantized(device)
    scales, zeros = torch.tensor([0.1, 0.2, 0.05, 0.5]), torch.tensor([0, 1, 2, 3])

    def quantize(where: torch.device) -> torch.Tensor:
        return torch.quantize_per_channel(
            put(numbers(4, 6), where), put(scales, where), put(zeros, where), 0, torch.qint8
        )

    assert_matches(quantize(device).int_repr(), quantize(CPU).int_repr(), device)
    assert_matches(quantize(device).dequantize(), quantize(CPU).dequantize(), device)


def test_quantized_tensor_is_copied(device: torch.device) -> None:
    """A quantized tensor is copied to the cpu and to the device with its scale."""
    expected = _quantized(CPU).dequantize()
    assert torch.equal(_quantized(device).cpu().dequantize(), expected)
    assert_matches(_quantized(CPU).to(device).dequantize(), expected, device)


def test_fake_quantization(device: torch.device) -> None:
    """Fake quantization rounds as on the cpu and lets the gradient through where nothing was cut."""

    def run(where: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        leaf = put(numbers(4, 6), where).requires_grad_()
        result = torch.fake_quantize_per_tensor_affine(leaf, 0.1, 0, -8, 7)
        backward(result)
        assert leaf.grad is not None
        return result, leaf.grad

    for seen, expected in zip(run(device), run(CPU), strict=True):
        assert_matches(seen, expected, device)


@pytest.mark.parametrize("channels", [False, True], ids=["per_tensor", "per_channel"])
def test_observed_fake_quantization(device: torch.device, channels: bool) -> None:
    """A module that observes ranges and rounds by them, as training for quantization needs it, does as on the cpu."""
    from torch.ao.quantization import FakeQuantize, MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver

    def run(where: torch.device) -> list[torch.Tensor]:
        observer = MovingAveragePerChannelMinMaxObserver if channels else MovingAverageMinMaxObserver
        scheme = torch.per_channel_symmetric if channels else torch.per_tensor_affine
        module = FakeQuantize(observer, quant_min=-128, quant_max=127, dtype=torch.qint8, qscheme=scheme).to(where)
        results = [module(put(numbers(4, 6, seed=seed), where)) for seed in (1, 2)]
        return [*results, module.scale, module.zero_point]

    for seen, expected in zip(run(device), run(CPU), strict=True):
        assert_matches(seen, expected, device)


def test_integer_matrices(device: torch.device) -> None:
    """Weights kept as small integers with scales give the right product without any quantized dtype."""
    weight = numbers(6, 8, dtype=torch.int8)
    scale = numbers(6, seed=3).abs()
    inputs = numbers(5, 8, seed=4)
    result = (put(inputs, device) @ put(weight, device).float().t()) * put(scale, device)
    exact = (inputs.double() @ weight.double().t()) * scale.double()
    assert_matches(result, (inputs @ weight.float().t()) * scale, device, exact=exact)
