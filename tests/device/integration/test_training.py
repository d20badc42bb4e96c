"""Whole training runs, compared with the cpu step by step."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from harness.compare import assert_matches, numbers, put
from harness.networks import Recurrent
from harness.training import (
    CPU,
    Batch,
    MakeOptimizer,
    Task,
    assert_same_parameters,
    lower_precision,
    models,
    train,
)

pytestmark = pytest.mark.capability("training")

STEPS = 8
BATCH = 16


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


LABELS = torch.arange(BATCH) % 4


def _vectors(step: int) -> Batch:
    return (numbers(BATCH, 10, seed=step),), LABELS


def _tokens(step: int) -> Batch:
    return (numbers(BATCH, 6, dtype=torch.int64, seed=step) % 20,), LABELS


def _images(step: int) -> Batch:
    return (numbers(BATCH, 3, 8, 8, seed=step),), LABELS


TASKS: dict[str, Task] = {
    "mlp": Task(lambda: nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 4)), _vectors),
    "cnn": Task(
        lambda: nn.Sequential(
            *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
        ),
        _images,
    ),
    "rnn": Task(Recurrent, _tokens),
    "transformer": Task(_Transformer, _tokens),
}

OPTIMIZERS: dict[str, MakeOptimizer] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    # Adam makes a whole step of a gradient that is zero but for rounding, unless eps is larger.
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.003, eps=1e-5),
}


def _assert_same_training(task: Task, optimizer: MakeOptimizer, device: torch.device, steps: int) -> torch.Tensor:
    """Assert that losses and final weights are right, and give the losses of the cpu."""
    here, exactly, there = models(task, device)
    expected, exact, seen = (
        train(model, task, optimizer(model.parameters()), range(steps)) for model in (here, exactly, there)
    )
    assert_matches(seen, expected, device, exact=exact)
    assert_same_parameters(there, here, exactly, device)
    return expected


def test_one_training_step_equals_cpu(device: torch.device) -> None:
    """Forward, loss, backward and one step of SGD give the loss, gradients and weights that the cpu gets."""
    torch.manual_seed(0)
    expected = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
    model.load_state_dict(expected.state_dict())
    exactly = copy.deepcopy(expected).double()
    inputs, labels = numbers(32, 8), torch.arange(32) % 3
    expected_loss, exact = _step(expected, inputs, labels), _step(exactly, inputs.double(), labels)
    loss = _step(model, put(inputs, device), put(labels, device))
    assert_matches(loss, expected_loss, device, exact=exact)
    for (name, parameter), reference, value in zip(
        model.named_parameters(), expected.parameters(), exactly.parameters(), strict=True
    ):
        assert parameter.grad is not None, f"{name} has no gradient"
        assert reference.grad is not None
        assert_matches(parameter.grad, reference.grad, device, exact=value.grad)
    assert_same_parameters(model, expected, exactly, device)


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
    """Training under autocast with a gradient scaler gives losses near the exact ones, and no step is skipped."""
    task, optimizer = TASKS[name], OPTIMIZERS["sgd"]
    here, exactly, there = models(task, device)
    lower = lower_precision(device_name)
    losses = train(there, task, optimizer(there.parameters()), range(STEPS), lower=lower, scaled=True)
    expected = train(here, task, optimizer(here.parameters()), range(STEPS), lower=lower)
    exact = train(exactly, task, optimizer(exactly.parameters()), range(STEPS))
    assert_matches(losses.to(lower), expected.to(lower), device, exact=exact)
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

    here, exactly, there = models(TASKS["mlp"], device)
    (losses, order), (expected, expected_order), (exact, _) = run(there, device), run(here, CPU), run(exactly, CPU)
    assert order == expected_order, "the samples came in another order than on the cpu"
    assert_matches(losses, expected, device, exact=exact)


def test_accumulated_gradients_equal_a_large_batch(device: torch.device) -> None:
    """Gradients accumulated over small batches equal those of one large batch."""
    here, exactly, model = models(TASKS["mlp"], device)
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
