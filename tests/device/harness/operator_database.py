"""PyTorch's own list of operators with samples for each, as test cases. Needs torch, numpy and expecttest.

``op_db`` (torch/testing/_internal/common_methods_invocations.py) is part of the wheel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from harness.ops_dtypes import dtype_name
from harness.samples import Arguments, Sample
from harness.spread import spread
from harness.torch_lists import torch_list
from harness.torch_samples import plainly

OPERATORS = torch_list("torch.testing._internal.common_methods_invocations", "op_db")

FORWARD = (torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.bool)
BACKWARD = (torch.float32,)

COPIES_TO_OUT = ("lu",)
"""Operators that torch computes in Python and copies to ``out``, on whatever device that is."""

ROUNDING = (
    *("ceil", "floor", "round", "round.decimals_0", "round.decimals_neg_3", "trunc", "sign", "heaviside", "histc"),
    *("floor_divide", "div.floor_rounding", "div.trunc_rounding"),
)
"""Operators whose floating results are integers: a little less than one of them may be the next."""

HOST_ARGUMENTS = {"tensor_split": 1}
"""Operators that take a tensor from the cpu, by torch's own documentation, and which positional argument it is."""

ATTENTION = ("attention", "transformer")
"""What computes attention has one of these in its name."""

MAX_SAMPLES = 64
"""How many samples of an operator and dtype are run at most, evenly spread over those that ``op_db`` gives.

In torch 2.13 that is half of the 18,762 samples for float32, and all of them for 634 of 677 operators.
"""


def is_attention(name: str) -> bool:
    """Whether an operator or a module computes attention."""
    return any(word in name.lower() for word in ATTENTION)


@dataclass(frozen=True)
class Operator:
    """An operator and a dtype of its samples.

    Attributes:
        name: as ``op_db`` has it, with the variant behind a dot.
        dtype: of the samples; None where each has its own.
        info: the entry of ``op_db``.

    """

    name: str
    dtype: torch.dtype | None
    info: Any

    @property
    def id(self) -> str:
        """The test's parameter."""
        return self.name if self.dtype is None else f"{self.name}-{dtype_name(self.dtype)}"

    def __call__(self, arguments: Arguments, **more: Any) -> Any:
        """Call the operator, with more keyword arguments."""
        return self.info(*arguments.positional, **arguments.named, **more)

    def samples(self, *, requires_grad: bool = False, limit: int = MAX_SAMPLES) -> Iterator[Sample]:
        """The samples, the same ones every time."""
        with plainly():
            given = list(self.info.sample_inputs("cpu", self.dtype, requires_grad=requires_grad))
        for index in spread(len(given), limit):
            sample = given[index]
            arguments = Arguments((sample.input, *sample.args), sample.kwargs)
            yield Sample(index + 1, arguments, sample.output_process_fn_grad)

    def errors(self, device: torch.device) -> Iterator[Sample]:
        """Calls that have to be refused, with tensors on a device: torch leaves out what its kind cannot notice.

        Which indices a kernel checks is the example: on a gpu, a wrong one would end the process.
        """
        with plainly(device):
            given = list(self.info.error_inputs(str(device)))
        for number, error in enumerate(given, start=1):
            sample = error.sample_input
            arguments = Arguments((sample.input, *sample.args), sample.kwargs)
            yield Sample(number, arguments, raises=error.error_type)

    @property
    def on_host(self) -> int | None:
        """The positional argument that stays on the cpu, if one does."""
        return HOST_ARGUMENTS.get(self.name)

    @property
    def rounds(self) -> bool:
        """Whether it rounds to few values, so that results are equal and not close."""
        return self.name in ROUNDING

    @property
    def is_undetermined(self) -> bool:
        """Whether torch declares the values as meaningless, as of uninitialized memory. New in torch 2.13."""
        return bool(getattr(self.info, "has_nondeterministic_output", False))


def operators(dtype: torch.dtype, *, backward: bool) -> list[Operator]:
    """The operators that the cpu computes, or differentiates, in a dtype."""
    found = []
    info: Any  # torch's class is not typed
    for info in OPERATORS:
        if backward:
            known = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
        else:
            known = dtype in info.supported_dtypes("cpu")
        if known:
            found.append(Operator(_name(info), dtype, info))
    return found


def operators_once() -> list[Operator]:
    """The operators, each in the first of the suite's dtypes that the cpu computes it in."""
    found = []
    info: Any
    for info in OPERATORS:
        dtypes = [dtype for dtype in FORWARD if dtype in info.supported_dtypes("cpu")]
        if dtypes:
            found.append(Operator(_name(info), dtypes[0], info))
    return found


def operators_with_out() -> list[Operator]:
    """Those that take ``out=``."""
    return [operator for operator in operators_once() if getattr(operator.info, "supports_out", False)]


def operators_with_errors() -> list[Operator]:
    """The operators for which torch lists calls that have to be refused; such calls have dtypes of their own."""
    return [Operator(_name(info), None, info) for info in OPERATORS if getattr(info, "error_inputs_func", None)]


def _name(info: Any) -> str:
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else str(info.name)
