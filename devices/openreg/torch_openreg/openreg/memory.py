"""Memory statistics. PyTorch's accelerator API has them all; these are the usual names."""

from typing import Any

import torch
from torch_openreg import _C
from torch_openreg.openreg.device import DeviceLike, index_of

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_memory_limit",
]


def empty_cache() -> None:
    torch.accelerator.empty_cache()


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    return torch.accelerator.memory_stats(index_of(device))


def memory_allocated(device: DeviceLike = None) -> int:
    return torch.accelerator.memory_allocated(index_of(device))


def max_memory_allocated(device: DeviceLike = None) -> int:
    return torch.accelerator.max_memory_allocated(index_of(device))


def memory_reserved(device: DeviceLike = None) -> int:
    return torch.accelerator.memory_reserved(index_of(device))


def max_memory_reserved(device: DeviceLike = None) -> int:
    return torch.accelerator.max_memory_reserved(index_of(device))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    torch.accelerator.reset_peak_memory_stats(index_of(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    torch.accelerator.reset_accumulated_memory_stats(index_of(device))


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total bytes of the device."""
    return torch.accelerator.get_memory_info(index_of(device))


def set_memory_limit(total_bytes: int, device: DeviceLike = None) -> None:
    """Let the device have `total_bytes`, so that running out can be tested."""
    _C.set_memory_limit(index_of(device), total_bytes)
