"""A device written in Python alone, with torch's Python back end for PrivateUse1.

Its tensors are opaque: each has a shape and a dtype, and no memory or strides that anybody could read. It is
synchronous, has one card, and no streams, generator, allocator, pinned memory or storage of its own; whatever operator
it is asked for, it computes with the cpu. What it does not have it refuses in the words of torch.
"""

from __future__ import annotations

import os
from functools import cache, partial
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "pythononly"
GRADIENTS = True
"""Whether it has them; else it is for inference only."""
FORKS = True
"""Whether a forked process can use it; else it refuses, as a driver does that keeps threads and a connection."""
DIRECT = (
    "alias",
    "detach",
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
    "t",
    "transpose.int",
    "unbind.int",
    "unfold",
    "unsqueeze",
)
"""Operators that torch itself would compute with `as_strided`; this device tells nothing of strides."""


class Module:
    """``torch.pythononly``, with what torch cannot do without."""

    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 1)
    current_device = staticmethod(lambda: 0)
    _is_in_bad_fork = staticmethod(lambda: False)


class Hooks(torch._C._acc.PrivateUse1Hooks):
    """What torch asks about the device."""

    def is_available(self) -> bool:
        """Whether it can be used."""
        return True

    def is_built(self) -> bool:
        """Whether it was compiled in."""
        return True

    def has_primary_context(self, card: int) -> bool:
        """Whether a card is in use; autograd asks it first."""
        if not GRADIENTS:
            raise NotImplementedError(
                "You should register `PrivateUse1HooksInterface` and implement `hasPrimaryContext`"
            )
        return True


class OnDevice(torch.Tensor):
    """A class of its own makes torch copy its tensors by what is in them, and not by their memory."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __format__(self, spec: str) -> str:
        """As torch formats a number of a class that is its own."""
        return format(self.item(), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Without memory there is nothing to save."""
        raise NotImplementedError(f"a tensor of {NAME} has no storage that could be saved")


class Kernels:
    """What the dispatcher calls. What a tensor holds is found by its storage, which torch's copies of it share."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[StorageWeakRef, torch.Tensor]] = {}
        self._room = 1024
        self._process = os.getpid()

    def compute(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """Run any operator on the cpu; what it wrote to is given back as it was given."""
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if any(tensor.is_cpu and tensor.dim() for tensor in tensors) and "index" not in op.__name__:
            raise RuntimeError(f"Expected all tensors to be on the same device, found {NAME}:0 and cpu")
        given = {id(self._held(leaf)): leaf for leaf in tensors if not leaf.is_cpu}
        made = op(*pytree.tree_map(self._to_host, args), **pytree.tree_map(self._to_host, kwargs))
        for leaf in given.values():
            if leaf.shape != self._held(leaf).shape:  # an `out=` that was resized
                leaf.data = self._put(self._held(leaf))
        return pytree.tree_map(lambda value: given.get(id(value), self._to_device(value)), made)

    def copy_from(self, source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        """Copy to, from or on the device."""
        self._to_host(target).copy_(self._to_host(source))
        return target

    def view(self, tensor: torch.Tensor, size: Any) -> torch.Tensor:
        """A view, or a copy where the cpu has none: torch takes every tensor of this device for a contiguous one."""
        return self._put(self._held(tensor).reshape(size))

    @staticmethod
    def as_strided(tensor: torch.Tensor, *_: Any) -> torch.Tensor:
        """Tensors without strides cannot be seen with others."""
        raise NotImplementedError(f"aten::as_strided is not implemented for {NAME}: its tensors have no strides")

    def _put(self, value: torch.Tensor) -> torch.Tensor:
        if not FORKS and os.getpid() != self._process:
            raise RuntimeError(f"{NAME} cannot be used in a forked process; start it with the method `spawn`")
        made: torch.Tensor = torch._C._acc.create_empty_tensor(value.shape, value.dtype)
        made.__class__ = OnDevice
        storage = made.untyped_storage()
        self._kept[storage._cdata] = StorageWeakRef(storage), value
        if len(self._kept) > self._room:
            self._kept = {key: kept for key, kept in self._kept.items() if not kept[0].expired()}
            self._room = max(1024, 2 * len(self._kept))
        return made

    def _held(self, tensor: torch.Tensor) -> torch.Tensor:
        return self._kept[tensor.untyped_storage()._cdata][1]

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


@cache
def register() -> tuple[object, ...]:
    """Make the device known to torch, once; what is returned has to live as long as the process."""
    _setup_privateuseone_for_python_backend(NAME, Module(), Hooks())
    kernels = Kernels()
    every, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    every.fallback(kernels.compute, "PrivateUse1")
    aten.impl("_copy_from", kernels.copy_from, "PrivateUse1")
    aten.impl("view", kernels.view, "PrivateUse1")
    aten.impl("as_strided", kernels.as_strided, "PrivateUse1")
    for name in DIRECT:
        packet, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        aten.impl(name, partial(kernels.compute, op), "PrivateUse1")
    return every, aten
