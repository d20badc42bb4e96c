"""Parallel training: two processes, with the process group backend that torch has for the device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from harness import parallel_jobs
from harness.outcomes import unsupported
from harness.ranks import Job, Ranks, backend_for

pytestmark = pytest.mark.capability("distributed")


@pytest.fixture(scope="module")
def kept() -> Iterator[list[Ranks]]:
    """The processes that are at work, if any."""
    found: list[Ranks] = []
    yield found
    for ranks in found:
        ranks.stop()


@pytest.fixture
def ranks(device_name: str, kept: list[Ranks], tmp_path: Path) -> Ranks:
    """Two processes of one group; new ones after a failure. Without a backend torch raises an error: unsupported."""
    if not torch.distributed.is_available():
        unsupported("this torch was built without torch.distributed")
    backend = backend_for(device_name)
    if backend is None:
        unsupported("torch has no process group backend registered for this device")
    if kept and not kept[-1].usable:
        kept.pop().stop()
    if not kept:
        kept.append(Ranks(device_name, backend, tmp_path))
    return kept[-1]


@pytest.mark.parametrize(
    "job",
    [
        parallel_jobs.all_reduce,
        parallel_jobs.broadcast,
        parallel_jobs.gather,
        parallel_jobs.reduce_scatter,
        parallel_jobs.all_to_all,
        parallel_jobs.point_to_point,
        parallel_jobs.barrier,
    ],
    ids=lambda job: str(job.__name__),
)
def test_collective_equals_cpu(ranks: Ranks, job: Job) -> None:
    """A collective of two processes gives on the device the result of arithmetic on the cpu."""
    said = ranks.run(job)
    assert not said, said


def test_data_parallel(ranks: Ranks) -> None:
    """DistributedDataParallel in two processes trains like one process with the whole batch."""
    said = ranks.run(parallel_jobs.data_parallel)
    assert not said, said


def test_fully_sharded(ranks: Ranks) -> None:
    """FSDP2 in two processes trains like one process, while each keeps a part of the weights."""
    said = ranks.run(parallel_jobs.fully_sharded)
    assert not said, said


def test_data_parallel_with_mixed_precision(ranks: Ranks) -> None:
    """DistributedDataParallel under autocast follows the float32 training of one process, with float32 weights."""
    said = ranks.run(parallel_jobs.data_parallel_mixed)
    assert not said, said


def test_fully_sharded_with_mixed_precision(ranks: Ranks) -> None:
    """FSDP2 that computes in bfloat16 follows the float32 training of one process, with float32 weights."""
    said = ranks.run(parallel_jobs.fully_sharded_mixed)
    assert not said, said


def test_distributed_tensor(ranks: Ranks) -> None:
    """DTensor operations on two processes give the results of whole tensors."""
    said = ranks.run(parallel_jobs.distributed_tensor)
    assert not said, said


@pytest.mark.core_defect("pipeline-cuda-generator")
def test_pipeline(ranks: Ranks) -> None:
    """A model cut in two runs in two processes, with the gradients of the whole model on the cpu."""
    said = ranks.run(parallel_jobs.pipeline)
    assert not said, said
