"""Defects of quantized, sparse and nested tensors."""

from __future__ import annotations

from typing import Any

import torch

from sabotage import broken
from sabotage.kernels import spoil, wrap


@broken("other-scales", "quantization with half the scale", "quantization")
def _other_scales() -> None:
    wrap("quantize_per_tensor", lambda whole, tensor, scale, *more: whole(tensor, scale / 2, *more))
    wrap("quantize_per_channel", lambda whole, tensor, scales, *more: whole(tensor, scales / 2, *more))


@broken("quantized-copies-lose-the-scale", "copies of quantized tensors that lose the scale", "quantization")
def _lose_the_scale() -> None:
    original = torch.Tensor.cpu

    def cpu(self: Any) -> Any:
        if not self.is_quantized:
            return original(self)
        return torch.quantize_per_tensor(original(self.dequantize()), 1.0, 0, self.dtype)

    torch.Tensor.cpu = cpu  # type: ignore[method-assign,assignment]


@broken("rounds-down", "fake quantization that rounds down", "quantization")
def _rounds_down() -> None:
    spoil(
        ("fake_quantize_per_tensor_affine_cachemask",),
        lambda tensor: tensor.sub_(0.1) if tensor.is_floating_point() else None,
    )


@broken("rounds-down-as-observed", "fake quantization by observed ranges that rounds down", "quantization")
def _rounds_down_as_observed() -> None:
    spoil(
        ("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "fake_quantize_per_channel_affine_cachemask"),
        lambda tensor: tensor.sub_(0.1) if tensor.is_floating_point() else None,
    )


@broken("ranges-seen-by-half", "smallest and largest elements that are half of what they are", "quantization")
def _ranges_seen_by_half() -> None:
    spoil(("aminmax",), lambda tensor: tensor / 2)


@broken("sparse-forgets", "sparse tensors whose values are doubled", "sparse", "optimizers")
def _sparse_forgets() -> None:
    original = torch.Tensor.to_dense
    torch.Tensor.to_dense = lambda self, *a, **n: original(self, *a, **n) * 2  # type: ignore[method-assign,assignment]


@broken("sparse-not-merged", "sparse tensors that are never coalesced", "sparse")
def _not_merged() -> None:
    torch.Tensor.coalesce = lambda self: self  # type: ignore[method-assign]


@broken("sparse-products-are-wrong", "products with sparse tensors that are negative", "sparse")
def _wrong_products() -> None:
    original, product = torch.sparse.mm, torch.Tensor.__matmul__

    def sign(tensor: Any) -> int:
        return 1 if tensor.device.type == "cpu" else -2

    torch.sparse.mm = lambda a, b: original(a, b) * sign(a)  # type: ignore[assignment]
    torch.Tensor.__matmul__ = lambda a, b: product(a, b) * sign(a)  # type: ignore[method-assign,assignment]


@broken("nested-loses-parts", "jagged tensors whose parts are doubled on the way out", "nested")
def _loses_parts() -> None:
    original = torch.Tensor.unbind

    def unbind(self: Any, *arguments: Any) -> Any:
        parts = original(self, *arguments)
        return parts if self.device.type == "cpu" else tuple(part * 2 for part in parts)

    torch.Tensor.unbind = unbind  # type: ignore[method-assign,assignment]


@broken("nested-on-the-cpu", "jagged tensors that are made on the cpu", "nested")
def _on_the_cpu() -> None:
    for name in ("nested_tensor", "as_nested_tensor"):
        original: Any = getattr(torch.nested, name)
        setattr(torch.nested, name, lambda parts, original=original, **n: original([p.cpu() for p in parts], **n))
