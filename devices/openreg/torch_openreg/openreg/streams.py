"""Streams and events, as the classes that device-neutral code expects here."""

from typing import Any, Optional

import torch
from torch_openreg.openreg.device import DeviceLike, index_of


class Stream(torch.Stream):
    """A queue of work on one device, served by a thread of its own."""

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **kwargs: Any) -> "Stream":
        if "stream_id" in kwargs:
            return super().__new__(cls, **kwargs)
        return super().__new__(cls, device=torch.device("openreg", index_of(device)), priority=priority)


class Event(torch.Event):
    """A point in a stream's work that can be waited for and timed."""

    def __new__(cls, enable_timing: bool = False, **kwargs: Any) -> "Event":
        return super().__new__(cls, device=torch.device("openreg", index_of(None)), enable_timing=enable_timing)


def current_stream(device: DeviceLike = None) -> torch.Stream:
    return torch.accelerator.current_stream(index_of(device))


def default_stream(device: DeviceLike = None) -> torch.Stream:
    return torch.Stream(stream_id=0, device_index=index_of(device), device_type=_device_type())


def set_stream(stream: Optional[torch.Stream]) -> None:
    """Make `stream` current on its device, which becomes the current device."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: `stream` is current inside; ``None`` changes nothing."""

    def __init__(self, stream: Optional[torch.Stream]) -> None:
        self.stream = stream

    def __enter__(self) -> "StreamContext":
        if self.stream is not None:
            self.stream.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            self.stream.__exit__(*exception)


def stream(stream: Optional[torch.Stream]) -> StreamContext:
    return StreamContext(stream)


def _device_type() -> int:
    return int(torch._C._autograd.DeviceType.PrivateUse1)
