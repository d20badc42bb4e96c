"""Small models of the kinds that are trained on accelerators: each in every way in which it is used."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache
from time import perf_counter

import pytest
import torch
from torch import nn

from harness.compare import assert_matches, numbers, put
from harness.device import peak_memory, reset_peak_memory, synchronize
from harness.networks import TASKS, VOCABULARY, Decoder
from harness.recorder import MEASURED
from harness.training import CPU, Task, assert_same_parameters, lower_precision, models, train

STEPS = 6
FEWER_STEPS = 3

pytestmark = pytest.mark.usefixtures("one_thread")
each_model = pytest.mark.parametrize("name", TASKS)


@dataclass(frozen=True)
class Reference:
    """What the cpu made of a model.

    Attributes:
        model: trained in float32.
        exactly: trained in float64.
        losses: of each step in float32, or in the lower precision.
        exact: of each step in float64.
        seconds: for each step but the first.

    """

    model: nn.Module
    exactly: nn.Module
    losses: torch.Tensor
    exact: torch.Tensor
    seconds: float


@cache
def _reference(name: str, steps: int = STEPS, lower: torch.dtype | None = None) -> Reference:
    """Train on the cpu, once for all tests of a model."""
    task = TASKS[name]
    here, exactly, _ = models(task, CPU)
    losses, seconds = _timed(here, task, CPU, steps, lower)
    exact, _ = _timed(exactly, task, CPU, steps)
    assert exact[-1] < exact[0], "the task itself cannot be learned"
    return Reference(here, exactly, losses, exact, seconds)


def _timed(
    model: nn.Module, task: Task, device: torch.device, steps: int, lower: torch.dtype | None = None
) -> tuple[torch.Tensor, float]:
    """Train, and give the losses and the seconds of a step, without the first, for which much is prepared."""
    optimizer = task.optimizer(model.parameters())
    first = train(model, task, optimizer, range(1), lower=lower)
    synchronize(device.type)
    begin = perf_counter()
    others = train(model, task, optimizer, range(1, steps), lower=lower)
    synchronize(device.type)
    return torch.cat((first, others)), (perf_counter() - begin) / (steps - 1)


@each_model
@pytest.mark.capability("modules")
def test_inference(device: torch.device, name: str) -> None:
    """In evaluation mode a model gives the right results."""
    task = TASKS[name]
    here, exactly, there = (model.eval() for model in models(task, device))
    with torch.inference_mode():
        seen, expected, exact = (model(*task.inputs(0, model)) for model in (there, here, exactly))
    assert_matches(seen, expected, device, exact=exact)


@pytest.mark.capability("modules")
def test_generation_with_a_cache(device: torch.device) -> None:
    """A decoder that keeps keys and values gives, token by token, the logits of the whole sequence at once."""
    here, exactly, there = (model.eval() for model in models(TASKS["decoder"], device))
    tokens = numbers(2, 8, dtype=torch.int64) % VOCABULARY
    with torch.inference_mode():
        seen = _token_by_token(there, put(tokens, device))
        expected, exact = here(tokens), exactly(tokens)
    assert_matches(seen, expected, device, exact=exact)


def _token_by_token(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """The logits of tokens, the first three at once and then one after the other."""
    assert isinstance(model, Decoder)
    cache = model.empty_cache(len(tokens))
    logits = [model(tokens[:, :3], cache)]
    logits += [model(tokens[:, at : at + 1], cache, at) for at in range(3, tokens.shape[1])]
    return torch.cat(logits, 1)


@each_model
@pytest.mark.capability("training")
def test_training(device: torch.device, name: str, request: pytest.FixtureRequest) -> None:
    """Training gives the right loss in every step, and the right weights."""
    task, reference = TASKS[name], _reference(name)
    _, _, model = models(task, device)
    reset_peak_memory(device)
    losses, seconds = _timed(model, task, device, STEPS)
    peak = peak_memory(device)
    measured = {"steps_per_second": round(1 / seconds, 1), "times_the_cpu": round(reference.seconds / seconds, 3)}
    request.node.user_properties.append((MEASURED, {**measured, **({} if peak is None else {"peak_bytes": peak})}))
    assert_matches(losses, reference.losses, device, exact=reference.exact)
    assert_same_parameters(model, reference.model, reference.exactly, device)


@each_model
@pytest.mark.needs_devices(2)
@pytest.mark.capability("training")
def test_training_on_two_cards(device_name: str, name: str) -> None:
    """Two cards with a batch each share their gradients: the right losses, and the right weights on both."""
    task, cards = TASKS[name], [torch.device(device_name, index) for index in range(2)]
    here, exactly, there = models(task, cards[0])
    (expected, _), (exact, _) = (_in_parallel(model, task, [CPU, CPU]) for model in (here, exactly))
    losses, replica = _in_parallel(there, task, cards)
    assert_matches(losses, expected, cards[0], exact=exact)
    for model, card in ((there, cards[0]), (replica, cards[1])):
        assert_same_parameters(model, here, exactly, card)


def _in_parallel(model: nn.Module, task: Task, devices: list[torch.device]) -> tuple[torch.Tensor, nn.Module]:
    """Train a model and a replica of it, each with batches of its own, and give the losses and the replica."""
    replica = task.model().to(devices[1], next(model.parameters()).dtype)
    replica.load_state_dict(model.state_dict())
    both = (model, replica)
    optimizers = [task.optimizer(each.parameters()) for each in both]
    losses = []
    for _ in range(FEWER_STEPS):
        for optimizer in optimizers:
            optimizer.zero_grad()
        parts = [task.loss_of(each, step) / 2 for step, each in enumerate(both)]
        for part in parts:
            part.backward()
        for one, other in zip(model.parameters(), replica.parameters(), strict=True):
            assert one.grad is not None
            assert other.grad is not None
            one.grad += other.grad.to(devices[0])
            other.grad.copy_(one.grad)
        for optimizer in optimizers:
            optimizer.step()
        losses.append(parts[0].detach() + parts[1].detach().to(devices[0]))
    return torch.stack(losses), replica


@each_model
@pytest.mark.capability("compile")
# Warnings of torch's own compiler about itself are not about the device.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_compiled_training(device: torch.device, name: str) -> None:
    """A compiled model is trained as the eager one is: the right losses and weights."""
    torch._dynamo.reset()
    task, reference = TASKS[name], _reference(name, FEWER_STEPS)
    _, _, model = models(task, device)
    compiled = torch.compile(model, backend="aot_eager")
    losses = train(model, task, task.optimizer(model.parameters()), range(FEWER_STEPS), run=compiled)
    assert_matches(losses, reference.losses, device, exact=reference.exact)
    assert_same_parameters(model, reference.model, reference.exactly, device)


@each_model
@pytest.mark.capability("amp")
def test_training_with_mixed_precision(device: torch.device, device_name: str, name: str) -> None:
    """Training under autocast with a gradient scaler gives losses near the exact ones, and no step is skipped."""
    lower = lower_precision(device_name)
    task, reference = TASKS[name], _reference(name, STEPS, lower)
    _, _, model = models(task, device)
    losses = train(model, task, task.optimizer(model.parameters()), range(STEPS), lower=lower, scaled=True)
    assert_matches(losses.to(lower), reference.losses.to(lower), device, exact=reference.exact)


@each_model
@pytest.mark.capability("checkpoint")
def test_training_resumes(device: torch.device, name: str) -> None:
    """Training that is saved half way and continued elsewhere gives the losses and weights of one whole run."""
    task, reference, half = TASKS[name], _reference(name), STEPS // 2
    _, _, model = models(task, device)
    optimizer = task.optimizer(model.parameters())
    before = train(model, task, optimizer, range(half))
    saved = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, saved)
    saved.seek(0)
    again = task.model().to(device)
    optimizer = task.optimizer(again.parameters())
    state = torch.load(saved, map_location=device)
    again.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    losses = torch.cat((before, train(again, task, optimizer, range(half, STEPS))))
    assert_matches(losses, reference.losses, device, exact=reference.exact)
    assert_same_parameters(again, reference.model, reference.exactly, device)
