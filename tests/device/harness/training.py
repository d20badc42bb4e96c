"""Training runs, on the device and on the cpu, in the tested dtype and exactly. Needs torch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from harness.compare import assert_matches, put
from harness.device import CONTROL

CPU = torch.device(CONTROL)
SCALE = 128.0

Batch = tuple[tuple[torch.Tensor, ...], torch.Tensor]
MakeOptimizer = Callable[[Any], torch.optim.Optimizer]


@dataclass(frozen=True)
class Task:
    """What is trained.

    Attributes:
        model: makes the model, on the cpu.
        batch: the inputs of a step, and what their result is compared with.
        loss: of a result and what it is compared with.
        optimizer: makes the optimizer of parameters.

    """

    model: Callable[[], nn.Module]
    batch: Callable[[int], Batch]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = nn.functional.cross_entropy
    optimizer: MakeOptimizer = torch.optim.SGD

    def inputs(self, step: int, model: nn.Module) -> tuple[torch.Tensor, ...]:
        """The inputs of a step where a model is, in its dtype."""
        return tuple(_placed(tensor, model) for tensor in self.batch(step)[0])

    def loss_of(self, model: nn.Module, step: int, run: Callable[..., torch.Tensor] | None = None) -> torch.Tensor:
        """The loss of a model in a step.

        Args:
            model: gives the device and the dtype.
            step: which batch.
            run: computes the model, such as a compiled one; the model itself when None.

        """
        result = (model if run is None else run)(*self.inputs(step, model))
        return self.loss(result, _placed(self.batch(step)[1], model))


def _placed(tensor: torch.Tensor, model: nn.Module) -> torch.Tensor:
    parameter = next(model.parameters())
    return put(tensor.to(parameter.dtype) if tensor.is_floating_point() else tensor, parameter.device)


def models(task: Task, device: torch.device) -> tuple[nn.Module, nn.Module, nn.Module]:
    """The same model on the cpu, on the cpu in float64, and on the device."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        here = task.model()
    return here, copy.deepcopy(here).double(), copy.deepcopy(here).to(device)


def train(
    model: nn.Module,
    task: Task,
    optimizer: torch.optim.Optimizer,
    steps: Iterable[int],
    *,
    lower: torch.dtype | None = None,
    scaled: bool = False,
    run: Callable[..., torch.Tensor] | None = None,
) -> torch.Tensor:
    """Train a model where it is, in its own dtype, and give the losses.

    Args:
        model: the model.
        task: what it is trained for.
        optimizer: of its parameters.
        steps: numbers of the batches; two take turns.
        lower: the lower precision of autocast; None for none.
        scaled: whether a gradient scaler scales the loss; it may skip no step.
        run: computes the model, such as a compiled one; the model itself when None.

    """
    kind = next(model.parameters()).device.type
    scaler = torch.amp.GradScaler(kind, init_scale=SCALE, enabled=scaled)
    losses = []
    for step in steps:
        optimizer.zero_grad()
        with _autocast(kind, lower):
            loss = task.loss_of(model, step % 2, run)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    assert not scaled or scaler.get_scale() == SCALE, "a step was skipped"
    return torch.stack(losses)


def _autocast(kind: str, lower: torch.dtype | None) -> AbstractContextManager[Any]:
    contexts = ExitStack()
    if lower is not None:
        contexts.enter_context(torch.autocast(kind, dtype=lower))
        if kind == CONTROL:
            # oneDNN's recurrent layers need a processor with bfloat16.
            # flags() would set TF32, too, and warn of it.
            contexts.callback(torch.backends.mkldnn.set_flags, *torch.backends.mkldnn.set_flags(False))
    return contexts


def lower_precision(device_name: str) -> torch.dtype:
    """A lower precision that the device supports, bfloat16 if it does."""
    if device_name == CONTROL:
        return torch.bfloat16
    supported = torch.get_device_module(device_name).get_amp_supported_dtype()
    return torch.bfloat16 if torch.bfloat16 in supported else torch.float16


def assert_same_parameters(seen: nn.Module, expected: nn.Module, exact: nn.Module, device: torch.device) -> None:
    """Assert that a trained model is where it should be and has the right parameters."""
    __tracebackhide__ = True
    for (name, parameter), reference, value in zip(
        seen.named_parameters(), expected.parameters(), exact.parameters(), strict=True
    ):
        try:
            assert_matches(parameter, reference, device, exact=value)
        except AssertionError as error:
            raise AssertionError(f"the parameter {name} after training: {error}") from None
