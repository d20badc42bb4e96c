"""Defects of tensors that go from one process to another."""

from __future__ import annotations

import fcntl
import os
import struct
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions

from sabotage import DEVICE, broken

_UNLOCK = struct.pack("hhqqi4x", fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
"""A `struct flock` for the whole file."""


def _reducing(change: Any) -> None:
    """Change what becomes of a storage of the device that is sent: `change` gets it, and the way as it was."""
    original = ForkingPickler._extra_reducers[torch.UntypedStorage]  # type: ignore[attr-defined]

    def reduce(storage: Any) -> Any:
        return original(storage) if storage.device.type != DEVICE else change(storage, original)

    ForkingPickler.register(torch.UntypedStorage, reduce)


def _copied(on_the_cpu: torch.UntypedStorage) -> torch.UntypedStorage:
    return on_the_cpu.to(device=DEVICE)


@broken("sends-copies", "tensors that arrive in another process as copies", "multiprocessing", fresh=True)
def _sends_copies() -> None:
    _reducing(lambda storage, original: (_copied, (storage.cpu(),)))


@broken("sends-without-offset", "tensors that lose their offset on the way", "multiprocessing", fresh=True)
def _sends_without_offset() -> None:
    def reduce(tensor: Any) -> Any:
        rebuild, (cls, storage, metadata) = reductions.reduce_tensor(tensor)
        return rebuild, (cls, storage, (0, *metadata[1:]))

    ForkingPickler.register(torch.Tensor, reduce)


@broken("sends-on-nonsense", "received tensors that are sent on as zeros", "multiprocessing", fresh=True)
def _sends_on_nonsense() -> None:
    def reduce(storage: Any, original: Any) -> Any:
        try:
            return original(storage)
        except RuntimeError:
            return _copied, (torch.UntypedStorage(storage.nbytes()).fill_(0),)

    _reducing(reduce)


@broken(
    "refuses-without-reason", "received tensors that cannot be sent on, without a reason", "multiprocessing", fresh=True
)
def _refuses_without_reason() -> None:
    def reduce(storage: Any, original: Any) -> Any:
        try:
            return original(storage)
        except RuntimeError:
            raise RuntimeError("error 201") from None

    _reducing(reduce)


@broken("shared-memory-is-reused", "memory that is reused while another process has it", "multiprocessing", fresh=True)
def _memory_is_reused() -> None:
    def reduce(storage: Any, original: Any) -> Any:
        rebuild, arguments = original(storage)
        if storage.nbytes() == 0:
            return rebuild, arguments
        # The claim goes with the descriptor's last copy; without it nobody knows of the other process.
        file = arguments[0].detach()
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _UNLOCK)  # type: ignore[attr-defined]
        sent = type(arguments[0])(file)
        os.close(file)
        return rebuild, (sent, *arguments[1:])

    _reducing(reduce)


@broken("sender-ends-badly", "processes that end badly while another has their memory", "multiprocessing", fresh=True)
def _ends_badly() -> None:
    import atexit

    def reduce(storage: Any, original: Any) -> Any:
        atexit.register(os._exit, 134)
        return original(storage)

    _reducing(reduce)
