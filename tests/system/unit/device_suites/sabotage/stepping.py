"""Defects of optimizers."""

from __future__ import annotations

import torch

from sabotage import broken
from sabotage.kernels import replace, wrap


@broken("foreach-does-nothing", "list kernels that do nothing", "optimizers", "amp", "training")
def _foreach() -> None:
    for full in torch._C._dispatch_get_all_op_names():
        name = full.removeprefix("aten::")
        plain = name.partition(".")[0]
        if full.startswith("aten::_foreach_") and plain.endswith("_"):
            wrap(name, lambda whole, *arguments, **named: None)


@broken("fused-does-nothing", "fused optimizers that do nothing", "optimizers")
def _fused() -> None:
    for full in torch._C._dispatch_get_all_op_names():
        name = full.removeprefix("aten::")
        if full.startswith("aten::_fused_") and name.partition(".")[0].endswith("_"):
            replace(name, lambda *_, **__: None)


@broken(
    "steps-change-nothing",
    "optimizers that change nothing",
    "optimizers",
    "training",
    "serialization",
    "checkpoint",
    "ops",
    "compile",
)
def _steps() -> None:
    kinds = [
        kind
        for kind in vars(torch.optim).values()
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
    ]
    for kind in kinds:
        kind.step = lambda self, closure=None: None  # type: ignore[method-assign,assignment]


@broken("states-on-the-cpu", "optimizers whose state stays on the cpu", "optimizers")
def _states() -> None:
    def zeros(tensor: torch.Tensor, **_: object) -> torch.Tensor:
        return torch.zeros(tensor.shape)

    torch.zeros_like = zeros  # type: ignore[assignment]


@broken("clipping-does-nothing", "gradients that are not clipped", "optimizers", "training", "amp")
def _clipping() -> None:
    torch.nn.utils.clip_grad_norm_ = lambda parameters, *_, **__: torch.tensor(1.0)  # type: ignore[assignment]


@broken("rate-stands-still", "learning rates that stand still", "optimizers", "training")
def _rate() -> None:
    torch.optim.lr_scheduler.LRScheduler.step = lambda self, epoch=None: None  # type: ignore[method-assign]


@broken("optimizer-state-not-loaded", "optimizers whose state is not loaded", "serialization", "checkpoint")
def _not_loaded() -> None:
    torch.optim.Optimizer.load_state_dict = lambda self, state: None  # type: ignore[method-assign]
