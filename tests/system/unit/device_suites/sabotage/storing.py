"""Defects of the device's memory."""

from __future__ import annotations

from typing import Any

import torch

from sabotage import DEVICE, broken
from sabotage.kernels import KEPT, wrap

MIB = 1024 * 1024


@broken("little-memory", "eight megabytes of memory", "memory", "tensors", "pinned_memory")
def _little_memory() -> None:
    # The variable for this is read when the device is imported, which was before the fork.
    for index in range(torch.accelerator.device_count()):
        torch.get_device_module(DEVICE).set_memory_limit(8 * MIB, index)


def _keep() -> None:
    KEPT.append(torch.empty(10, device=DEVICE))


@broken("leaking-backward", "forty bytes lost in every backward", "memory")
def _leaking_backward() -> None:
    original = torch.Tensor.backward

    def backward(self: Any, *arguments: Any, **named: Any) -> None:
        _keep()
        original(self, *arguments, **named)

    torch.Tensor.backward = backward  # type: ignore[method-assign]


@broken("leaking-errors", "memory lost whenever a product is refused", "memory")
def _leaking_errors() -> None:
    def product(whole: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return whole(*arguments, **named)
        except RuntimeError:
            _keep()
            raise

    wrap("mm", product)


@broken("leaking-copies", "memory lost in every copy", "memory")
def _leaking_copies() -> None:
    def copy(whole: Any, *arguments: Any) -> Any:
        _keep()
        return whole(*arguments)

    wrap("_copy_from", copy)


@broken("never-given-back", "memory that is never given back", "memory")
def _never_given_back() -> None:
    def empty(whole: Any, *arguments: Any, **named: Any) -> Any:
        made = whole(*arguments, **named)
        KEPT.append(made)
        return made.view_as(made)

    wrap("empty.memory_format", empty)


@broken("uncounted-memory", "memory that is not counted", "memory")
def _uncounted() -> None:
    torch.accelerator.memory_allocated = lambda *_: 0


@broken("shared-count", "one count of memory for all cards", "memory")
def _shared_count() -> None:
    original = torch.accelerator.memory_allocated
    count = torch.accelerator.device_count()
    torch.accelerator.memory_allocated = lambda *_: sum(original(index) for index in range(count))


@broken("peak-that-stays", "a peak that is never reset", "memory")
def _peak_that_stays() -> None:
    torch.accelerator.reset_peak_memory_stats = lambda *_: None


@broken("cache-that-stays", "a cache that is never emptied", "memory")
def _cache_that_stays() -> None:
    torch.accelerator.empty_cache = lambda: None


@broken("host-cache-in-use", "an `empty_host_cache` that takes what is in use", "memory")
def _host_cache_in_use() -> None:
    pinned: list[torch.Tensor] = []
    original = torch.Tensor.pin_memory

    def pin_memory(self: Any, *arguments: Any) -> Any:
        pinned.append(original(self, *arguments))
        return pinned[-1]

    torch.Tensor.pin_memory = pin_memory  # type: ignore[assignment,method-assign]
    torch.accelerator.empty_host_cache = lambda: [tensor.zero_() for tensor in pinned]  # type: ignore[assignment,return-value]


@broken("statistics-disagree", "statistics that disagree with each other", "memory")
def _statistics_disagree() -> None:
    original = torch.accelerator.memory_stats
    torch.accelerator.memory_stats = lambda *a: {key: value // 2 for key, value in original(*a).items()}


@broken("free-without-bound", "more free memory than there is", "memory")
def _free_without_bound() -> None:
    original = torch.accelerator.get_memory_info
    torch.accelerator.get_memory_info = lambda *a: (original(*a)[1] + 1, original(*a)[1])


@broken("plain-out-of-memory", "a lack of memory that is told as any other error", "memory")
def _plain_out_of_memory() -> None:
    def empty(whole: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return whole(*arguments, **named)
        except torch.OutOfMemoryError as error:
            raise RuntimeError("allocation failed") from error

    wrap("empty.memory_format", empty)


@broken("immortal-tensors", "tensors that nobody can get rid of", "tensors", "memory")
def _immortal() -> None:
    original = torch.Tensor.to

    def to(self: Any, *arguments: Any, **named: Any) -> Any:
        made = original(self, *arguments, **named)
        KEPT.append(made)
        return made

    torch.Tensor.to = to  # type: ignore[method-assign,assignment]
