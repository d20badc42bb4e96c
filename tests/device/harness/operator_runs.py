"""The ways in which the suite calls an operator. Needs torch."""

from __future__ import annotations

import torch

from harness.operator_database import Operator
from harness.results import Result, gradients
from harness.samples import Arguments, Sample

FORWARD_TEST = ("TestCommon", "test_compare_cpu")
BACKWARD_TEST = ("TestCommon", "test_noncontiguous_samples")
"""PyTorch's own tests that compare results, and gradients (test/test_ops.py)."""


def forward(operator: Operator, sample: Sample, arguments: Arguments) -> Result:
    """Call the operator."""
    with torch.no_grad():
        made = operator(arguments)
    return Result(made, (arguments.positional, dict(arguments.named)))


def backward(operator: Operator, sample: Sample, arguments: Arguments) -> Result:
    """Call the operator and differentiate the result with respect to each tensor that asks for it."""
    leaves = [tensor for tensor in arguments.tensors() if tensor.requires_grad]
    return gradients(sample.to_differentiate(operator(arguments)), leaves)
