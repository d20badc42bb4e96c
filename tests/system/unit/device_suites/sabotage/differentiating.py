"""Defects of differentiation."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch

from sabotage import broken
from sabotage.kernels import computing, in_autograd, nudge, spoil, wrap

STRICT = ("autograd", "modules", "training", "checkpoint", "optimizers", "sparse", "nested")


@broken("no-gradients", "backward passes that give zeros", *STRICT, "quantization")
def _no_gradients() -> None:
    spoil(computing(), lambda tensor: nudge(tensor, 0.0) if in_autograd() else None)


@broken("nan-hidden", "backward passes that hide what is not a number", "autograd", "amp")
def _nan_hidden() -> None:
    spoil(
        computing(),
        lambda tensor: tensor.nan_to_num_(0, 0, 0) if in_autograd() and tensor.is_floating_point() else None,
    )


@broken("gradients-replaced", "gradients that are replaced and not added to", "autograd", "training")
def _replaced() -> None:
    original = torch.Tensor.backward

    def backward(self: Any, *arguments: Any, **named: Any) -> None:
        before = list(_leaves_of(self))
        for leaf in before:
            leaf.grad = None
        original(self, *arguments, **named)

    torch.Tensor.backward = backward  # type: ignore[method-assign]


def _leaves_of(tensor: torch.Tensor) -> Any:
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        waiting.extend(following for following, _ in node.next_functions)


@broken("hooks-forgotten", "hooks that are not called", "autograd", "modules")
def _hooks_forgotten() -> None:
    torch.Tensor.register_hook = lambda self, hook: None  # type: ignore[method-assign,assignment]
    torch.nn.Module.register_forward_hook = lambda self, hook, **_: None  # type: ignore[method-assign,assignment]
    torch.Tensor.register_post_accumulate_grad_hook = lambda self, hook: None  # type: ignore[method-assign,assignment]


@broken("always-recording", "`no_grad` and `inference_mode` that still record", "autograd", "optimizers", "training")
def _always_recording() -> None:
    torch.no_grad = contextlib.nullcontext  # type: ignore[misc,assignment]
    torch.inference_mode = contextlib.nullcontext  # type: ignore[misc,assignment]


@broken("custom-operators-on-the-cpu", "operators of users that end on the cpu", "autograd")
def _custom_operators() -> None:
    original = torch.library.custom_op

    def custom_op(name: str, **named: Any) -> Any:
        register = original(name, **named)

        def made(function: Any) -> Any:
            @functools.wraps(function)
            def on_the_cpu(*arguments: Any) -> Any:
                return function(*arguments).cpu()

            return register(on_the_cpu)

        return made

    torch.library.custom_op = custom_op  # type: ignore[assignment]


@broken(
    "one-wrong-derivative", "derivatives of `tanh`, `exp` and `gelu` that are wrong", "autograd", "modules", "training"
)
def _one_wrong_derivative() -> None:
    for name in ("tanh_backward", "gelu_backward", "_softmax_backward_data", "native_layer_norm_backward"):
        spoil((name,), lambda tensor: tensor.neg())


@broken("convolutions-without-gradient", "convolutions whose weights get no gradient", "modules", "training")
def _convolutions() -> None:
    def backward(whole: Any, *arguments: Any, **named: Any) -> Any:
        first, second, third = whole(*arguments, **named)
        return first, None if second is None else second.zero_(), third

    wrap("convolution_backward_overrideable", backward)
