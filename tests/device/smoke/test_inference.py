"""What a model predicts. Training is tested in `integration`: a device may be for inference only."""

from __future__ import annotations

import pytest
import torch

from harness.compare import assert_matches, numbers, put

pytestmark = pytest.mark.capability("modules")


def test_model_predicts_as_on_the_cpu(device: torch.device) -> None:
    """A model that was moved to the device, with weights loaded there, predicts what it predicts on the cpu.

    Asked by `torch/nn/modules/module.py` (to, load_state_dict), `torch/nn/modules/linear.py` (Linear) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    expected, model = (
        torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)) for _ in "ab"
    )
    with torch.no_grad():
        for parameter in expected.parameters():
            parameter.copy_(numbers(*parameter.shape, seed=parameter.ndim))
        model.to(device).load_state_dict(expected.state_dict())
        inputs = numbers(32, 8)
        assert_matches(model(put(inputs, device)), expected(inputs), device)
