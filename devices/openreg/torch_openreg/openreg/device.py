"""Choosing a device and asking about it."""

from types import SimpleNamespace
from typing import Any, Optional, Union

import torch
from torch_openreg import _C

__all__ = [
    "_is_in_bad_fork",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_device_name",
    "get_device_properties",
    "init",
    "is_available",
    "is_initialized",
    "lose_device",
    "reset_device",
    "set_device",
    "synchronize",
]

DeviceLike = Union[int, str, torch.device, None]


def index_of(device: DeviceLike) -> int:
    """The index that `device` means; the current one for ``None`` and ``"openreg"``.

    Raises:
        ValueError: for another device type.
    """
    if device is None:
        return _C.current_device()
    if isinstance(device, int):
        return device
    device = torch.device(device)
    if device.type != "openreg":
        raise ValueError(f"Expected a device of type openreg, got {device}")
    return _C.current_device() if device.index is None else device.index


def device_count() -> int:
    return _C.device_count()


def is_available() -> bool:
    return _C.device_count() > 0


def is_initialized() -> bool:
    return _C.is_initialized() and not _C.is_in_bad_fork()


def init() -> None:
    """Nothing to do: the runtime initialises itself on first use."""


def _is_in_bad_fork() -> bool:
    return _C.is_in_bad_fork()


def current_device() -> int:
    return _C.current_device()


def set_device(device: DeviceLike) -> None:
    """Set the calling thread's device; a negative index changes nothing."""
    index = index_of(device)
    if index >= 0:
        _C.set_device(index)


def synchronize(device: DeviceLike = None) -> None:
    """Wait for all streams of the device and raise what went wrong on them."""
    _C.synchronize(index_of(device))


def lose_device(device: DeviceLike = None) -> None:
    """Make the device fail every call, as if it had dropped off the bus."""
    _C.lose_device(index_of(device))


def reset_device(device: DeviceLike = None) -> None:
    """Bring a lost device back; work that was queued on it is gone."""
    _C.reset_device(index_of(device))


def get_device_name(device: DeviceLike = None) -> str:
    return get_device_properties(device).name


def get_device_properties(device: DeviceLike = None) -> SimpleNamespace:
    index = index_of(device)
    free_total = torch.accelerator.get_memory_info(index)
    return SimpleNamespace(
        name="OpenReg simulated accelerator",
        index=index,
        total_memory=free_total[1],
        multi_processor_count=1,
    )


class device:  # noqa: N801  lower case, as torch.cuda.device
    """Context manager: `device` is current inside, the previous one after."""

    def __init__(self, device: DeviceLike) -> None:
        self.idx = index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> "device":
        self.prev_idx = _C.current_device()
        if self.idx >= 0:
            _C.set_device(self.idx)
        return self

    def __exit__(self, *exception: Any) -> None:
        _C.set_device(self.prev_idx)


class device_of(device):  # noqa: N801
    """Context manager: the device of `obj`, or no change for a host tensor."""

    def __init__(self, obj: Any) -> None:
        index: Optional[int] = obj.device.index if obj.device.type == "openreg" else None
        super().__init__(-1 if index is None else index)
