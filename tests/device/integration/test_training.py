"""Whole training runs, compared with the cpu step by step."""

from __future__ import annotations

import copy
from collections.abc import Callable
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
    """A model, the inputs of one step, and how far rounding may carry the losses apart."""

    model: Callable[[], nn.Module]
    inputs: Callable[[int], torch.Tensor]
    factor: float = 20.0


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
        factor=50,
    ),
    "rnn": Task(_Tagger, _tokens),
    "transformer": Task(_Transformer, _tokens, factor=50),
}

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.003),
}


def _pair(task: Task, device: torch.device) -> tuple[nn.Module, nn.Module]:
    """The same model on the cpu and on the device."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        here = task.model()
    return here, copy.deepcopy(here).to(device)


def _run(
    model: nn.Module, task: Task, optimizer: torch.optim.Optimizer, device: torch.device, steps: range
) -> list[float]:
    losses = []
    for step in steps:
        optimizer.zero_grad()
        labels = torch.arange(BATCH) % 4
        loss = nn.functional.cross_entropy(model(put(task.inputs(step % 2), device)), put(labels, device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", TASKS)
def test_loss_curve_equals_cpu(device: torch.device, name: str, optimizer: str) -> None:
    """The loss falls, and it and the final weights equal the cpu's at every step."""
    task = TASKS[name]
    here, there = _pair(task, device)
    expected = _run(here, task, OPTIMIZERS[optimizer](here.parameters()), CPU, range(STEPS))
    seen = _run(there, task, OPTIMIZERS[optimizer](there.parameters()), device, range(STEPS))
    assert expected[-1] < expected[0], "the task itself cannot be learned"
    assert seen == pytest.approx(expected, rel=1e-3, abs=1e-4)
    for parameter, reference in zip(there.parameters(), here.parameters(), strict=True):
        assert_matches(parameter, reference, device, factor=task.factor)


@pytest.mark.parametrize("name", TASKS)
def test_training_with_mixed_precision(device: torch.device, device_name: str, name: str) -> None:
    """Training under autocast with a gradient scaler follows the float32 losses of the cpu, and no step is skipped."""
    task = TASKS[name]
    here, there = _pair(task, device)
    expected = _run(here, task, OPTIMIZERS["sgd"](here.parameters()), CPU, range(STEPS))
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
        with torch.autocast(device_name, dtype=dtype):
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

    def run(model: nn.Module, where: torch.device) -> list[float]:
        optimizer = OPTIMIZERS["adamw"](model.parameters())
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
        seen = []
        for _ in range(2):
            loader = DataLoader(
                TensorDataset(samples, labels), BATCH, shuffle=True, generator=torch.Generator().manual_seed(1)
            )
            model.train()
            for batch, wanted in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(batch.to(where)), wanted.to(where)).backward()
                optimizer.step()
                schedule.step()
            model.eval()
            with torch.inference_mode():
                seen.append(nn.functional.cross_entropy(model(samples.to(where)), labels.to(where)).item())
        return seen

    here, there = _pair(TASKS["mlp"], device)
    assert run(there, device) == pytest.approx(run(here, CPU), rel=1e-3)


def test_accumulated_gradients_equal_a_large_batch(device: torch.device) -> None:
    """Gradients accumulated over small batches equal those of one large batch."""
    _, model = _pair(TASKS["mlp"], device)
    inputs, labels = put(numbers(BATCH, 10), device), put(torch.arange(BATCH) % 4, device)
    nn.functional.cross_entropy(model(inputs), labels).backward()
    expected = [parameter.grad.cpu() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    for part, wanted in zip(inputs.chunk(4), labels.chunk(4), strict=True):
        (nn.functional.cross_entropy(model(part), wanted) / 4).backward()
    for parameter, reference in zip(model.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert_matches(parameter.grad, reference, device, factor=5)


@pytest.mark.needs_devices(2)
def test_training_on_the_second_card(device_name: str) -> None:
    """A model trains on the second card while the first one stays current."""
    second = torch.device(device_name, 1)
    task = TASKS["mlp"]
    here, there = _pair(task, second)
    expected = _run(here, task, OPTIMIZERS["sgd"](here.parameters()), CPU, range(3))
    assert _run(there, task, OPTIMIZERS["sgd"](there.parameters()), second, range(3)) == pytest.approx(
        expected, rel=1e-3
    )
