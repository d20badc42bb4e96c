"""What the ranks of a process group do in the tests of parallel training. Needs torch.

Spawned processes import these functions by name, so they live in a module and not in the tests.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from harness.compare import assert_matches, numbers, put

CPU = torch.device("cpu")
MIXED_STEPS = 6


def _mine(rank: int) -> torch.Tensor:
    return numbers(4, 3, seed=rank + 1)


def _all(count: int) -> list[torch.Tensor]:
    return [_mine(rank) for rank in range(count)]


def all_reduce(device: torch.device, rank: int, count: int) -> None:
    """Sum, mean by division, product, minimum and maximum over the ranks."""
    parts = torch.stack(_all(count))
    expected = {
        dist.ReduceOp.SUM: parts.sum(0),
        dist.ReduceOp.PRODUCT: parts.prod(0),
        dist.ReduceOp.MIN: parts.amin(0),
        dist.ReduceOp.MAX: parts.amax(0),
    }
    for operation, reference in expected.items():
        mine = put(_mine(rank), device)
        dist.all_reduce(mine, op=operation)
        assert_matches(mine, reference, device)
    integers = put(torch.arange(5) + rank, device)
    work = dist.all_reduce(integers, async_op=True)
    assert work is not None
    work.wait()
    assert_matches(integers, torch.arange(5) * count + sum(range(count)), device)


def broadcast(device: torch.device, rank: int, count: int) -> None:
    """Every rank in turn gives its tensor to the others."""
    for source in range(count):
        mine = put(_mine(rank), device)
        dist.broadcast(mine, src=source)
        assert_matches(mine, _mine(source), device)


def gather(device: torch.device, rank: int, count: int) -> None:
    """All-gather, into a list and into one tensor; gather and scatter."""
    mine = put(_mine(rank), device)
    listed = [torch.empty_like(mine) for _ in range(count)]
    dist.all_gather(listed, mine)
    for seen, reference in zip(listed, _all(count), strict=True):
        assert_matches(seen, reference, device)
    whole = torch.empty(4 * count, 3, device=device)
    dist.all_gather_into_tensor(whole, mine)
    assert_matches(whole, torch.cat(_all(count)), device)
    gathered = [torch.empty_like(mine) for _ in range(count)] if rank == 0 else None
    dist.gather(mine, gathered, dst=0)
    for seen, reference in zip(gathered or [], _all(count), strict=False):
        assert_matches(seen, reference, device)
    target = torch.empty_like(mine)
    dist.scatter(target, [put(part, device) for part in _all(count)] if rank == 0 else None, src=0)
    assert_matches(target, _mine(rank), device)


def reduce_scatter(device: torch.device, rank: int, count: int) -> None:
    """Every rank gets its part of the sum; and the sum on one rank only."""
    target = torch.empty(4, 3, device=device)
    dist.reduce_scatter_tensor(target, put(torch.cat(_all(count)) * (rank + 1), device))
    assert_matches(target, _mine(rank) * sum(range(1, count + 1)), device)
    mine = put(_mine(rank), device)
    dist.reduce(mine, dst=count - 1)
    if rank == count - 1:
        assert_matches(mine, torch.stack(_all(count)).sum(0), device)


def all_to_all(device: torch.device, rank: int, count: int) -> None:
    """Every rank gives a row to every other."""
    target = torch.empty(count, 3, device=device)
    dist.all_to_all_single(target, put(numbers(count, 3, seed=rank), device))
    assert_matches(target, torch.stack([numbers(count, 3, seed=other)[rank] for other in range(count)]), device)


def point_to_point(device: torch.device, rank: int, count: int) -> None:
    """The first rank sends to the second one, which sends back, as the stages of a pipeline do."""
    tensor = put(_mine(0), device) if rank == 0 else torch.empty(4, 3, device=device)
    if rank == 0:
        dist.send(tensor, dst=1)
        dist.recv(tensor, src=1)
        assert_matches(tensor, _mine(0) * 2, device)
    elif rank == 1:
        dist.recv(tensor, src=0)
        dist.send(tensor * 2, dst=0)


def barrier(device: torch.device, rank: int, count: int) -> None:
    """Barriers let the ranks go on, and objects travel between them."""
    for _ in range(3):
        dist.barrier()
    objects: list[object] = [None] * count
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": other} for other in range(count)]


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, inputs: torch.Tensor) -> None:
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()


def _trained_alone(count: int, steps: int, dtype: torch.dtype = torch.float32) -> nn.Module:
    """The same training on the cpu, in one process with the whole batch."""
    model = _model().to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        _step(model, optimizer, numbers(4 * count, 6, seed=step).to(dtype))
    return model


def _assert_trained(parameters: Iterable[torch.Tensor], count: int, device: torch.device) -> None:
    """Assert that whole parameters are those of three steps in one process."""
    expected, exact = (_trained_alone(count, 3, dtype).parameters() for dtype in (torch.float32, torch.float64))
    for seen, reference, value in zip(parameters, expected, exact, strict=True):
        assert_matches(seen, reference, device, exact=value)


def data_parallel(device: torch.device, rank: int, count: int) -> None:
    """DistributedDataParallel, each rank with its part of the batch, trains as one process with the whole."""
    model = DistributedDataParallel(copy.deepcopy(_model()).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        _step(model, optimizer, put(numbers(4 * count, 6, seed=step)[4 * rank : 4 * rank + 4], device))
    _assert_trained(model.module.parameters(), count, device)


def fully_sharded(device: torch.device, rank: int, count: int) -> None:
    """FSDP2 (`fully_shard`) trains as one process, and each rank keeps only its part of the weights."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor

    mesh = init_device_mesh(device.type, (count,))
    model = _model().to(device)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        _step(model, optimizer, put(numbers(4 * count, 6, seed=step)[4 * rank : 4 * rank + 4], device))
    whole = []
    for seen in model.parameters():
        assert isinstance(seen, DTensor)
        whole.append(seen.full_tensor())
        assert seen.to_local().numel() < whole[-1].numel()
    _assert_trained(whole, count, device)


def _assert_followed(
    model: nn.Module, whole: Callable[[torch.Tensor], torch.Tensor], count: int, computed: set[torch.dtype]
) -> None:
    """Assert that training in a lower precision took about the steps of float32, and was in the lower precision."""
    assert computed == {torch.bfloat16}, f"the layers computed in {computed}"
    start, end = _model(), _trained_alone(count, MIXED_STEPS)
    for seen, before, after in zip(model.parameters(), start.parameters(), end.parameters(), strict=True):
        parameter = whole(seen)
        assert parameter.dtype == torch.float32
        error = (parameter.detach().cpu() - after).norm()
        assert error < 0.25 * (after - before).norm(), f"{error:.4f} away after a way of {(after - before).norm():.4f}"


def _watched(model: nn.Module) -> set[torch.dtype]:
    """The dtypes that the linear layers give, filled in as they run."""
    seen: set[torch.dtype] = set()
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(lambda _layer, _inputs, output: seen.add(output.dtype))
    return seen


def data_parallel_mixed(device: torch.device, rank: int, count: int) -> None:
    """DistributedDataParallel under autocast."""
    plain = copy.deepcopy(_model()).to(device)
    computed = _watched(plain)
    model = DistributedDataParallel(plain)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(MIXED_STEPS):
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=torch.bfloat16):
            result = model(put(numbers(4 * count, 6, seed=step)[4 * rank : 4 * rank + 4], device))
        result.float().square().mean().backward()
        optimizer.step()
    _assert_followed(model, lambda tensor: tensor, count, computed)


def fully_sharded_mixed(device: torch.device, rank: int, count: int) -> None:
    """FSDP2 with a policy of mixed precision."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    from torch.distributed.tensor import DTensor

    def whole(tensor: torch.Tensor) -> torch.Tensor:
        assert isinstance(tensor, DTensor)
        return tensor.full_tensor()

    model = _model().to(device)
    computed = _watched(model)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32)
    fully_shard(model, mesh=init_device_mesh(device.type, (count,)), mp_policy=policy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(MIXED_STEPS):
        _step(model, optimizer, put(numbers(4 * count, 6, seed=step)[4 * rank : 4 * rank + 4], device))
    _assert_followed(model, whole, count, computed)


def distributed_tensor(device: torch.device, rank: int, count: int) -> None:
    """DTensor: sharded tensors are multiplied and gathered as the whole ones."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    mesh = init_device_mesh(device.type, (count,))
    left, right = numbers(4, 6, seed=1), numbers(6, 2 * count, seed=2)
    product = distribute_tensor(put(left, device), mesh, [Replicate()]) @ distribute_tensor(
        put(right, device), mesh, [Shard(1)]
    )
    assert isinstance(product, DTensor)
    assert product.to_local().shape == (4, 2)
    assert_matches(product.full_tensor(), left @ right, device)
    rows = distribute_tensor(put(left, device), mesh, [Shard(0)])
    assert_matches(rows.redistribute(mesh, [Shard(1)]).full_tensor(), left, device)
    total = rows.sum()
    assert isinstance(total, DTensor)
    assert_matches(total.full_tensor(), left.sum(), device)


def pipeline(device: torch.device, rank: int, count: int) -> None:
    """Pipeline parallelism: each rank has one layer, activations go on and gradients come back between the ranks."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    layers = [nn.Linear(6, 6) for _ in range(count)]
    for number, layer in enumerate(layers):
        layer.load_state_dict({"weight": numbers(6, 6, seed=number), "bias": numbers(6, seed=count + number)})
    inputs, target = numbers(4, 6, seed=20), numbers(4, 6, seed=21)
    expected, exact = copy.deepcopy(nn.Sequential(*layers)), copy.deepcopy(nn.Sequential(*layers)).double()
    nn.functional.mse_loss(expected(inputs), target).backward()
    nn.functional.mse_loss(exact(inputs.double()), target.double()).backward()
    layer = layers[rank].to(device)
    schedule = ScheduleGPipe(PipelineStage(layer, rank, count, device), 2, loss_fn=nn.functional.mse_loss)
    schedule.step(*[put(inputs, device)] * (rank == 0), target=put(target, device) if rank == count - 1 else None)
    parameters = (layer.parameters(), expected[rank].parameters(), exact[rank].parameters())
    for seen, reference, value in zip(*parameters, strict=True):
        assert seen.grad is not None
        assert reference.grad is not None
        assert_matches(seen.grad, reference.grad, device, exact=value.grad)
