"""Checkpoints: of activations within a step, and of a whole training run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from harness.compare import assert_matches, assert_on, backward, numbers, put
from harness.device import has_generator

pytestmark = pytest.mark.capability("checkpoint")

reentrant = pytest.mark.parametrize("reentrant", [False, True], ids=["without_reentry", "with_reentry"])


def _model(device: torch.device) -> torch.nn.Sequential:
    """A model whose dropout is at work where the device has a generator for it."""
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 16), torch.nn.Linear(16, 2)
    )
    for seed, parameter in enumerate(model.parameters()):
        with torch.no_grad():
            parameter.copy_(numbers(*parameter.shape, seed=seed))
    return model.train(has_generator(device.type)).to(device)


def _gradients(model: torch.nn.Module) -> list[torch.Tensor]:
    found = [parameter.grad.cpu() for parameter in model.parameters() if parameter.grad is not None]
    assert len(found) == len(list(model.parameters()))
    return found


@reentrant
def test_gradients_are_those_without_checkpoint(device: torch.device, reentrant: bool) -> None:
    """Computing activations again in backward gives the same gradients, with the same dropout."""
    draws = has_generator(device.type)
    model = _model(device)
    inputs = put(numbers(8, 6), device).requires_grad_()
    torch.manual_seed(9)
    expected_result = model(inputs)
    backward(expected_result)
    expected = _gradients(model)
    model.zero_grad()
    torch.manual_seed(9)
    result = checkpoint(model, inputs, use_reentrant=reentrant, preserve_rng_state=draws)
    after_forward = torch.rand(3, device=device).cpu() if draws else None
    backward(result)
    assert_matches(result, expected_result.detach().cpu(), device)
    for seen, reference in zip(_gradients(model), expected, strict=True):
        torch.testing.assert_close(seen, reference)
    if after_forward is not None:
        torch.manual_seed(9)
        model(inputs)
        drawn = torch.rand(3, device=device).cpu()
        assert torch.equal(drawn, after_forward), "the second forward moved the generator on"


@reentrant
def test_dropout_really_depends_on_the_state(device: torch.device, reentrant: bool) -> None:
    """Without keeping the generator's state the second forward drops other elements: the state is what is at work."""
    inputs = torch.ones(2000, device=device, requires_grad=True)

    def drop(values: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(values, 0.5) * values

    def agree(keep: bool) -> bool:
        inputs.grad = None
        torch.manual_seed(1)
        result = checkpoint(drop, inputs, use_reentrant=reentrant, preserve_rng_state=keep)
        backward(result)
        assert inputs.grad is not None
        return torch.equal((inputs.grad != 0).cpu(), (result != 0).cpu())

    assert agree(keep=True)
    assert not agree(keep=False)


def test_sequential_checkpoint(device: torch.device) -> None:
    """A sequence of layers in segments gives the gradients of the whole."""
    model = _model(device).eval()
    inputs = put(numbers(8, 6), device).requires_grad_()
    backward(model(inputs))
    expected = _gradients(model)
    model.zero_grad()
    backward(
        checkpoint_sequential(model, 2, inputs, use_reentrant=False, preserve_rng_state=has_generator(device.type))
    )
    for seen, reference in zip(_gradients(model), expected, strict=True):
        torch.testing.assert_close(seen, reference)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_distributed_checkpoint(device: torch.device, tmp_path: Path) -> None:
    """`torch.distributed.checkpoint` saves a model's and an optimizer's state and loads it in place, in one process."""
    model = _model(device)
    optimizer = torch.optim.Adam(model.parameters())
    backward(model(put(numbers(8, 6), device)))
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 3}
    save(state, checkpoint_id=tmp_path / "saved")
    expected = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    loaded = {"model": _model(device).state_dict()}
    load(loaded, checkpoint_id=tmp_path / "saved")
    for name, value in loaded["model"].items():
        assert_matches(value, expected[name], device)


def test_training_resumes(device: torch.device, tmp_path: Path) -> None:
    """A run that is saved, with its generator's state, and resumed elsewhere ends where an unbroken one ends."""

    def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, number: int) -> None:
        optimizer.zero_grad()
        model(put(numbers(8, 6, seed=number), device)).square().mean().backward()
        optimizer.step()

    def start() -> tuple[torch.nn.Sequential, torch.optim.Optimizer]:
        model = _model(device)
        return model, torch.optim.AdamW(model.parameters(), lr=0.01)

    draws: Any = torch if device.type == "cpu" else torch.get_device_module(device)
    if not has_generator(device.type):
        draws = None
    torch.manual_seed(4)
    model, optimizer = start()
    for number in range(3):
        step(model, optimizer, number)
    saved = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": draws and draws.get_rng_state(),
    }
    torch.save(saved, tmp_path / "run.pt")
    for number in range(3, 6):
        step(model, optimizer, number)
    torch.manual_seed(1234)
    resumed, other = start()
    loaded = torch.load(tmp_path / "run.pt", map_location="cpu")
    resumed.load_state_dict(loaded["model"])
    other.load_state_dict(loaded["optimizer"])
    if draws is not None:
        draws.set_rng_state(loaded["generator"])
    for number in range(3, 6):
        step(resumed, other, number)
    for seen, reference in zip(resumed.parameters(), model.parameters(), strict=True):
        assert_on(seen, device)
        torch.testing.assert_close(seen.cpu(), reference.cpu())
