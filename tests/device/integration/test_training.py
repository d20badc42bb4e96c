"""Whole training runs, compared with the cpu step by step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from harness.compare import assert_matches, numbers, put

pytestmark = pytest.mark.capability("training")

CPU = torch.device("cpu")
STEPS = 8
BATCH = 16


class _Tagger(nn.Module):
    """An embedding, a recurrent layer and a linear one."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.recurrent = nn.LSTM(8, 12, batch_first=True)
        self.output = nn.Linear(12, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.recurrent(self.embedding(tokens))
        result: torch.Tensor = self.output(states[:, -1])
        return result


class _Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.output = nn.Linear(16, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.output(self.encoder(self.embedding(tokens)).mean(1))
        return result


@dataclass(frozen=True)
class Task:
    """A model and the inputs of one step."""

    model: Callable[[], nn.Module]
    inputs: Callable[[int], torch.Tensor]


def _vectors(step: int) -> torch.Tensor:
    return numbers(BATCH, 10, seed=step)


def _tokens(step: int) -> torch.Tensor:
    return numbers(BATCH, 6, dtype=torch.int64, seed=step) % 20


def _images(step: int) -> torch.Tensor:
    return numbers(BATCH, 3, 8, 8, seed=step)


TASKS: dict[str, Task] = {
    "mlp": Task(
        lambda: nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 4)),
        lambda step: numbers(BATCH, 10, seed=step),
    ),
    "cnn": Task(
        lambda: nn.Sequential(
            *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
        ),
        _images,
    ),
    "rnn": Task(_Tagger, _tokens),
    "transformer": Task(_Transformer, _tokens),
}

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.003),
}


def _models(task: Task, device: torch.device) -> tuple[nn.Module, nn.Module, nn.Module]:
    """The same model on the cpu, on the cpu in float64, and on the device."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        here = task.model()
    return here, copy.deepcopy(here).double(), copy.deepcopy(here).to(device)


def _run(
    model: nn.Module, task: Task, optimizer: torch.optim.Optimizer, device: torch.device, steps: range
) -> torch.Tensor:
    """Train a model, in its own dtype, and give the losses, on the device."""
    dtype = next(model.parameters()).dtype
    losses = []
    for step in steps:
        optimizer.zero_grad()
        inputs, labels = task.inputs(step % 2), torch.arange(BATCH) % 4
        inputs = inputs.to(dtype) if inputs.is_floating_point() else inputs
        loss = nn.functional.cross_entropy(model(put(inputs, device)), put(labels, device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def _assert_same_training(
    task: Task, optimizer: Callable[[Any], torch.optim.Optimizer], device: torch.device, steps: int
) -> torch.Tensor:
    """Assert that losses and final weights are right, and give the losses of the cpu."""
    here, exactly, there = _models(task, device)
    expected = _run(here, task, optimizer(here.parameters()), CPU, range(steps))
    exact = _run(exactly, task, optimizer(exactly.parameters()), CPU, range(steps))
    assert_matches(
        _run(there, task, optimizer(there.parameters()), device, range(steps)), expected, device, exact=exact
    )
    for seen, reference, value in zip(there.parameters(), here.parameters(), exactly.parameters(), strict=True):
        assert_matches(seen, reference, device, exact=value)
    return expected


def test_one_training_step_equals_cpu(device: torch.device) -> None:
    """Forward, loss, backward and one step of SGD give the loss, gradients and weights that the cpu gets."""
    torch.manual_seed(0)
    expected = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
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


def _step(model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    for parameter, old in zip(model.parameters(), before, strict=True):
        assert not torch.equal(parameter.detach().cpu(), old.cpu()), "the step changed nothing"
    return loss


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", TASKS)
def test_loss_curve_equals_cpu(device: torch.device, name: str, optimizer: str) -> None:
    """The loss falls, and it and the final weights equal the cpu's at every step."""
    losses = _assert_same_training(TASKS[name], OPTIMIZERS[optimizer], device, STEPS)
    assert losses[-1] < losses[0], "the task itself cannot be learned"


@pytest.mark.parametrize("name", TASKS)
def test_training_with_mixed_precision(device: torch.device, device_name: str, name: str) -> None:
    """Training under autocast with a gradient scaler follows the float32 losses of the cpu, and no step is skipped."""
    task = TASKS[name]
    here, _, there = _models(task, device)
    expected = _run(here, task, OPTIMIZERS["sgd"](here.parameters()), CPU, range(STEPS)).tolist()
    supported = (
        [torch.bfloat16] if device_name == "cpu" else torch.get_device_module(device_name).get_amp_supported_dtype()
    )
    dtype = torch.bfloat16 if torch.bfloat16 in supported else torch.float16
    optimizer = OPTIMIZERS["sgd"](there.parameters())
    scaler = torch.amp.GradScaler(device_name, init_scale=128.0)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        labels = put(torch.arange(BATCH) % 4, device)
        # The control run does without oneDNN, whose recurrent layers need a processor with bfloat16.
        without = torch.backends.mkldnn.flags(enabled=False) if device_name == "cpu" else nullcontext()
        with torch.autocast(device_name, dtype=dtype), without:
            loss = nn.functional.cross_entropy(there(put(task.inputs(step % 2), device)), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(there.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert scaler.get_scale() == 128.0, "a step was skipped"
    assert losses == pytest.approx(expected, rel=0.1, abs=0.05)
    assert losses[-1] < losses[0]


def test_training_from_a_dataloader(device: torch.device) -> None:
    """Two epochs from a DataLoader, with a schedule and evaluation in between, equal the cpu's."""
    samples, labels = numbers(48, 10), torch.arange(48) % 4

    def run(model: nn.Module, where: torch.device) -> tuple[torch.Tensor, list[int]]:
        dtype = next(model.parameters()).dtype
        optimizer = OPTIMIZERS["adamw"](model.parameters())
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
        seen, order = [], []
        for _ in range(2):
            loader = DataLoader(
                TensorDataset(samples.to(dtype), labels, torch.arange(48)),
                BATCH,
                shuffle=True,
                generator=torch.Generator().manual_seed(1),
            )
            model.train()
            for batch, wanted, indices in loader:
                order += indices.tolist()
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch.to(where)), wanted.to(where)).backward()
                optimizer.step()
                schedule.step()
            model.eval()
            with torch.inference_mode():
                seen.append(nn.functional.cross_entropy(model(samples.to(where, dtype)), labels.to(where)))
        return torch.stack(seen), order

    here, exactly, there = _models(TASKS["mlp"], device)
    (losses, order), (expected, expected_order), (exact, _) = run(there, device), run(here, CPU), run(exactly, CPU)
    assert order == expected_order, "the samples came in another order than on the cpu"
    assert_matches(losses, expected, device, exact=exact)


def test_accumulated_gradients_equal_a_large_batch(device: torch.device) -> None:
    """Gradients accumulated over small batches equal those of one large batch."""
    here, exactly, model = _models(TASKS["mlp"], device)
    inputs, labels = numbers(BATCH, 10), torch.arange(BATCH) % 4
    for whole, batch in ((here, inputs), (exactly, inputs.double())):
        nn.functional.cross_entropy(whole(batch), labels).backward()
    for part, wanted in zip(put(inputs, device).chunk(4), put(labels, device).chunk(4), strict=True):
        (nn.functional.cross_entropy(model(part), wanted) / 4).backward()
    for parameter, reference, value in zip(model.parameters(), here.parameters(), exactly.parameters(), strict=True):
        assert parameter.grad is not None
        assert reference.grad is not None
        assert_matches(parameter.grad, reference.grad, device, exact=value.grad)


@pytest.mark.needs_devices(2)
def test_training_on_the_second_card(device_name: str) -> None:
    """A model trains on the second card while the first one stays current."""
    second = torch.device(device_name, 1)
    _assert_same_training(TASKS["mlp"], OPTIMIZERS["sgd"], second, 3)
