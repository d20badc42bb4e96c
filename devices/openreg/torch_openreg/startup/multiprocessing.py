"""Tensors in queues and pipes between processes, without a copy.

A message holds a file descriptor of the storage's memory. As long as any process
has it open, or it is on its way, the sender's allocator keeps the memory. So the
sender may drop its tensor, or end, while others still use theirs.

Only storages need this: PyTorch sends a tensor as its storage, offset, sizes and
strides.
"""

import os
from multiprocessing import resource_sharer
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions
from torch_openreg import _C


def _key(file: int, offset: int) -> tuple[int, int, int]:
    found = os.fstat(file)
    return found.st_dev, found.st_ino, offset


def _rebuild(sent: "resource_sharer.DupFd", device: int, offset: int, size: int) -> torch.UntypedStorage:
    file = sent.detach()
    # Views of one storage share it on arrival, too.
    key = _key(file, offset)
    known = reductions.storage_from_cache(torch.UntypedStorage, key)
    if known is not None:
        os.close(file)
        return known
    try:
        storage = _C.open_shared(file, device, offset, size)
    except BaseException:
        os.close(file)
        raise
    reductions.shared_cache[key] = reductions.StorageWeakRef(storage)
    return storage


def _empty(device: str) -> torch.UntypedStorage:
    return torch.UntypedStorage(0, device=device)


def _reduce(storage: torch.UntypedStorage) -> Any:
    if storage.device.type != "openreg":
        return reductions.reduce_storage(storage)
    if storage.nbytes() == 0:
        return _empty, (str(storage.device),)
    file, device, offset, size = _C.share(storage)
    try:
        # As PyTorch does: a message to oneself arrives as what was sent.
        reductions.shared_cache[_key(file, offset)] = reductions.StorageWeakRef(storage)
        return _rebuild, (resource_sharer.DupFd(file), device, offset, size)
    finally:
        os.close(file)


def register() -> None:
    """Send storages of ours our way; all others go where they went before."""
    ForkingPickler.register(torch.UntypedStorage, _reduce)
