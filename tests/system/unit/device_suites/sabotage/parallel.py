"""Defects of processes that work together."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from sabotage import broken


class _Nothing:
    def wait(self) -> None:
        """Come back at once."""


def _silence(*names: str) -> None:
    for name in names:
        setattr(dist, name, lambda *_, **__: _Nothing())


@broken("collectives-do-nothing", "collectives that do nothing", "distributed", fresh=True)
def _do_nothing() -> None:
    _silence("all_reduce", "broadcast", "all_gather", "all_gather_into_tensor", "gather", "scatter", "reduce")
    _silence("reduce_scatter_tensor", "reduce_scatter", "all_to_all", "all_to_all_single", "send", "recv")


@broken("only-sums", "an `all_reduce` that only sums", "distributed", fresh=True)
def _only_sums() -> None:
    original = dist.all_reduce
    dist.all_reduce = lambda tensor, op=None, **named: original(tensor, **named)


@broken("objects-do-not-travel", "collectives of objects that do nothing", "distributed", fresh=True)
def _objects() -> None:
    dist.all_gather_object = lambda objects, mine, **_: None


@broken("gradients-are-not-shared", "data-parallel training that does not share gradients", "distributed", fresh=True)
def _not_shared() -> None:
    original = DistributedDataParallel.forward

    def forward(self: Any, *arguments: Any, **named: Any) -> Any:
        with self.no_sync():
            return original(self, *arguments, **named)

    DistributedDataParallel.forward = forward  # type: ignore[method-assign]


@broken("nothing-is-sharded", "sharding that leaves every process the whole", "distributed", fresh=True)
def _not_sharded() -> None:
    import torch.distributed.fsdp as fsdp

    fsdp.fully_shard = lambda model, **_: model


@broken("parts-for-the-whole", "distributed tensors that give their part for the whole", "distributed", fresh=True)
def _parts() -> None:
    from torch.distributed.tensor import DTensor

    DTensor.full_tensor = lambda self, **_: self.to_local()  # type: ignore[method-assign]


@broken("neighbours-hear-zeros", "processes that send their neighbours zeros", "distributed", fresh=True)
def _hear_zeros() -> None:
    original = dist.P2POp.__init__

    def init(self: Any, operator: Any, tensor: torch.Tensor, *arguments: Any, **named: Any) -> None:
        # Integers are what torch tells the neighbour of shapes: without them nothing would be received at all.
        sent = torch.zeros_like(tensor) if operator is dist.isend and tensor.is_floating_point() else tensor
        original(self, operator, sent, *arguments, **named)

    dist.P2POp.__init__ = init  # type: ignore[method-assign]


@broken("no-backend", "a process group backend that cannot start", "distributed", fresh=True)
def _no_backend() -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("the communication library is not there")

    dist.init_process_group = refuse
