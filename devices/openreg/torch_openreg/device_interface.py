"""What Dynamo and inductor ask about the device while they compile.

Importing this module registers the interface; it is imported with Dynamo's own.
"""

from typing import Any

import torch
import torch_openreg.openreg as device_module
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device
from torch_openreg import _C


def raw_stream(device_index: int) -> int:
    return torch.accelerator.current_stream(device_index).stream_id


class _Interface(DeviceInterface):
    device = device_module.device
    Event = torch.Event
    Stream = torch.Stream

    class Worker:
        """For compilation in worker processes, which must not use the device."""

        set_device = staticmethod(device_module.set_device)
        current_device = staticmethod(device_module.current_device)
        get_device_properties = staticmethod(device_module.get_device_properties)

    current_device = staticmethod(device_module.current_device)
    set_device = staticmethod(device_module.set_device)
    device_count = staticmethod(device_module.device_count)
    is_available = staticmethod(device_module.is_available)
    synchronize = staticmethod(device_module.synchronize)
    get_device_properties = staticmethod(device_module.get_device_properties)
    get_raw_stream = staticmethod(raw_stream)

    @staticmethod
    def exchange_device(device: int) -> int:
        before = _C.current_device()
        _C.set_device(device)
        return before

    @staticmethod
    def maybe_exchange_device(device: int) -> int:
        before = _C.current_device()
        device_module.set_device(device)
        return before

    @staticmethod
    def current_stream() -> torch.Stream:
        return torch.accelerator.current_stream()

    @staticmethod
    def set_stream(stream: torch.Stream) -> None:
        torch.accelerator.set_stream(stream)

    @staticmethod
    def get_compute_capability(device: Any = None) -> str:
        return ""

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        return True

    @staticmethod
    def memory_allocated(device: Any = None) -> int:
        return torch.accelerator.memory_allocated(device)


register_interface_for_device("openreg", _Interface)
for _index in range(device_module.device_count()):
    register_interface_for_device(f"openreg:{_index}", _Interface)
