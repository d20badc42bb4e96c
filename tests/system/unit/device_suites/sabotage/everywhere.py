"""Defects that every area of a device would feel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

from sabotage import DEVICE, broken
from sabotage.kernels import computing, map_tensors, nudge, replace, spoil, wrap


@broken(
    "inexact-kernels",
    "kernels that are six hundredths off",
    *("ops", "autograd", "modules", "optimizers"),
)
def _inexact_kernels() -> None:
    spoil(computing(), nudge)


@broken(
    "answers-from-the-cpu",
    "results that are right, and on the cpu",
    *("ops", "mixed_devices", "autograd", "rng"),
)
def _answers_from_the_cpu() -> None:
    spoil([name for name in computing() if not _writes(name)], lambda tensor: tensor.cpu())


def _writes(name: str) -> bool:
    plain, _, overload = name.partition(".")
    return plain.endswith("_") or "out" in overload or overload in ("grad_input", "output")


@broken(
    "cpu-labelled-as-device",
    "tensors that are on the cpu and call themselves the device's",
    *("tensors", "ops", "registration", "device", "serialization", "interop", "views", "mixed_devices"),
)
def _labelled() -> None:
    class Labelled(torch.Tensor):
        """A tensor on the cpu that says that it is on the device."""

        @property
        def device(self) -> torch.device:  # type: ignore[override]
            return torch.device(DEVICE, 0)

        def cpu(self, *_: Any, **__: Any) -> torch.Tensor:  # type: ignore[override]
            return self.as_subclass(torch.Tensor).clone()

    original_to = torch.Tensor.to

    def to(self: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        wanted = [value for value in (*arguments, *named.values()) if isinstance(value, (torch.device, str))]
        if not any(torch.device(value).type == DEVICE for value in wanted):
            return original_to(self, *arguments, **named)
        changed = [torch.device("cpu") if value in wanted else value for value in arguments]
        changed_named = {key: torch.device("cpu") if value in wanted else value for key, value in named.items()}
        return original_to(self, *changed, **changed_named).as_subclass(Labelled)

    torch.Tensor.to = to  # type: ignore[method-assign,assignment]
    for name in ("ones", "zeros", "empty", "full", "arange", "tensor"):
        setattr(torch, name, _labelling(getattr(torch, name), Labelled))


def _labelling(factory: Callable[..., torch.Tensor], kind: type[torch.Tensor]) -> Callable[..., torch.Tensor]:
    def make(*arguments: Any, device: Any = None, **named: Any) -> torch.Tensor:
        if device is not None and torch.device(device).type == DEVICE:
            return factory(*arguments, device="cpu", **named).as_subclass(kind)
        return factory(*arguments, device=device, **named)

    return make


@broken(
    "wrong-in-threads",
    "kernels that are wrong in every thread but the first",
    *("registration", "autograd"),
)
def _wrong_in_threads() -> None:
    spoil(
        computing(),
        lambda tensor: nudge(tensor) if threading.current_thread() is not threading.main_thread() else None,
    )


@broken(
    "in-place-does-nothing",
    "in-place operators that change nothing",
    *("ops", "optimizers", "amp", "streams_events"),
)
def _nothing_in_place() -> None:
    for name in computing():
        plain = name.partition(".")[0]
        if plain.endswith("_") and not plain.startswith("_"):
            wrap(name, lambda whole, self, *arguments, **named: self)


@broken(
    "moves-operands",
    "operators that fetch operands from wherever they are",
    *("mixed_devices",),
)
def _moves_operands() -> None:
    def fetching(whole: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return whole(*map_tensors(_fetched, list(arguments)), **map_tensors(_fetched, named))

    def _fetched(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(torch.device(DEVICE, 0))

    for name in (*computing(), "equal", "index_put_", "_index_put_impl_", "embedding", "is_same_size"):
        try:
            wrap(name, fetching)
        except RuntimeError:
            continue


@broken("transposed-products", "matrix products of the second operand's transpose", "ops", "autograd", "modules", "amp")
def _transposed() -> None:
    def product(whole: Callable[..., Any], left: torch.Tensor, right: torch.Tensor, *more: Any, **named: Any) -> Any:
        square = right.shape[-1] == right.shape[-2]
        return whole(left, right.transpose(-1, -2) if square else right, *more, **named)

    for name in ("mm", "bmm"):
        wrap(name, product)


@broken("lost-shapes", "reductions that forget `keepdim`", "ops", "autograd", "modules")
def _lost_shapes() -> None:
    for name in ("sum.dim_IntList", "mean.dim", "linalg_vector_norm", "amax"):
        wrap(name, lambda whole, *arguments, **named: tree_map(torch.squeeze, whole(*arguments, **named)))


@broken("wrong-kernel", "a multiplication that is a hundredth off", "ops")
def _wrong_kernel() -> None:
    replace("mul.Tensor", lambda a, b: (a.cpu() * b.cpu() + 0.01).to(DEVICE))
