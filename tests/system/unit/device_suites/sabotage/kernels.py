"""Replacing kernels through the dispatcher, so that the suites see what they would see of a real device."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._pytree import tree_map

from sabotage import DEVICE

KEPT: list[Any] = []
"""What has to live as long as the process: registrations, and the memory that a variant leaks."""

Kernel = Callable[..., Any]

_local = threading.local()

# What carries elements from place to place without computing anything: left alone by what spoils all kernels.
_MOVERS = frozenset(
    (
        *("_copy_from", "_copy_from_and_resize", "_local_scalar_dense", "_pin_memory", "_to_copy", "as_strided_"),
        *("alias", "clone", "copy", "copy_", "detach", "detach_", "empty", "empty_like", "empty_permuted"),
        *("empty_strided", "equal", "fill", "fill_", "full_like", "is_pinned", "is_set_to", "item", "lift"),
        *("lift_fresh", "lift_fresh_copy", "new_empty", "new_empty_strided", "ones_like", "pin_memory"),
        *("record_stream", "resize", "resize_", "resize_as_", "resize_as_sparse_", "set", "set_", "set_data"),
        *("to_dense", "to_sparse", "zero", "zero_", "zeros_like", "_resize_output_", "_reshape_alias"),
        *("_amp_update_scale_", "_amp_foreach_non_finite_check_and_unscale_", "retain_grad", "requires_grad_"),
        *("_coalesced_", "_values", "_indices", "values", "indices"),
    )
)


def replace(operator: str, kernel: Kernel, key: str = "PrivateUse1", *, with_keyset: bool = False) -> None:
    """Give an operator of ``aten`` another kernel."""
    library = torch.library.Library("aten", "IMPL")
    KEPT.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch wonders why anybody would do this
        library.impl(operator, kernel, key, allow_override=True, with_keyset=with_keyset)


def wrap(operator: str, around: Callable[..., Any]) -> None:
    """Put a function around the device's kernel of an operator.

    Args:
        operator: its name in ``aten``.
        around: gets the kernel as it was, and what the operator was called with. Within it kernels are as they were.

    """
    original = torch.library.get_kernel(f"aten::{operator}", "PrivateUse1")
    plain, _, overload = operator.partition(".")
    schema = torch._C._get_schema(f"aten::{plain}", overload)
    takes_tensor = [str(argument.type) == "Tensor" for argument in schema.arguments]

    def kernel(keyset: Any, *arguments: Any, **named: Any) -> Any:
        def whole(*changed: Any, **changed_named: Any) -> Any:
            # Numbers that stand for tensors come as Python's numbers, which a boxed call does not take back.
            boxed = [
                torch.tensor(value) if takes and isinstance(value, (bool, int, float, complex)) else value
                for value, takes in zip(changed, takes_tensor, strict=False)
            ]
            return original.call_boxed(keyset, *boxed, **changed_named)

        if getattr(_local, "inside", False):
            return whole(*arguments, **named)
        _local.inside = True
        try:
            return around(whole, *arguments, **named)
        finally:
            _local.inside = False

    replace(operator, kernel, with_keyset=True)


def spoil(operators: Iterable[str], change: Callable[[torch.Tensor], torch.Tensor | None]) -> None:
    """Change every tensor that the operators give: in place, or by giving another one."""

    def changed(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.is_quantized:
            return value
        other = change(value)
        return value if other is None else other

    for operator in operators:
        wrap(operator, lambda whole, *arguments, **named: tree_map(changed, whole(*arguments, **named)))


def nudge(tensor: torch.Tensor, factor: float = 1.06) -> None:
    """Make floating numbers a little wrong: more than any tolerance, less than what overflows."""
    if (tensor.is_floating_point() or tensor.is_complex()) and not any(
        size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    ):
        tensor.mul_(factor)


def computing() -> list[str]:
    """The operators that compute something from tensors on the device: no copies, no views, no factories."""
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        if not full.startswith("aten::"):
            continue
        name = full.removeprefix("aten::")
        plain = name.partition(".")[0]
        if plain in _MOVERS:
            continue
        if torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeImplicitAutograd"):
            continue
        schema = torch._C._get_schema(full.partition(".")[0], name.partition(".")[2])
        tensors = [argument for argument in schema.arguments if "Tensor" in str(argument.type)]
        is_view = any(result.alias_info is not None and not result.alias_info.is_write for result in schema.returns)
        returns = [result for result in schema.returns if "Tensor" in str(result.type)]
        if tensors and returns and not is_view:
            found.append(name)
    return found


def drawing() -> list[str]:
    """The operators that take a generator."""
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        if full.startswith("aten::") and not torch._C._dispatch_has_kernel_for_dispatch_key(
            full, "CompositeImplicitAutograd"
        ):
            name = full.removeprefix("aten::")
            schema = torch._C._get_schema(full.partition(".")[0], name.partition(".")[2])
            if any("Generator" in str(argument.type) for argument in schema.arguments):
                found.append(name)
    return found


def there(tensor: Any) -> Any:
    """The tensor on the device."""
    return tensor.to(DEVICE)


def map_tensors(function: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    """Apply a function to every tensor in something made of tensors."""
    return tree_map(lambda leaf: function(leaf) if isinstance(leaf, torch.Tensor) else leaf, tree)


def in_autograd() -> bool:
    """Whether this runs in one of the threads in which torch differentiates on a device."""
    return isinstance(threading.current_thread(), threading._DummyThread)
