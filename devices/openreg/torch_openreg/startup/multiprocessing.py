"""Tensors in queues and pipes between processes.

Device memory of one process is not visible in another, so a tensor travels as a
copy through the host's shared memory. That differs from sharing in one way: the
receiver's writes are its own.
"""

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions


def _rebuild(rebuild: Callable[..., torch.Tensor], arguments: Any, device: str, requires_grad: bool, cls: type) -> Any:
    tensor = rebuild(*arguments).to(device)
    if issubclass(cls, torch.nn.Parameter):
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_(requires_grad)


def _reduce(tensor: torch.Tensor) -> Any:
    if tensor.device.type != "openreg":
        return reductions.reduce_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "a tensor that is part of an autograd graph cannot go to another process: detach() it first"
        )
    rebuild, arguments = reductions.reduce_tensor(tensor.detach().cpu())
    return _rebuild, (rebuild, arguments, str(tensor.device), tensor.requires_grad, type(tensor))


def register() -> None:
    """Send tensors of ours our way; all others go where they went before."""
    for cls in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(cls, _reduce)
