"""The process group backend "openreg"."""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch_openreg import _C


def _create(store: "dist.Store", rank: int, size: int, timeout: timedelta) -> "dist.Backend":
    """A backend that stages collectives through host memory and Gloo."""
    return _C.StagedBackend(dist.ProcessGroupGloo(store, rank, size, timeout))


def register() -> None:
    """Make it known, and the default for tensors on openreg.

    The devices are a list on purpose: PyTorch reads a string letter by letter.
    """
    if torch.distributed.is_available():
        dist.Backend.register_backend("openreg", _create, devices=["openreg"])
