"""Devices that break a promise that only the suite ops looks at, each with the tests that have to notice.

A pytest plugin (``-p ops_sabotage``) for the Python that has torch and the reference device. The variable
``OPS_SABOTAGE`` names the variant.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DEVICE = "openreg"

_REGISTERED: list[Any] = []
"""Registrations last as long as these objects."""


@dataclass(frozen=True)
class Broken:
    """One way to be broken.

    Attributes:
        operator: whose kernel is replaced.
        kernel: what it does instead.
        noticed_by: ids of tests that have to fail.
        seen: what the first of them has to say.

    """

    operator: str
    kernel: Callable[..., Any]
    noticed_by: tuple[str, ...]
    seen: str


def pytest_configure() -> None:
    """Break the device as the variable says."""
    import torch

    broken = BROKEN[os.environ["OPS_SABOTAGE"]]
    library = torch.library.Library("aten", "IMPL")
    library.impl(broken.operator, broken.kernel, "PrivateUse1", allow_override=True)
    _REGISTERED.append(library)


def _nothing(*_: Any, **__: Any) -> None:
    pass


def _norm_without_memory(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, *rest: Any) -> Any:
    """Batch normalization that leaves its running statistics alone."""
    import torch

    host = [None if tensor is None else tensor.cpu().clone() for tensor in (x, weight, bias, mean, variance)]
    return tuple(result.to(DEVICE) for result in torch.native_batch_norm(*host, *rest))


def _sine_elsewhere(x: Any, *, out: Any) -> Any:
    """A result in a tensor of its own, which never reaches ``out``."""
    return _sine(x)


def _sine_in_new_memory(x: Any, *, out: Any) -> Any:
    """A result in ``out``, whose memory is exchanged."""
    return out.set_(_sine(x).to(out.dtype))


def _sine_anywhere(x: Any, *, out: Any) -> Any:
    """A result in any ``out``, also of another dtype and on the cpu, resized without a word."""
    return out.resize_(x.shape).copy_(_sine(x))


def _sine(x: Any) -> Any:
    return x.cpu().sin().to(DEVICE)


def _product_of_anything(a: Any, b: Any) -> Any:
    """A product of vectors that may differ in length and dtype."""
    return (a.cpu().flatten()[:1].float() * b.cpu().flatten()[:1].float()).sum().to(DEVICE)


def _pooled_anything(x: Any, *_: Any, **__: Any) -> Any:
    """A maximum over windows that looks neither at the number of dimensions nor at the padding."""
    return x.clone(), x.long()


_OPTIMIZER = "ops/test_optimizers.py::test_optimizer"
_SINE = "ops/test_out.py::test_out[sin-float32]"

BROKEN: dict[str, Broken] = {
    "a fused step that does nothing": Broken(
        "_fused_adam_", _nothing, (f"{_OPTIMIZER}[Adam-fused]",), "Tensor-likes are not close!"
    ),
    "a step over lists that does nothing": Broken(
        "_foreach_addcdiv_.ScalarList",
        _nothing,
        (f"{_OPTIMIZER}[Adam-foreach]", f"{_OPTIMIZER}[AdamW-foreach]"),
        "Tensor-likes are not close!",
    ),
    "running statistics that stand still": Broken(
        "native_batch_norm",
        _norm_without_memory,
        (
            "ops/test_modules.py::test_module_forward[nn.BatchNorm1d-train-float32]",
            "ops/test_modules.py::test_module_forward[nn.BatchNorm2d-train-float32]",
        ),
        "Tensor-likes are not close!",
    ),
    "a result that never reaches out": Broken(
        "sin.out", _sine_elsewhere, (_SINE,), "out of the right shape: expected "
    ),
    "an out whose memory is exchanged": Broken(
        "sin.out", _sine_in_new_memory, (_SINE,), "out of the right shape: its memory or its strides are no longer"
    ),
    "an out that may be anything": Broken(
        "sin.out", _sine_anywhere, (_SINE,), "out of a wrong shape: the cpu warns of resizing it"
    ),
    "a wrong call that is not refused": Broken(
        "dot", _product_of_anything, ("ops/test_errors.py::test_errors[dot]",), "the device raised nothing"
    ),
    "a wrong call of a module that is not refused": Broken(
        "max_pool2d_with_indices",
        _pooled_anything,
        ("ops/test_modules.py::test_module_errors[nn.MaxPool2d-train-float32]",),
        "the device raised nothing",
    ),
}
