"""Streams and events under the names that device-neutral code expects here."""

from typing import Any, Optional

import torch
from torch_openreg.openreg.device import DeviceLike, index_of

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]

# PyTorch's own classes: without a device they mean the current accelerator, and
# its checks insist on exactly these types.
Stream = torch.Stream
Event = torch.Event


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
