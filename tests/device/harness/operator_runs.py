"""The ways in which the suite calls an operator. Needs torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch

from harness.device import CONTROL
from harness.operator_database import Operator
from harness.results import FlushedOrNot, InItsFormat, Repeated, Result, gradients
from harness.samples import Arguments, Placing, Sample
from harness.variations import CHANNELS_LAST, DENORMALS, MANY, has_denormals

FORWARD_TEST = ("TestCommon", "test_compare_cpu")
BACKWARD_TEST = ("TestCommon", "test_noncontiguous_samples")
"""PyTorch's own tests that compare results, and gradients (test/test_ops.py)."""

FORMAT_OF_THE_CPU = ("nn.functional.pixel_shuffle", "nn.functional.pixel_unshuffle")
"""Operators that keep channels-last in the cpu's kernel alone: PyTorch composes them of views for other devices."""


def forward(operator: Operator, sample: Sample, arguments: Arguments) -> Result:
    """Call the operator."""
    with torch.no_grad():
        made = operator(arguments)
    return Result(made, (arguments.positional, dict(arguments.named)))


def backward(operator: Operator, sample: Sample, arguments: Arguments) -> Result:
    """Call the operator and differentiate the result with respect to each tensor that requires it."""
    leaves = [tensor for tensor in arguments.tensors() if tensor.requires_grad]
    return gradients(sample.to_differentiate(operator(arguments)), leaves)


def varied(operator: Operator, sample: Sample, arguments: Arguments) -> Result:
    """Call the operator, and give with the result what goes with the variation."""
    device = _device(arguments)
    if sample.kind == DENORMALS and device.type == CONTROL:
        copies = Placing(device).arguments(arguments, on_host=operator.on_host)
        made = forward(operator, sample, arguments)
        for tensor in filter(has_denormals, copies.tensors()):
            tensor[tensor.abs() < torch.finfo(tensor.dtype).tiny] *= 0
        return FlushedOrNot(made.made, made.inputs, forward(operator, sample, copies))
    if sample.kind == MANY and device.type != CONTROL:
        again = [Placing(device).arguments(arguments, on_host=operator.on_host) for _ in range(2)]
        made = forward(operator, sample, arguments)
        return Repeated(made.made, made.inputs, tuple(_deterministic(operator, sample, again)))
    made = forward(operator, sample, arguments)
    if sample.kind == DENORMALS:
        return FlushedOrNot(made.made, made.inputs)
    # Where the arguments are channels-last and the cpu's result is, the device's has to be.
    is_kept = sample.kind == CHANNELS_LAST and operator.name not in FORMAT_OF_THE_CPU
    return InItsFormat(made.made, made.inputs) if is_kept else made


def _device(arguments: Arguments) -> torch.device:
    return next((tensor.device for tensor in arguments.tensors()), torch.device(CONTROL))


def _deterministic(operator: Operator, sample: Sample, calls: Iterable[Arguments]) -> Iterator[Result]:
    """Results of calls in deterministic mode; none where the operator refuses for lack of such an implementation.

    https://docs.pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
    """
    torch.use_deterministic_algorithms(True)
    try:
        for arguments in calls:
            yield forward(operator, sample, arguments)
    except RuntimeError as error:
        if "determinis" not in str(error):
            raise
    finally:
        torch.use_deterministic_algorithms(False)


def on_side_stream(operator: Operator, sample: Sample, arguments: Arguments) -> Result:
    """Call the operator on two streams at once, on the device, and give what the one that is not the default gave."""
    device = _device(arguments)
    if device.type == CONTROL:
        return forward(operator, sample, arguments)
    usual, side = torch.accelerator.current_stream(device), torch.Stream(device)
    copies = Placing(device).arguments(arguments, on_host=operator.on_host)
    side.wait_stream(usual)
    with side:
        made = forward(operator, sample, arguments)
    forward(operator, sample, copies)
    usual.wait_stream(side)
    return made
