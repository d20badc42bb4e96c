"""Samples of operators: copied to a device as they are, and shown in a line. Needs torch.

A sample is whatever a call takes: tensors, numbers, modules, and lists, tuples and mappings of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.tolerance import EXACT

MAX_CHARACTERS = 400


@dataclass(frozen=True)
class Arguments:
    """What an operator is called with."""

    positional: tuple[Any, ...]
    named: Mapping[str, Any]

    def tensors(self) -> list[torch.Tensor]:
        """Every tensor, in order."""
        return [
            leaf for leaf in torch.utils._pytree.tree_leaves((self.positional, dict(self.named))) if _is_tensor(leaf)
        ]


def unchanged(made: Any) -> Any:
    """What was made, as it is."""
    return made


@dataclass(frozen=True)
class Sample:
    """One call.

    Attributes:
        number: which of torch's samples it is, from 1.
        arguments: what the call gets, on the cpu.
        to_differentiate: makes of the result what can be differentiated, where a part of it is arbitrary.
        raises: the class of exception that torch's list names, for a call that is wrong.
        kind: how it differs from torch's sample, for a variation of it.

    """

    number: int
    arguments: Arguments
    to_differentiate: Any = unchanged
    raises: type[BaseException] | None = None
    kind: str = ""

    @property
    def title(self) -> str:
        """Which call it is, in a few words."""
        return f"sample {self.number} {self.kind}".rstrip()


@dataclass
class Placing:
    """Copies samples to a device, with their strides, offsets, conjugate and negative bits, and what they share.

    Attributes:
        device: where the copies are.
        exact: whether what is floating or complex becomes float64 or complex128.
        moved: how many tensors, modules and device names were put there.

    """

    device: torch.device
    exact: bool = False
    moved: int = 0
    _tensors: dict[int, torch.Tensor] = field(default_factory=dict)
    _storages: dict[tuple[int, torch.dtype], torch.Tensor] = field(default_factory=dict)

    def arguments(self, given: Arguments, *, on_host: int | None = None) -> Arguments:
        """A copy of a sample, without the positional argument that stays where it is."""
        return Arguments(
            tuple(value if index == on_host else self._value(value) for index, value in enumerate(given.positional)),
            {name: self._value(value) for name, value in given.named.items()},
        )

    def _value(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self._tensors:
                self._tensors[id(value)] = self._tensor(value)
            return self._tensors[id(value)]
        if isinstance(value, torch.nn.Module):
            self.moved += 1
            module = deepcopy(value).to(self.device)
            return module.double() if self.exact else module
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if type(value) is tuple:
            return tuple(self._value(item) for item in value)
        if isinstance(value, dict):
            return {key: self._value(item) for key, item in value.items()}
        if (isinstance(value, torch.device) and value.type == "cpu") or (isinstance(value, str) and value == "cpu"):
            self.moved += 1
            return type(value)(self.device) if isinstance(value, str) else self.device
        if isinstance(value, torch.dtype):
            return EXACT.get(value, value) if self.exact else value
        if isinstance(value, torch.Generator):
            return torch.Generator(self.device).manual_seed(value.initial_seed())
        return value

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        self.moved += 1
        original = tensor.detach()
        if original.layout is not torch.strided or original.is_quantized or original.is_nested:
            return original.to(self.device, self._dtype(original), copy=True).requires_grad_(tensor.requires_grad)
        # The bits are taken off first, since they are no part of the memory that is copied.
        conjugate, negative = original.is_conj(), original.is_neg()
        original = original.conj() if conjugate else original
        original = torch._neg_view(original) if negative else original
        copied = self._with_strides(original)
        copied = torch._neg_view(copied) if negative else copied
        copied = copied.conj() if conjugate else copied
        return copied.requires_grad_(tensor.requires_grad)

    def _with_strides(self, original: torch.Tensor) -> torch.Tensor:
        storage = original.untyped_storage()
        whole = original.storage_offset() == 0 and storage.nbytes() == original.numel() * original.itemsize
        if whole and original.is_contiguous():
            return original.to(self.device, self._dtype(original), copy=True)
        key = (storage.data_ptr(), original.dtype)
        if key not in self._storages:
            length = storage.nbytes() // original.itemsize
            flat = torch.empty(0, dtype=original.dtype, device=original.device).set_(storage, 0, (length,), (1,))
            self._storages[key] = flat.to(self.device, self._dtype(flat), copy=True)
        return self._storages[key].as_strided(original.shape, original.stride(), original.storage_offset())

    def _dtype(self, tensor: torch.Tensor) -> torch.dtype:
        return EXACT.get(tensor.dtype, tensor.dtype) if self.exact else tensor.dtype


def shown(arguments: Arguments) -> str:
    """The arguments in a line: of tensors what they are, not their elements."""
    parts = [_shown(value) for value in arguments.positional]
    parts += [f"{name}={_shown(value)}" for name, value in arguments.named.items()]
    text = ", ".join(parts)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}..."


def _shown(value: object) -> str:
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        size = ", ".join(str(length) for length in value.shape)
        strided = value.layout is torch.strided and not value.is_nested
        if not strided:
            return f"{kind}[{size}] {str(value.layout).removeprefix('torch.')}"
        return f"{kind}[{size}]" if value.is_contiguous() else f"{kind}[{size}] with strides {value.stride()}"
    if isinstance(value, torch.nn.Module):
        return " ".join(repr(value).split())
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        inside = ", ".join(_shown(item) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    return repr(value)


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)
