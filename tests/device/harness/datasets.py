"""Data sets and worker functions. They live in a module of their own so that spawned workers can import them."""

from __future__ import annotations

from multiprocessing.connection import Connection

import torch
from torch.utils.data import Dataset, IterableDataset


class Squares(Dataset[tuple[torch.Tensor, int]]):
    """Pairs of a vector filled with n and the number n squared."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((3,), float(index)), index * index


class Counting(IterableDataset[torch.Tensor]):
    """The numbers 0 to ``length`` - 1, divided among the workers."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self):  # type: ignore[no-untyped-def]
        info = torch.utils.data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(torch.tensor(float(number)) for number in range(first, self.length, step))


def seeded(worker: int) -> None:
    """A worker's own initialisation."""
    torch.manual_seed(1000 + worker)


def compute_on(device_name: str, numbers: list[float]) -> list[float]:
    """Double some numbers on the device; the work of a spawned process."""
    there = torch.tensor(numbers, device=device_name)
    return [float(number) for number in (there * 2).cpu().tolist()]


def double_what_comes(connection: Connection) -> None:
    """Receive a tensor, send back its double, and keep that until it was taken."""
    result = connection.recv().detach() * 2
    connection.send(result)
    connection.recv()
