"""What torch.autocast asks the device module."""

import torch

__all__ = ["get_amp_supported_dtype", "is_autocast_available"]


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]


def is_autocast_available() -> bool:
    return True
