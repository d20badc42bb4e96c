"""Feeding batches to the device."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader

from harness.compare import assert_on
from harness.datasets import Counting, Squares, seeded
from harness.device import has_generator

pytestmark = [
    pytest.mark.capability("dataloader"),
    # Without a device to pin for, torch warns and goes on.
    pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true:UserWarning"),
]

LENGTH = 23
BATCH = 4

workers = pytest.mark.parametrize("count", [0, 2], ids=["in_process", "two_workers"])


def _spawned(count: int) -> str | None:
    # A driver that has begun its work in this process does not survive a fork.
    return "spawn" if count else None


@workers
@pytest.mark.parametrize("pinned", [False, True], ids=["pageable", "pinned"])
def test_an_epoch_arrives_whole(device: torch.device, count: int, pinned: bool) -> None:
    """Every sample of an epoch arrives once and unharmed through non-blocking copies to the device."""
    loader = DataLoader(
        Squares(LENGTH),
        batch_size=BATCH,
        num_workers=count,
        pin_memory=pinned,
        multiprocessing_context=_spawned(count),
    )
    vectors, squares = [], []
    for batch, numbers in loader:
        if pinned and device.type != "cpu":
            assert batch.is_pinned()
            assert numbers.is_pinned()
        vectors.append(batch.to(device, non_blocking=True))
        squares.append(numbers.to(device, non_blocking=True))
    expected = torch.arange(LENGTH)
    assert torch.equal(_joined(vectors, device), expected.float()[:, None].expand(LENGTH, 3))
    assert torch.equal(_joined(squares, device), expected**2)


def test_shuffling_is_decided_by_the_cpu_generator(device: torch.device) -> None:
    """Shuffling with a cpu generator gives the same order whatever the device does meanwhile."""

    def order() -> list[float]:
        loader = DataLoader(Squares(LENGTH), shuffle=True, generator=torch.Generator().manual_seed(3))
        seen = []
        for batch, _ in loader:
            if has_generator(device.type):
                torch.rand(5, device=device)
            seen.append(batch.to(device).cpu()[0, 0].item())
        return seen

    first = order()
    assert sorted(first) == [float(number) for number in range(LENGTH)]
    assert first == order()
    assert first != sorted(first)


def test_default_device_does_not_disturb(device: torch.device) -> None:
    """A DataLoader works while the device is the default device, with a sampler's generator there as torch asks."""
    with torch.device(device):
        loader = DataLoader(Squares(LENGTH), batch_size=BATCH, shuffle=True, generator=torch.Generator(device))
        seen = torch.cat([numbers for _, numbers in loader])
    assert_on(seen, device)
    assert sorted(seen.tolist()) == [number**2 for number in range(LENGTH)]


def test_collate_on_the_device(device: torch.device) -> None:
    """A collate function may put the batch on the device itself, in the loading process."""

    def collate(samples: list[tuple[torch.Tensor, int]]) -> torch.Tensor:
        return torch.stack([vector for vector, _ in samples]).to(device)

    batches = list(DataLoader(Squares(8), batch_size=BATCH, collate_fn=collate))
    assert torch.equal(_joined(batches, device)[:, 0], torch.arange(8.0))


def test_iterable_with_initialised_workers(device: torch.device) -> None:
    """An iterable data set is divided among spawned workers that were initialised, and persists over two epochs."""
    loader = DataLoader(
        Counting(LENGTH),
        batch_size=BATCH,
        num_workers=2,
        worker_init_fn=seeded,
        persistent_workers=True,
        pin_memory=device.type != "cpu",
        multiprocessing_context="spawn",
    )
    for _ in range(2):
        seen = _joined([batch.to(device, non_blocking=True) for batch in loader], device)
        assert torch.equal(seen.sort().values, torch.arange(float(LENGTH)))


def _joined(batches: list[torch.Tensor], device: torch.device) -> torch.Tensor:
    """All batches, which have to be on the device, together on the cpu: a device may have no `cat` and no `sort`."""
    for batch in batches:
        assert_on(batch, device)
    return torch.cat([batch.cpu() for batch in batches])
