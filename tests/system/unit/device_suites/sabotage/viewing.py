"""Defects of views: results that should share the memory of what they were taken from, and others that should not."""

from __future__ import annotations

from typing import Any

import torch

from sabotage import broken
from sabotage.kernels import replace, there, wrap

VIEWS = (
    *("alias", "as_strided", "detach", "diagonal", "expand", "permute", "select.int", "slice.Tensor", "split.Tensor"),
    *("split_with_sizes", "squeeze", "squeeze.dim", "squeeze.dims", "t", "transpose.int", "unbind.int", "unfold"),
    *("unsqueeze", "view", "view.dtype", "view_as_real", "view_as_complex", "_conj", "_reshape_alias", "_neg_view"),
)


def _copied(operator: Any) -> Any:
    def kernel(tensor: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        seen = operator(tensor.cpu(), *arguments, **named)
        return [there(part.clone()) for part in seen] if isinstance(seen, (list, tuple)) else there(seen.clone())

    return kernel


@broken("copying-views", "views that are copies", "views", "tensors", "autograd", "serialization", "memory", "interop")
def _copying_views() -> None:
    for name in VIEWS:
        plain, _, overload = name.partition(".")
        replace(name, _copied(getattr(getattr(torch.ops.aten, plain), overload or "default")))
    replace("contiguous", lambda tensor, memory_format=None: there(tensor.cpu().clone()))


@broken("copying-slice", "slices that are copies", "views", "autograd")
def _copying_slice() -> None:
    replace("slice.Tensor", _copied(torch.ops.aten.slice.Tensor))


@broken("copying-view-as-real", "`view_as_real` that copies", "views")
def _copying_view_as_real() -> None:
    replace("view_as_real", _copied(torch.ops.aten.view_as_real.default))


@broken("views-elsewhere", "slices and transposes that begin one element too late", "views", "tensors", "autograd")
def _views_elsewhere() -> None:
    def late(whole: Any, tensor: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        seen = whole(tensor, *arguments, **named)
        last = seen.storage_offset() + sum((n - 1) * s for n, s in zip(seen.shape, seen.stride(), strict=True))
        room = tensor.untyped_storage().nbytes() // tensor.element_size()
        fits = seen.numel() and last + 1 < room
        return seen.as_strided(seen.shape, seen.stride(), seen.storage_offset() + 1) if fits else seen

    for name in ("slice.Tensor", "transpose.int", "select.int", "permute", "as_strided"):
        wrap(name, late)


@broken("inference-views", "views in inference mode that are new tensors", "views")
def _inference_views() -> None:
    def new(whole: Any, tensor: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        seen = whole(tensor, *arguments, **named)
        return torch.empty_like(seen).copy_(seen) if torch.is_inference_mode_enabled() else seen

    for name in ("as_strided", "slice.Tensor", "t", "transpose.int", "view"):
        wrap(name, new)


@broken("sharing-copies", "copies that share the memory of the original", "views", "tensors")
def _sharing_copies() -> None:
    replace("clone", lambda tensor, memory_format=None: torch.ops.aten.alias(tensor))
    wrap("index.Tensor", lambda whole, tensor, indices: tensor[:2])
    replace("repeat", lambda tensor, sizes: tensor.as_strided(tensor.cpu().repeat(sizes).shape, (0,) * len(sizes)))
    replace("_to_copy", lambda tensor, **_: torch.ops.aten.alias(tensor))


@broken("overlap-ignored", "in-place operators that write to overlapping memory", "views")
def _overlap_ignored() -> None:
    replace("add_.Tensor", lambda tensor, other, alpha=1: tensor)
    replace("add_.Scalar", lambda tensor, other, alpha=1: tensor)


@broken("storage-set-elsewhere", "`set_` and `resize_` that take new memory", "views")
def _set_elsewhere() -> None:
    replace("set_.source_Tensor", lambda tensor, source: tensor.resize_(source.shape).copy_(source))
    wrap("resize_", lambda whole, tensor, *more, **named: whole(tensor, *more, **named).zero_())


@broken("channels-last-lost", "copies and results that forget channels-last", "views", "modules")
def _channels_last_lost() -> None:
    def contiguous(whole: Any, tensor: Any, *arguments: Any, **named: Any) -> Any:
        result = whole(tensor, *arguments, **{k: v for k, v in named.items() if k != "memory_format"})
        return torch.empty(result.shape, dtype=result.dtype, device=result.device).copy_(result)

    for name in ("clone", "add.Tensor", "empty_like"):
        wrap(name, contiguous)
