"""A private format: the device's note on a tensor, kept by torch.save."""

import torch
from torch_openreg import _C

__all__ = ["has_private_format", "set_private_format"]


def set_private_format(tensor: torch.Tensor, value: bool = True) -> None:
    """Note on a tensor that its memory is laid out in the device's own way."""
    _C.set_private_format(tensor, value)


def has_private_format(tensor: torch.Tensor) -> bool:
    return _C.has_private_format(tensor)
