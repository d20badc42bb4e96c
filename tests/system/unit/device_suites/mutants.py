"""Kernels of the reference device that are wrong in one way each: every way on every kernel that can be wrong so.

A pytest plugin (``-p mutants``) for the Python that has torch and the reference device. The variable ``OPS_MUTANT``
names the mutant, as ``WAY / KERNEL``. The set was fixed before any of it was run: it measures the suites, which are not
made for it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

DEVICE = "openreg"
BLOCK = 65_536
EVERY = 5
"""Which call is wrong where one of several is."""
DRAWN = 20

_REGISTERED: list[Any] = []
"""Registrations last as long as these objects."""


@dataclass(frozen=True)
class Kernel:
    """A kernel, by its operator in torch's list.

    Attributes:
        overload: what is registered.
        accumulates: whether it adds or multiplies many elements to one.
        keeps_format: whether the result of a channels-last tensor is one.
        is_floating: whether it computes with NaN as a number that is lost or kept.

    """

    overload: str
    accumulates: bool = False
    keeps_format: bool = False
    is_floating: bool = True


def _pointwise(*overloads: str) -> dict[str, Kernel]:
    return {overload.partition(".")[0]: Kernel(overload, keeps_format=True) for overload in overloads}


KERNELS: dict[str, Kernel] = {
    **_pointwise("exp", "sin", "tanh", "sigmoid", "sqrt", "log", "neg", "erf", "abs"),
    **_pointwise("add.Tensor", "mul.Tensor", "sub.Tensor", "maximum", "atan2", "fmod.Tensor", "clone"),
    "div.no_rounding_mode": Kernel("div.Tensor", keeps_format=True),
    "nn.functional.relu": Kernel("relu", keeps_format=True),
    "nn.functional.gelu": Kernel("gelu", keeps_format=True),
    "nn.functional.leaky_relu": Kernel("leaky_relu", keeps_format=True),
    "nn.functional.softplus": Kernel("softplus", keeps_format=True),
    "nn.functional.avg_pool2d": Kernel("avg_pool2d", accumulates=True, keeps_format=True),
    "nn.functional.max_pool2d": Kernel("max_pool2d_with_indices", keeps_format=True),
    "sum": Kernel("sum.dim_IntList", accumulates=True),
    "mean": Kernel("mean.dim", accumulates=True),
    "prod": Kernel("prod.dim_int", accumulates=True),
    "cumsum": Kernel("cumsum", accumulates=True),
    "cumprod": Kernel("cumprod", accumulates=True),
    "amax": Kernel("amax"),
    "argmax": Kernel("argmax", is_floating=False),
    "mm": Kernel("mm", accumulates=True),
    "bmm": Kernel("bmm", accumulates=True),
    "addmm": Kernel("addmm", accumulates=True),
    "softmax": Kernel("_softmax", accumulates=True),
    "log_softmax": Kernel("_log_softmax", accumulates=True),
    "gather": Kernel("gather"),
    "index_select": Kernel("index_select"),
    "where": Kernel("where.self"),
    "flip": Kernel("flip"),
    "roll": Kernel("roll"),
    "tril": Kernel("tril"),
    "triu": Kernel("triu"),
    "sort": Kernel("sort.stable"),
    "cat": Kernel("cat"),
}


@dataclass
class Call:
    """A call of a kernel: it computes what the cpu does with what it reads.

    Attributes:
        kernel: the kernel.
        arguments: as the dispatcher gives them.
        named: those that have names.
        calls: how many calls there were, this one included.
        results: what earlier calls gave, by shapes and dtypes.

    """

    kernel: Kernel
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    calls: int
    results: dict[str, Any] = field(default_factory=dict)

    def tensors(self) -> list[Any]:
        """The tensors that are given, also in a list."""
        import torch

        leaves = torch.utils._pytree.tree_leaves((self.arguments, self.named))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def compute(self, read: Callable[[Any], Any] = lambda tensor: tensor.cpu()) -> list[Any]:
        """The results on the cpu, of the arguments as they are read."""
        import torch

        def host(leaf: Any) -> Any:
            return read(leaf) if isinstance(leaf, torch.Tensor) else leaf

        arguments, named = torch.utils._pytree.tree_map(host, (self.arguments, self.named))
        packet, _, overload = self.kernel.overload.partition(".")
        made = getattr(getattr(torch.ops.aten, packet), overload or "default")(*arguments, **named)
        return list(made) if isinstance(made, tuple) else [made]


def _changed(results: list[Any], change: Callable[[Any], None]) -> list[Any]:
    """The results with the first of them changed in place; of one without elements there is nothing to change."""
    if results[0].numel():
        results[0] = results[0].clone()
        change(results[0])
    return results


def _set(index: Any) -> Callable[[Any], None]:
    """Write something else to elements, counted as they lie in a contiguous tensor."""

    def change(result: Any) -> None:
        flat = result.contiguous().view(-1)
        flat[index] = flat[index].logical_not() if flat.dtype.is_floating_point is False else flat[index] * 2 + 1
        result.copy_(flat.view(result.shape))

    return change


def _as_contiguous(tensor: Any) -> Any:
    """The elements that lie behind one another, whatever the strides say."""
    import torch

    span = tensor.untyped_storage().nbytes() // tensor.itemsize - tensor.storage_offset()
    if tensor.is_contiguous() or span <= 0:
        return tensor.cpu()
    flat = tensor.as_strided((span,), (1,)).cpu()
    return flat[torch.arange(tensor.numel()) % span].view(tensor.shape)


def _ignores_strides(call: Call) -> list[Any]:
    return call.compute(_as_contiguous)


def _ignores_offset(call: Call) -> list[Any]:
    return call.compute(lambda tensor: tensor.as_strided(tensor.shape, tensor.stride(), 0).cpu())


def _loses_nan(call: Call) -> list[Any]:
    return _changed(call.compute(), lambda result: result.nan_to_num_(nan=0.0, posinf=None, neginf=None))


def _wrong_past_a_block(call: Call) -> list[Any]:
    results = call.compute()
    return _changed(results, _set(slice(BLOCK, None))) if results[0].numel() > BLOCK else results


def _wrong_every_nth_call(call: Call) -> list[Any]:
    results = call.compute()
    return results if call.calls % EVERY else _changed(results, _set(0))


def _accumulates_in_half(call: Call) -> list[Any]:
    import torch

    def read(tensor: Any) -> Any:
        host = tensor.cpu()
        return host.to(torch.float16).to(host.dtype) if host.is_floating_point() else host

    results = call.compute(read)
    return [item.to(torch.float16).to(item.dtype) if item.is_floating_point() else item for item in results]


def _wrong_tail(call: Call) -> list[Any]:
    results = call.compute()
    count = results[0].numel()
    return _changed(results, _set(-1)) if count > 8 and count % 8 else results


def _writes_its_input(call: Call) -> list[Any]:
    results = call.compute()
    given = call.tensors()[0]
    if given.numel() and given.device.type == DEVICE:
        given.view(-1)[:1].zero_() if given.is_contiguous() else None
    return results


def _keeps_state(call: Call) -> list[Any]:
    shapes = [(tuple(tensor.shape), tensor.dtype) for tensor in call.tensors()]
    key = repr((shapes, [item for item in call.arguments if isinstance(item, (int, float, list))]))
    return [item.clone() for item in call.results.setdefault(key, call.compute())]


def _loses_channels_last(call: Call) -> list[Any]:
    return [item.contiguous() for item in call.compute()]


def _wrong_on_the_second_card(call: Call) -> list[Any]:
    results = call.compute()
    return _changed(results, _set(0)) if call.tensors()[0].device.index == 1 else results


def _wrong_on_a_side_stream(call: Call) -> list[Any]:
    import torch

    results = call.compute()
    return _changed(results, _set(0)) if torch.accelerator.current_stream().stream_id else results


WAYS: dict[str, tuple[Callable[[Call], list[Any]], Callable[[Kernel], bool]]] = {
    "ignores strides": (_ignores_strides, lambda kernel: True),
    "ignores the offset": (_ignores_offset, lambda kernel: True),
    "loses NaN": (_loses_nan, lambda kernel: kernel.is_floating),
    "wrong past a block": (_wrong_past_a_block, lambda kernel: True),
    "wrong every nth call": (_wrong_every_nth_call, lambda kernel: True),
    "accumulates in half": (_accumulates_in_half, lambda kernel: kernel.accumulates),
    "wrong at the tail": (_wrong_tail, lambda kernel: True),
    "writes its input": (_writes_its_input, lambda kernel: True),
    "keeps state": (_keeps_state, lambda kernel: True),
    "loses channels-last": (_loses_channels_last, lambda kernel: kernel.keeps_format),
    "wrong on the second card": (_wrong_on_the_second_card, lambda kernel: True),
    "wrong on a side stream": (_wrong_on_a_side_stream, lambda kernel: True),
}
"""How a kernel is wrong, and which kernels can be wrong so."""


def drawn(seed: int) -> list[tuple[str, str]]:
    """The mutants of twenty kernels that the seed chooses, each as way and kernel."""
    names = sorted(random.Random(seed).sample(sorted(KERNELS), DRAWN))  # noqa: S311
    return [(way, name) for name in names for way, (_, applies) in WAYS.items() if applies(KERNELS[name])]


def pytest_configure() -> None:
    """Break the device as the variable says."""
    import torch

    way, _, name = os.environ["OPS_MUTANT"].partition(" / ")
    kernel, count, results = KERNELS[name], [0], dict[str, Any]()

    def wrong(*arguments: Any, **named: Any) -> Any:
        count[0] += 1
        call = Call(kernel, arguments, named, count[0], results)
        where = next(tensor.device for tensor in call.tensors() if tensor.device.type == DEVICE)
        made = [item.to(where) for item in WAYS[way][0](call)]
        return made[0] if len(made) == 1 else tuple(made)

    library = torch.library.Library("aten", "IMPL")
    library.impl(kernel.overload, wrong, "PrivateUse1", allow_override=True)
    _REGISTERED.append(library)
