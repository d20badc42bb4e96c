"""One training step."""

from __future__ import annotations

import pytest
import torch

from harness.compare import assert_matches, numbers, put

pytestmark = pytest.mark.capability("training")


def test_one_training_step_equals_cpu(device: torch.device) -> None:
    """Forward, loss, backward and one step of SGD give the loss, gradients and weights that the cpu gets.

    Asked by `torch/autograd/__init__.py` (backward), `torch/optim/sgd.py` (SGD) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    torch.manual_seed(0)
    expected = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).to(device)
    model.load_state_dict(expected.state_dict())
    inputs, labels = numbers(32, 8), torch.arange(32) % 3
    expected_loss = _step(expected, inputs, labels)
    loss = _step(model, put(inputs, device), put(labels, device))
    assert_matches(loss, expected_loss, device)
    for (name, parameter), reference in zip(model.named_parameters(), expected.parameters(), strict=True):
        assert parameter.grad is not None, f"{name} has no gradient"
        assert reference.grad is not None
        assert_matches(parameter.grad, reference.grad, device)
        assert_matches(parameter, reference, device)


def _step(model: torch.nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    for parameter, old in zip(model.parameters(), before, strict=True):
        assert not torch.equal(parameter.detach().cpu(), old.cpu()), "the step changed nothing"
    return loss
