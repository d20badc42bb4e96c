"""PyTorch's own list of operators with samples for each, as test cases. Needs torch, numpy and expecttest.

``op_db`` (torch/testing/_internal/common_methods_invocations.py) is part of the wheel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from harness.samples import Arguments
from harness.spread import spread

try:
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError as error:
    raise ImportError(
        f"the suite ops needs torch.testing._internal, which cannot be imported: {error}\n"
        "  where: the Python of the device\n"
        "  what to do: install numpy and expecttest beside torch"
    ) from error

FORWARD = (torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.bool)
BACKWARD = (torch.float32,)

HOST_ARGUMENTS = {"tensor_split": 1}
"""Operators that take a tensor from the cpu, by torch's own documentation, and which positional argument it is."""

MAX_SAMPLES = 64
"""How many samples of an operator and dtype are run at most, evenly spread over those that ``op_db`` gives.

In torch 2.13 that is half of the 18,762 samples for float32, and all of them for 634 of 677 operators.
"""


@dataclass(frozen=True)
class Sample:
    """One call of an operator.

    Attributes:
        number: which of ``op_db``'s samples it is, from 1.
        arguments: what it is called with, on the cpu.
        to_differentiate: makes of the result what can be differentiated, where a part of it is arbitrary.

    """

    number: int
    arguments: Arguments
    to_differentiate: Any


@dataclass(frozen=True)
class Operator:
    """An operator and a dtype of its samples.

    Attributes:
        name: as ``op_db`` has it, with the variant behind a dot.
        dtype: of the samples.
        info: the entry of ``op_db``.

    """

    name: str
    dtype: torch.dtype
    info: Any

    @property
    def id(self) -> str:
        """The test's parameter."""
        return f"{self.name}-{str(self.dtype).removeprefix('torch.')}"

    def __call__(self, arguments: Arguments) -> Any:
        """Call the operator."""
        return self.info(*arguments.positional, **arguments.named)

    def samples(self, *, requires_grad: bool) -> Iterator[Sample]:
        """The samples, the same ones every time."""
        given = list(self.info.sample_inputs("cpu", self.dtype, requires_grad=requires_grad))
        for index in spread(len(given), MAX_SAMPLES):
            sample = given[index]
            arguments = Arguments((sample.input, *sample.args), sample.kwargs)
            yield Sample(index + 1, arguments, sample.output_process_fn_grad)

    @property
    def on_host(self) -> int | None:
        """The positional argument that stays on the cpu, if one does."""
        return HOST_ARGUMENTS.get(self.name)

    @property
    def is_undetermined(self) -> bool:
        """Whether torch says that the values mean nothing, as of uninitialized memory. New in torch 2.13."""
        return bool(getattr(self.info, "has_nondeterministic_output", False))


def operators(dtype: torch.dtype, *, backward: bool) -> list[Operator]:
    """The operators that the cpu computes, or differentiates, in a dtype."""
    found = []
    info: Any  # torch's class is not typed
    for info in op_db:
        if backward:
            known = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
        else:
            known = dtype in info.supported_dtypes("cpu")
        if known:
            variant = f".{info.variant_test_name}" if info.variant_test_name else ""
            found.append(Operator(f"{info.name}{variant}", dtype, info))
    return found
