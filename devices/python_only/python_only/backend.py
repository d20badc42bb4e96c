"""A device written in Python only, with PyTorch's Python back end for PrivateUse1.

Its tensors are opaque: PyTorch knows their shape and dtype, but neither an address nor strides. There is one
synchronous device, without streams, generator, allocator and pinned memory. Each operator runs on the CPU until a
kernel of your own is registered for it in `register`.

`Kernels._put` brings data to the device, and `Kernels._held` finds the data of a tensor. Replace them to keep data in
the memory of your device.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from copy import deepcopy as deepcopy_of
from functools import cache, partial
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch._utils import _rebuild_device_tensor_from_cpu_tensor
from torch.multiprocessing.reductions import StorageWeakRef, reduce_tensor
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from python_only.recurrent import CELLS

NAME = "pythononly"
GRADIENTS = True
"""Whether the device supports backward(); without it, it is for inference only."""
FORKS = True
"""Whether a forked process may use the device. Most drivers do not support this: they have threads and connections."""
COMPOSITE = torch._C.DispatchKeySet(torch._C.DispatchKey.CompositeExplicitAutograd)
"""Where PyTorch has kernels that are made of other operators."""
DIRECT = (
    "_conj",
    "_neg_view",
    "diagonal",
    "expand",
    "index.Tensor",
    "permute",
    "select.int",
    "slice.Tensor",
    "split.Tensor",
    "split_with_sizes",
    "squeeze",
    "squeeze.dim",
    "squeeze.dims",
    "squeeze_",
    "squeeze_.dim",
    "squeeze_.dims",
    "t",
    "t_",
    "transpose.int",
    "transpose_",
    "unbind.int",
    "unfold",
    "unsqueeze",
    "unsqueeze_",
    "view.dtype",
)
"""Operators that PyTorch would otherwise compute with `as_strided`, which needs strides, and those that mark a tensor
as conjugate or negative: a copy of a tensor with the mark does not end. Here the CPU's tensor has the mark.
"""


def _convolution_backward(grad: torch.Tensor, value: torch.Tensor, weight: torch.Tensor, *options: Any) -> Any:
    return torch.ops.aten.convolution_backward(grad, value, weight, [grad.shape[1]], *options)


INSTEAD = {
    "convolution_overrideable": torch.ops.aten.convolution.default,
    "convolution_backward_overrideable": _convolution_backward,
    **CELLS,
}
"""What the CPU computes for operators that PyTorch has for new devices only."""


class Module:
    """``torch.pythononly``, with the functions that PyTorch needs."""

    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 1)
    current_device = staticmethod(lambda: 0)
    manual_seed_all = staticmethod(lambda seed: None)
    """The device draws from the CPU's generator, which `torch.manual_seed` seeds as well."""
    get_amp_supported_dtype = staticmethod(list)
    """Without a lower precision, autocast stays off. Activation checkpoints ask for it, too."""
    process: int | None = None
    """The process that used the device first; those that it forks have others."""
    _is_in_bad_fork = staticmethod(lambda: not FORKS and Module.process not in (None, os.getpid()))


class Hooks(torch._C._acc.PrivateUse1Hooks):
    """Answers to the questions of PyTorch's C++ code."""

    def is_available(self) -> bool:
        """Whether the device can be used."""
        return True

    def is_built(self) -> bool:
        """Whether this build supports the device."""
        return True

    def has_primary_context(self, card: int) -> bool:
        """Whether the device is in use. The first backward() asks this."""
        if not GRADIENTS:
            raise NotImplementedError(
                "You should register `PrivateUse1HooksInterface` and implement `hasPrimaryContext`"
            )
        return True


def _check_process() -> None:
    if Module._is_in_bad_fork():
        raise RuntimeError(f"{NAME} cannot be used in a forked process; start it with the method `spawn`")
    Module.process = os.getpid()


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


class Kernels:
    """The kernels. The data of a tensor is found by its storage, which all Python objects of the tensor share."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[StorageWeakRef, torch.Tensor]] = {}
        self._room = 1024

    def compute(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Run an operator on the CPU. Arguments that it returns are returned as the same objects."""
        tensors = _tensors((args, kwargs))
        takes_host_indices = op.__name__.lstrip("_").startswith(("index.", "index_put")) and not args[0].is_cpu
        operands = () if takes_host_indices else (tensor for tensor in tensors if tensor.dim())
        if any(tensor.is_cpu for tensor in (*operands, *_tensors(kwargs.get("out")))):
            raise RuntimeError(f"Expected all tensors to be on the same device, found {NAME}:0 and cpu")
        given = {id(self._held(leaf)): leaf for leaf in tensors if not leaf.is_cpu}
        made = op(*pytree.tree_map(self._to_host, args), **pytree.tree_map(self._to_host, kwargs))
        for leaf in given.values():
            if leaf.shape != self._held(leaf).shape:  # an `out=` that was resized, or a view in place
                leaf.data = self._put(self._held(leaf))
        return pytree.tree_map(lambda value: given[id(value)] if id(value) in given else self._to_device(value), made)

    def copy_from(self, source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        """Copy to, from or on the device."""
        self._to_host(target).copy_(self._to_host(source))
        return target

    @staticmethod
    def to_copy(tensor: torch.Tensor, *, non_blocking: bool = False, **options: Any) -> torch.Tensor:
        """A copy that blocks: for another one, PyTorch would ask for pinned memory."""
        return torch.ops.aten._to_copy.default.redispatch(COMPOSITE, tensor, **options)

    def view(self, tensor: torch.Tensor, size: Any, *_: Any) -> torch.Tensor:
        """A view; for PyTorch's own calls, which assume contiguous tensors, a copy where the CPU has no such view.

        Those of a program have passed `check_view`.
        """
        return self._put(self._held(tensor).reshape(size))

    def view_as_real(self, tensor: torch.Tensor) -> torch.Tensor:
        """A view, or a copy of a conjugate, of which the CPU has no such view."""
        return self._put(torch.view_as_real(self._held(tensor).resolve_conj()))

    @staticmethod
    def as_strided(tensor: torch.Tensor, *_: Any) -> torch.Tensor:
        """Refuse: PyTorch believes that the tensors are contiguous, and would ask for the wrong elements."""
        raise NotImplementedError(f"aten::as_strided is not implemented for {NAME}: its tensors have no strides")

    def is_contiguous(self, tensor: torch.Tensor, memory_format: torch.memory_format) -> bool:
        """Whether the CPU's tensor has its elements in the order of the format."""
        return self._held(tensor).is_contiguous(memory_format=memory_format)

    def check_view(self, tensor: torch.Tensor, *size: Any) -> None:
        """Raise the CPU's error where it has no such view."""
        self._held(tensor).view(*size)

    def _put(self, value: torch.Tensor) -> torch.Tensor:
        _check_process()
        with torch.inference_mode(value.is_inference()):  # a view of a tensor from before inference mode is not one
            made: torch.Tensor = torch._C._acc.create_empty_tensor(value.shape, value.dtype)
        storage = made.untyped_storage()
        self._kept[storage._cdata] = StorageWeakRef(storage), value
        if len(self._kept) > self._room:
            self._kept = {key: kept for key, kept in self._kept.items() if not kept[0].expired()}
            self._room = max(1024, 2 * len(self._kept))
        return made

    def _held(self, tensor: torch.Tensor) -> torch.Tensor:
        _check_process()
        kept = self._kept.get(tensor.untyped_storage()._cdata)
        if kept is None:
            raise NotImplementedError(f"{NAME} has no data of this tensor, such as one that torch.compile makes")
        return kept[1]

    def _to_host(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value if value.is_cpu else self._held(value)
        if isinstance(value, torch.device) and value.type == NAME:
            if value.index:
                raise RuntimeError(f"device index {value.index} is out of range: {NAME} has one card")
            return torch.device("cpu")
        return value

    def _to_device(self, value: Any) -> Any:
        return self._put(value) if isinstance(value, torch.Tensor) else value


def _copied_by_elements() -> None:
    """Copy and save tensors of the device by their elements: PyTorch would take their memory.

    Tensors that share memory do not share it afterwards. PyTorch's file format from before version 1.6 is refused: it
    makes tensors before it reads their elements.
    """
    deepcopy, reduce_ex, save = torch.Tensor.__deepcopy__, torch.Tensor.__reduce_ex__, torch.serialization._legacy_save
    old_format = ContextVar("old_format", default=False)

    def copied(self: torch.Tensor, memo: Any) -> Any:
        if type(self) is not torch.Tensor or self.device.type != NAME or not self.is_leaf:
            return deepcopy(self, memo)
        if id(self) not in memo:
            made = memo[id(self)] = self.detach().clone().requires_grad_(self.requires_grad)
            made.__dict__ = deepcopy_of(self.__dict__, memo)
            if self.grad is not None:
                made.grad = copied(self.grad, memo)
        return memo[id(self)]

    def reduced(self: torch.Tensor, protocol: Any) -> Any:
        if type(self) is not torch.Tensor or self.device.type != NAME:
            return reduce_ex(self, protocol)
        if old_format.get():
            raise NotImplementedError(f"tensors of {NAME} cannot be saved in the file format from before PyTorch 1.6")
        function, words = (
            _rebuild_device_tensor_from_cpu_tensor,
            (self.detach().cpu(), self.dtype, NAME, self.requires_grad),
        )
        if self.__dict__:
            return torch._tensor._rebuild_from_type_v2, (function, torch.Tensor, words, self.__dict__)
        return function, words

    def save_in_old_format(*args: Any, **kwargs: Any) -> None:
        token = old_format.set(True)
        try:
            save(*args, **kwargs)
        finally:
            old_format.reset(token)

    torch.Tensor.__deepcopy__, torch.Tensor.__reduce_ex__ = copied, reduced
    torch.serialization._legacy_save = save_in_old_format


def _without_storage() -> None:
    """Refuse to send tensors to other processes, and storages of the device: PyTorch needs memory with an address."""
    storage_to, new_shared = torch.UntypedStorage.to, torch.UntypedStorage._new_shared.__func__

    def sent(tensor: torch.Tensor) -> Any:
        if tensor.device.type == NAME:
            raise NotImplementedError(f"a tensor of {NAME} has no memory that processes could share; send its .cpu()")
        return reduce_tensor(tensor)

    def moved(self: torch.UntypedStorage, *, device: torch.device, non_blocking: bool = False) -> torch.UntypedStorage:
        if torch.device(device).type == NAME:
            raise NotImplementedError(f"{NAME} has no memory for a storage; load the tensor to the CPU, and move it")
        return storage_to(self, device=device, non_blocking=non_blocking)

    def made_shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
        if torch.device(device).type == NAME:
            raise NotImplementedError(f"{NAME} has no memory that processes could share; let workers make CPU tensors")
        return new_shared(cls, size, device=device)

    def refused(name: str) -> Any:
        method = getattr(torch.UntypedStorage, name)

        def call(self: torch.UntypedStorage, *args: Any, **kwargs: Any) -> Any:
            if self.device.type == NAME:
                raise NotImplementedError(f"a storage of {NAME} has no elements; use the tensor")
            return method(self, *args, **kwargs)

        return call

    torch.UntypedStorage.to, torch.UntypedStorage._new_shared = moved, classmethod(made_shared)
    for name in ("clone", "copy_", "cpu", "fill_", "resize_", "share_memory_", "tolist"):
        setattr(torch.UntypedStorage, name, refused(name))
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, sent)


def _without_strides(kernels: Kernels) -> None:
    """Let contiguous() copy and view() raise where they have to: PyTorch, which knows no strides, does neither."""
    contiguous, view = torch.Tensor.contiguous, torch.Tensor.view

    def in_order(self: torch.Tensor, memory_format: torch.memory_format = torch.contiguous_format) -> torch.Tensor:
        if type(self) is torch.Tensor and self.device.type == NAME and not kernels.is_contiguous(self, memory_format):
            return self.clone(memory_format=memory_format)
        return contiguous(self, memory_format=memory_format)

    def viewed(self: torch.Tensor, *size: Any, **named: Any) -> torch.Tensor:
        if self.device.type == NAME and type(self) in (torch.Tensor, torch.nn.Parameter) and not named:
            kernels.check_view(self, *size)
        return view(self, *size, **named)

    torch.Tensor.contiguous, torch.Tensor.view = in_order, viewed


@cache
def register() -> tuple[object, ...]:
    """Register the device once. The returned libraries have to live as long as the process."""
    _setup_privateuseone_for_python_backend(NAME, Module(), Hooks())
    kernels = Kernels()
    _copied_by_elements()
    _without_storage()
    _without_strides(kernels)
    every, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    every.fallback(kernels.compute, "PrivateUse1")
    aten.impl("_copy_from", kernels.copy_from, "PrivateUse1")
    aten.impl("_to_copy", kernels.to_copy, "PrivateUse1")
    for name in ("view", "_unsafe_view", "_reshape_alias"):
        aten.impl(name, kernels.view, "PrivateUse1")
    aten.impl("view_as_real", kernels.view_as_real, "PrivateUse1")
    aten.impl("as_strided", kernels.as_strided, "PrivateUse1")
    # Module.to() keeps its Parameters, which an optimizer may hold.
    aten.impl("_has_compatible_shallow_copy_type", lambda one, other: one.layout == other.layout, "PrivateUse1")
    for name, op in INSTEAD.items():
        aten.impl(name, partial(kernels.compute, op), "PrivateUse1")
    for name in DIRECT:
        packet, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        aten.impl(name, partial(kernels.compute, op), "PrivateUse1")
    return every, aten
