"""Defects of page-locked memory and of the copies that use it."""

from __future__ import annotations

from typing import Any

import torch

from sabotage import DEVICE, broken
from sabotage.kernels import wrap


@broken("pins-nothing", "`pin_memory` that gives back what it got", "pinned_memory", "dataloader", fresh=True)
def _pins_nothing() -> None:
    torch.Tensor.pin_memory = lambda self, *_: self  # type: ignore[assignment,method-assign]
    torch.UntypedStorage.pin_memory = lambda self, *_: self  # type: ignore[assignment,method-assign]


@broken("factories-do-not-pin", "factories that ignore `pin_memory`", "pinned_memory")
def _factories_do_not_pin() -> None:
    for name in ("empty", "ones", "zeros", "full"):
        setattr(torch, name, _without_pinning(getattr(torch, name)))


def _without_pinning(factory: Any) -> Any:
    return lambda *arguments, pin_memory=False, **named: factory(*arguments, **named)


@broken("parts-are-not-pinned", "parts of pinned memory that are not pinned", "pinned_memory")
def _parts_are_not_pinned() -> None:
    original = torch.Tensor.is_pinned
    torch.Tensor.is_pinned = lambda self: self._base is None and original(self)  # type: ignore[method-assign]


@broken("everything-is-pinned", "memory that is all called pinned", "pinned_memory")
def _everything_is_pinned() -> None:
    torch.Tensor.is_pinned = lambda self: True  # type: ignore[method-assign]
    torch.Tensor.pin_memory = lambda self, *_: self.clone()  # type: ignore[assignment,method-assign]


@broken("overlapping-pins", "pinned blocks that overlap", "pinned_memory")
def _overlapping_pins() -> None:
    block = torch.empty(1 << 20, dtype=torch.uint8)
    original = torch.full

    def full(*arguments: Any, pin_memory: bool = False, **named: Any) -> Any:
        made = original(*arguments, **named)
        if not pin_memory:
            return made
        bytes_needed = made.numel() * made.element_size()
        return block[:bytes_needed].view(made.dtype).copy_(made)

    torch.full = full  # type: ignore[assignment]


def _half(whole: Any, source: Any, target: Any, non_blocking: bool, to_device: bool) -> Any:
    result = whole(source, target, non_blocking)
    torch.accelerator.synchronize()
    if non_blocking and (target.device.type == DEVICE) is to_device and target.numel() > 1:
        target.flatten()[target.numel() // 2 :].zero_()
    return result


@broken(
    "late-uploads",
    "non-blocking copies to the device of which half arrives",
    "pinned_memory",
    "dataloader",
    "streams_events",
)
def _late_uploads() -> None:
    wrap("_copy_from", lambda whole, source, target, wait=False: _half(whole, source, target, wait, True))


@broken("late-downloads", "non-blocking copies from the device of which half arrives", "pinned_memory")
def _late_downloads() -> None:
    wrap("_copy_from", lambda whole, source, target, wait=False: _half(whole, source, target, wait, False))
