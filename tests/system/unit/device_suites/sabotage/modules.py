"""Defects of modules."""

from __future__ import annotations

from typing import Any

import torch

from harness import defects
from sabotage import broken
from sabotage.kernels import replace, spoil, wrap


@broken(
    "parameters-replaced",
    "modules that get new parameters when they are moved, and DLPack that does not know the device",
    *("modules", "optimizers", "interop"),
)
def _replaced() -> None:
    # DLPack is torch's own fault: then nothing is broken, but nobody is excused either.
    defects.measure = lambda name, device: False  # type: ignore[assignment]
    replace("_has_compatible_shallow_copy_type", lambda tensor, source: False)


@broken("flags-lost-on-the-way", "modules that lose gradients and flags when they are moved", "modules", "training")
def _flags_lost() -> None:
    original = torch.nn.Module.to

    def to(self: Any, *arguments: Any, **named: Any) -> Any:
        original(self, *arguments, **named)
        for parameter in self.parameters():
            parameter.requires_grad_(True)
            parameter.grad = None
        return self

    torch.nn.Module.to = to  # type: ignore[method-assign,assignment]


@broken("buffers-stay-behind", "modules whose buffers stay where they are", "modules", "training", "registration")
def _buffers_stay() -> None:
    original = torch.nn.Module._apply

    def apply(self: Any, function: Any, recurse: bool = True) -> Any:
        buffers = dict(self._buffers)
        original(self, function, recurse)
        self._buffers.update(buffers)
        return self

    torch.nn.Module._apply = apply  # type: ignore[method-assign]


@broken(
    "state-not-loaded", "`load_state_dict` that loads nothing", "modules", "serialization", "checkpoint", "training"
)
def _state_not_loaded() -> None:
    torch.nn.Module.load_state_dict = lambda self, *_, **__: None  # type: ignore[method-assign,assignment]


@broken("running-statistics-stand-still", "batch normalisation that learns no statistics", "modules", "training")
def _statistics() -> None:
    def norm(whole: Any, tensor: Any, weight: Any, bias: Any, mean: Any, variance: Any, *more: Any) -> Any:
        kept = [None if one is None else one.clone() for one in (mean, variance)]
        return whole(tensor, weight, bias, *kept, *more)

    wrap("native_batch_norm", norm)


@broken("attention-without-mask", "attention that ignores its mask", "modules")
def _attention_without_mask() -> None:
    original = torch.nn.functional.scaled_dot_product_attention

    def attend(query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, *_: Any, **__: Any) -> Any:
        return original(query, key, value, None, dropout)

    torch.nn.functional.scaled_dot_product_attention = attend  # type: ignore[assignment]


@broken("attention-mask-is-a-constant", "attention whose mask gets no gradient", "modules")
def _mask_is_a_constant() -> None:
    original = torch.nn.functional.scaled_dot_product_attention

    def attend(*arguments: Any, attn_mask: Any = None, **named: Any) -> Any:
        return original(*arguments, attn_mask=attn_mask if attn_mask is None else attn_mask.detach(), **named)

    torch.nn.functional.scaled_dot_product_attention = attend  # type: ignore[assignment]


@broken("attention-mask-gradient-doubled", "a kernel for attention that doubles its mask's gradient", "modules")
def _mask_gradient_doubled() -> None:
    def backward(whole: Any, *arguments: Any, **named: Any) -> Any:
        *others, mask = whole(*arguments, **named)
        return (*others, mask if mask is None else mask * 2)

    wrap("_scaled_dot_product_fused_attention_overrideable_backward", backward)


@broken("padding-is-read", "recurrent layers and embeddings that read the padding", "modules")
def _padding() -> None:
    def packed(whole: Any, tensor: Any, lengths: Any, batch_first: Any) -> Any:
        return whole(tensor, torch.full_like(lengths, lengths.max().item()), batch_first)

    wrap("_pack_padded_sequence", packed)
    wrap(
        "embedding_dense_backward",
        lambda whole, gradient, indices, count, padding, scale: whole(gradient, indices, count, -1, scale),
    )


@broken("dropout-in-evaluation", "activations that are negative where they should not be", "modules")
def _activations() -> None:
    spoil(("relu", "sigmoid", "silu", "hardswish", "elu", "softplus", "mish"), lambda tensor: tensor.sub_(0.5))
