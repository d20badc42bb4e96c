"""Devices that break a promise that the suites ops and models look at, each with the tests that have to notice.

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
_CALLS: list[Any] = []


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

    broken = (BROKEN | WHOLE)[os.environ["OPS_SABOTAGE"]]
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


def _off_by_a_thousandth(name: str) -> Callable[..., Any]:
    """The cpu's result with a relative error of 0.001."""

    def kernel(*arguments: Any, **named: Any) -> Any:
        result = _on_cpu(name, *arguments, **named)
        return (result * 1.001 if result.dtype.itemsize >= 4 else result).to(DEVICE)

    return kernel


def _airy_of_integers(x: Any) -> Any:
    """Airy's function, of integers with an error that PyTorch's test allows for float32 only."""
    result = _on_cpu("special_airy_ai", x)
    return (result if x.is_floating_point() else result + 2e-4).to(DEVICE)


def _next_float(*arguments: Any) -> Any:
    """The cpu's hyperbolic tangent, each element one unit in the last place away."""
    import torch

    result = _on_cpu("tanh", *arguments)
    return torch.nextafter(result, torch.full_like(result, torch.inf)).to(DEVICE)


def _now_and_then_the_next_float(x: Any) -> Any:
    """The cpu's error function, in every other call one unit in the last place away."""
    import torch

    result = x.cpu().erf()
    _CALLS.append(result.shape)
    return (torch.nextafter(result, torch.full_like(result, torch.inf)) if len(_CALLS) % 2 else result).to(x.device)


def _denormal(x: Any) -> Any:
    import torch

    return (x != 0) & (x.abs() < torch.finfo(torch.float32).tiny)


def _nothing_of_denormals(x: Any) -> Any:
    """A logarithm that is no number for denormal numbers."""
    host = x.cpu()
    return host.log().masked_fill_(_denormal(host), float("nan")).to(x.device)


def _zero_for_denormals(x: Any) -> Any:
    """A logarithm that takes denormal numbers for zero."""
    host = x.cpu()
    return host.log().masked_fill_(_denormal(host), float("-inf")).to(x.device)


def _sum_in_half(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """A cumulative sum whose accumulator has the precision of float16."""
    wide = x.cpu().to(dtype or x.dtype)
    return (wide.half().cumsum(dim).to(wide.dtype) if wide.is_floating_point() else wide.cumsum(dim)).to(DEVICE)


def _last_block(x: Any) -> Any:
    """An exponential that is off by a hundredth in the last element of what does not fill a vector."""
    result = x.cpu().exp()
    if result.numel() % 8 and result.numel() > 8 and result.is_contiguous():
        result.view(-1)[-1] *= 1.01
    return result.to(DEVICE)


def _one_diagonal_more(x: Any, diagonal: int = 0) -> Any:
    """The lower triangle with a diagonal that does not belong to it."""
    return x.cpu().tril(diagonal + 1).to(DEVICE)


def _on_cpu(name: str, *arguments: Any, **named: Any) -> Any:
    import torch

    host = [argument.cpu() if isinstance(argument, torch.Tensor) else argument for argument in arguments]
    return getattr(torch.ops.aten, name)(*host, **named)


_MODEL = "models/test_models.py::test_"
_OPTIMIZER = "ops/test_optimizers.py::test_optimizer"
_FORWARD = "ops/test_forward.py::test_forward"
_VARIATIONS = "ops/test_variations.py::test_variations"
_SINE = "ops/test_out.py::test_out[sin-float32]"

BROKEN: dict[str, Broken] = {
    "a fused step that does nothing": Broken(
        "_fused_adam_", _nothing, (f"{_OPTIMIZER}[Adam-fused]",), "times what is allowed"
    ),
    "a step over lists that does nothing": Broken(
        "_foreach_addcdiv_.ScalarList",
        _nothing,
        (f"{_OPTIMIZER}[Adam-foreach]", f"{_OPTIMIZER}[AdamW-foreach]"),
        "times what is allowed",
    ),
    "a relative error of 0.001": Broken(
        "tanh", _off_by_a_thousandth("tanh"), (f"{_FORWARD}[tanh-float32]",), "the tolerance of float32"
    ),
    "a relative error of 0.001 where most is allowed": Broken(
        "linalg_matrix_exp",
        _off_by_a_thousandth("linalg_matrix_exp"),
        (f"{_FORWARD}[matrix_exp-float32]",),
        "times what is allowed",
    ),
    "an error that is allowed for another dtype": Broken(
        "special_airy_ai", _airy_of_integers, (f"{_FORWARD}[special.airy_ai-int64]",), "the tolerance of float32"
    ),
    "a sum in half precision": Broken(
        "cumsum", _sum_in_half, (f"{_FORWARD}[cumsum-float32]",), "the error of the cpu is"
    ),
    "a last block that is wrong": Broken("exp", _last_block, (f"{_FORWARD}[exp-float32]",), "(1 of "),
    "a mask that is off by one": Broken("tril", _one_diagonal_more, (f"{_FORWARD}[tril-float32]",), "expected 0.0 at"),
    "a last bit that changes": Broken(
        "erf", _now_and_then_the_next_float, (f"{_VARIATIONS}[erf-float32]",), "two calls under"
    ),
    "denormal numbers that are none": Broken(
        "log", _nothing_of_denormals, (f"{_VARIATIONS}[log-float32]",), "with denormal numbers"
    ),
    "running statistics that stand still": Broken(
        "native_batch_norm",
        _norm_without_memory,
        (
            "ops/test_modules.py::test_module_forward[nn.BatchNorm1d-train-float32]",
            "ops/test_modules.py::test_module_forward[nn.BatchNorm2d-train-float32]",
        ),
        "times what is allowed",
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
    "a gradient that is off by a thousandth": Broken(
        "embedding_dense_backward",
        _off_by_a_thousandth("embedding_dense_backward"),
        (f"{_MODEL}training[decoder]",),
        "the parameter embedding.weight after training: ",
    ),
    "an activation that is off by a thousandth": Broken(
        "tanh", _off_by_a_thousandth("tanh"), (f"{_MODEL}inference[graph]",), "the tolerance of float32"
    ),
    "a wrong call of a module that is not refused": Broken(
        "max_pool2d_with_indices",
        _pooled_anything,
        ("ops/test_modules.py::test_module_errors[nn.MaxPool2d-train-float32]",),
        "the device raised nothing",
    ),
}

WHOLE: dict[str, Broken] = {
    "one unit in the last place": Broken("tanh", _next_float, (f"{_FORWARD}[tanh-float32]",), ""),
    "denormal numbers taken for zero": Broken("log", _zero_for_denormals, (f"{_VARIATIONS}[log-float32]",), ""),
}
"""Devices that differ from the cpu and are not broken."""
