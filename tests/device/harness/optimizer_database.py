"""PyTorch's own list of optimizers with arguments for each, as test cases. Needs torch, numpy and expecttest.

``optim_db`` (torch/testing/_internal/common_optimizers.py) is part of the wheel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from harness.compare import numbers
from harness.device import CONTROL
from harness.results import Result
from harness.samples import Arguments, Sample
from harness.torch_lists import torch_list

STEPS = 5

SHAPES = ((4, 3), (3, 5), (7,), ())
MATRICES = {"Muon": ((4, 3), (3, 5))}
"""Shapes of the parameters, and of those optimizers that take matrices only."""

WAYS: Mapping[str, Mapping[str, bool]] = MappingProxyType(
    {
        "for_loop": {},
        "foreach": {"foreach": True},
        "fused": {"fused": True},
        "capturable": {"capturable": True},
        "capturable_foreach": {"capturable": True, "foreach": True},
    }
)
"""Ways to compute a step, and the arguments that choose them."""

OPTIMIZERS = torch_list("torch.testing._internal.common_optimizers", "optim_db")


@dataclass(frozen=True)
class Optimizer:
    """An optimizer and the way in which it computes its steps.

    Attributes:
        name: of the class.
        way: one of ``WAYS``.
        info: the entry of ``optim_db``.

    """

    name: str
    way: str
    info: Any

    dtype = torch.float32
    on_host = None
    is_undetermined = False
    rounds = False

    @property
    def id(self) -> str:
        """The test's parameter."""
        return f"{self.name}-{self.way}"

    def samples(self) -> Iterator[Sample]:
        """Parameters, where they shall go, and the optimizer's arguments, the same ones every time."""
        shapes = MATRICES.get(self.name, SHAPES)
        for index, given in enumerate(self.info.optim_inputs_func("cpu")):
            start = [numbers(*shape, seed=seed) for seed, shape in enumerate(shapes)]
            goal = [numbers(*shape, seed=100 + seed) for seed, shape in enumerate(shapes)]
            yield Sample(index + 1, Arguments((start, goal), given.kwargs))

    def options(self, device: torch.device) -> dict[str, bool]:
        """The arguments that choose the way on a device. The cpu has no steps to capture."""
        chosen = dict.fromkeys((way for way in ("foreach", "fused") if way in self.info.supported_impls), False)
        chosen.update(WAYS[self.way])
        if device.type == CONTROL:
            chosen.pop("capturable", None)
        return chosen


def optimizers() -> list[Optimizer]:
    """The optimizers that torch lists, each in every way that it offers."""
    return [
        Optimizer(info.name, way, info)
        for info in OPTIMIZERS
        for way, chosen in WAYS.items()
        if all(_offers(info, argument) for argument in chosen)
    ]


def _offers(info: Any, argument: str) -> bool:
    return bool(info.has_capturable_arg if argument == "capturable" else argument in info.supported_impls)


def steps(case: Optimizer, sample: Sample, arguments: Arguments) -> Result:
    """Take a few steps towards the goal: the parameters and what the optimizer keeps afterwards."""
    start, goal = arguments.positional
    parameters = [torch.nn.Parameter(tensor) for tensor in start]
    optimizer = case.info.optim_cls(parameters, **arguments.named, **case.options(parameters[0].device))

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        distances = [(parameter - end).square().sum() for parameter, end in zip(parameters, goal, strict=True)]
        loss = sum(distances[1:], distances[0])
        torch.autograd.backward(loss)
        if case.info.only_supports_sparse_grads:
            for parameter in parameters:
                parameter.grad = None if parameter.grad is None else parameter.grad.to_sparse()
        return loss

    losses = [optimizer.step(closure).detach() for _ in range(STEPS)]
    state = optimizer.state_dict()["state"]
    # What has a parameter's shape is beside it; counters may be on the cpu.
    beside = [
        value
        for index, kept in state.items()
        for value in kept.values()
        if isinstance(value, torch.Tensor) and value.dim() and value.shape == parameters[index].shape
    ]
    made = ([parameter.detach() for parameter in parameters], losses, beside)
    return Result(made, state)
