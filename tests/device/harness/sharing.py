"""The other process in tests of tensors that go from one process to another. Needs torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import torch
import torch.multiprocessing as processes

PATIENCE_SECONDS = 90


def described(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int, list[Any]]:
    """A tensor's shape, strides, offset and elements."""
    return tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset()), tensor.tolist()


def receive(connection: Connection) -> NoReturn:
    """Take messages, each what to do and with which tensors, and answer; the last tensors stay until the next."""
    kept: tuple[torch.Tensor, ...] = ()
    while True:
        what, tensors = connection.recv()
        kept = tensors or kept
        if what == "send on":
            try:
                connection.send(kept)
            except RuntimeError as error:
                connection.send(str(error))
            continue
        if what == "add one":
            for tensor in kept:
                tensor.add_(1)
        if what == "drop":
            del tensors
            kept = ()
        connection.send([described(tensor) for tensor in kept])


def send_and_end(connection: Connection, device_name: str) -> None:
    """Send a tensor, drop it when it was taken, and end while the receiver still has it."""
    there = torch.arange(5.0, device=device_name)
    try:
        connection.send(there)
    except (RuntimeError, NotImplementedError) as error:
        connection.send(str(error))
        return
    connection.recv()
    del there


@contextmanager
def other_process(work: Any, *arguments: Any) -> Iterator[tuple[Connection, Any]]:
    """A spawned process that does ``work``, with a connection to it; it is ended if it does not end by itself."""
    context = processes.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=work, args=(theirs, *arguments), daemon=True)
    worker.start()
    try:
        yield ours, worker
    finally:
        worker.kill()
        worker.join()


def answer(connection: Connection) -> Any:
    """What the other process answers.

    Raises:
        AssertionError: nothing came in time.

    """
    assert connection.poll(PATIENCE_SECONDS), "the other process does not answer"
    return connection.recv()
