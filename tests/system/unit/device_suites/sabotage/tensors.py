"""Defects of making, copying, converting and showing tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sabotage import DEVICE, broken
from sabotage.kernels import replace, spoil, there, wrap

COPIED = (
    *("tensors", "device", "serialization", "interop", "dataloader", "pinned_memory"),
    *("registration", "mixed_devices", "views", "sparse", "nested", "quantization"),
)


@broken("copies-lose-the-end", "copies to the device whose last element is lost", *COPIED)
def _lose_the_end() -> None:
    def copy(whole: Any, source: Any, target: Any, *more: Any) -> Any:
        result = whole(source, target, *more)
        if target.device.type == DEVICE and source.device.type == "cpu" and target.numel() > 1:
            target[tuple(size - 1 for size in target.shape)].zero_()
        return result

    wrap("_copy_from", copy)


@broken("copies-stop-early", "copies of which nothing arrives after eight megabytes", "tensors")
def _stop_early() -> None:
    def copy(whole: Any, source: Any, target: Any, *more: Any) -> Any:
        result = whole(source, target, *more)
        if target.numel() > 1 << 20:
            target.view(-1)[1 << 20 :].zero_()
        return result

    wrap("_copy_from", copy)


@broken(
    "conversions-lose-everything",
    "copies that cannot convert, and give zeros",
    "tensors",
    "device",
    "mixed_devices",
    "interop",
)
def _conversions() -> None:
    def copy(whole: Any, source: Any, target: Any, *more: Any) -> Any:
        result = whole(source, target, *more)
        return target.zero_() if source.dtype is not target.dtype else result

    wrap("_copy_from", copy)


@broken("other-items", "`item()` that gives another number", "tensors", "ops", "dataloader", "registration")
def _other_items() -> None:
    wrap(
        "_local_scalar_dense",
        lambda whole, tensor: (not whole(tensor)) if tensor.dtype is torch.bool else whole(tensor) + 1,
    )


@broken("off-by-one-factories", "factories that are one off", "tensors", "ops", "compile")
def _off_by_one() -> None:
    spoil(
        ("fill_.Scalar", "arange.start_out", "linspace.out", "eye.m_out", "zero_"),
        lambda tensor: tensor.copy_(tensor.cpu() + 1),
    )


@broken("wrong-dtypes", "factories that know float32 only", "tensors", "views", "serialization", "rng", "interop")
def _wrong_dtypes() -> None:
    def empty(whole: Any, *arguments: Any, dtype: Any = None, **named: Any) -> Any:
        return whole(*arguments, dtype=torch.float32, **named)

    wrap("empty.memory_format", empty)
    wrap("empty_strided", empty)


@broken(
    "strides-forgotten", "factories and results that forget their strides", "tensors", "views", "modules", "interop"
)
def _strides_forgotten() -> None:
    wrap("empty_strided", lambda whole, size, stride, **named: torch.empty(size, **named))
    wrap("empty.memory_format", lambda whole, size, memory_format=None, **named: whole(size, **named))


@broken("conjugates-at-once", "conjugates and negatives that are computed at once", "tensors", "views", "serialization")
def _conjugates_at_once() -> None:
    replace("_conj", lambda tensor: there(tensor.cpu().conj().resolve_conj()))
    replace("_neg_view", lambda tensor: there(-tensor.cpu()))


@broken("silent-print", "tensors that print nothing of themselves", "tensors")
def _silent_print() -> None:
    torch.Tensor.__repr__ = lambda self, **_: "tensor(...)"  # type: ignore[method-assign,assignment,misc]


@broken("twins-stay-joined", "`deepcopy` that shares with the original", "tensors", "serialization", "modules")
def _twins() -> None:
    torch.Tensor.__deepcopy__ = lambda self, memo: self.detach()  # type: ignore[method-assign,assignment,attr-defined]


@broken("twins-stay-behind", "`deepcopy` and `pickle` that end on the cpu", "tensors", "serialization", "modules")
def _stay_behind() -> None:
    torch.Tensor.__deepcopy__ = lambda self, memo: self.detach().cpu()  # type: ignore[method-assign,assignment,attr-defined]
    torch.Tensor.__reduce_ex__ = lambda self, protocol: (torch.tensor, (self.tolist(),))  # type: ignore[method-assign,assignment]
    torch.Tensor.__copy__ = lambda self: self.cpu()  # type: ignore[attr-defined]


@broken("any-shape-fits", "`copy_` that takes any shape", "tensors")
def _any_shape() -> None:
    original = torch.Tensor.copy_

    def copy(self: Any, source: Any, *more: Any, **named: Any) -> Any:
        try:
            return original(self, source, *more, **named)
        except RuntimeError:
            return self

    torch.Tensor.copy_ = copy  # type: ignore[method-assign,assignment]


@broken("storages-stay-joined", "storages whose copies are the original, and that cannot shrink", "tensors")
def _storages() -> None:
    torch.UntypedStorage.clone = lambda self: self  # type: ignore[method-assign]
    torch.UntypedStorage.resize_ = lambda self, size: self  # type: ignore[method-assign,assignment]


@broken("open-to-the-host", "tensors that numpy may look into", "tensors")
def _open_to_the_host() -> None:
    original = torch.Tensor.numpy
    torch.Tensor.numpy = lambda self, *, force=False: original(self.detach().cpu())  # type: ignore[method-assign]
    torch.Tensor.__array__ = lambda self, dtype=None, copy=None: np.asarray(original(self.detach().cpu()))  # type: ignore[method-assign,misc]


@broken("classes-forgotten", "tensors that forget their subclass", "tensors")
def _classes_forgotten() -> None:
    torch.Tensor.as_subclass = lambda self, kind: self  # type: ignore[method-assign,assignment]


@broken("meta-stays-meta", "`to_empty` that makes no memory", "tensors")
def _meta() -> None:
    torch.nn.Module.to_empty = lambda self, **_: self  # type: ignore[method-assign,assignment]


@broken("empty-is-an-error", "tensors without elements that are refused", "tensors", "serialization")
def _empty_is_an_error() -> None:
    def refuse(whole: Any, size: Any, *more: Any, **named: Any) -> Any:
        if 0 in size:
            raise RuntimeError("cannot allocate 0 bytes")
        return whole(size, *more, **named)

    wrap("empty.memory_format", refuse)
    wrap("empty_strided", refuse)


@broken("in-place-makes-another", "in-place operators that give another tensor", "ops")
def _another() -> None:
    torch.Tensor.add_ = lambda self, other, **_: self + other  # type: ignore[method-assign,assignment]


@broken("comparisons-are-floats", "comparisons that give numbers", "ops", "tensors")
def _floats() -> None:
    spoil(("gt.Scalar", "gt.Tensor"), lambda tensor: tensor.float())


@broken("no-broadcasting", "operators that do not broadcast", "ops", "autograd")
def _no_broadcasting() -> None:
    def same(whole: Any, left: Any, right: Any, *more: Any, **named: Any) -> Any:
        if isinstance(right, torch.Tensor) and right.dim() and left.shape != right.shape:
            raise RuntimeError("The shapes of the operands differ")
        return whole(left, right, *more, **named)

    for name in ("add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor"):
        wrap(name, same)
