"""Defects of feeding batches."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import RandomSampler
from torch.utils.data._utils import pin_memory

from sabotage import broken


@broken("loader-does-not-pin", "a loader that pins nothing", "dataloader")
def _does_not_pin() -> None:
    pin_memory.pin_memory = lambda data, device=None: data  # type: ignore[assignment]


@broken("pinning-loses-the-end", "pinned batches whose last element is lost", "dataloader")
def _loses_the_end() -> None:
    original = torch.Tensor.pin_memory

    def pin(self: Any, *arguments: Any) -> Any:
        pinned = original(self, *arguments)
        pinned.view(-1)[-1:] = 0
        return pinned

    torch.Tensor.pin_memory = pin  # type: ignore[method-assign]


@broken("device-shuffles", "a sampler whose order the device's numbers change", "dataloader", "training")
def _device_shuffles() -> None:
    original = RandomSampler.__iter__

    def order(self: Any) -> Any:
        yield from sorted(original(self), key=lambda _: torch.rand((), device="openreg").item())

    RandomSampler.__iter__ = order  # type: ignore[method-assign]


@broken("collated-on-the-cpu", "copies of whole batches that stay on the cpu", "dataloader", "training")
def _on_the_cpu() -> None:
    original = torch.Tensor.to
    torch.Tensor.to = lambda self, *a, **n: self if self.dim() and len(self) == 4 else original(self, *a, **n)  # type: ignore[method-assign,assignment]
