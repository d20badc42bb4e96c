"""``out=``: where an operator writes, whether it resizes, and what it refuses. Needs torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import torch

from harness.device import CONTROL
from harness.differences import difference
from harness.operator_database import COPIES_TO_OUT, Operator
from harness.parity import shown_error
from harness.refusals import refusal
from harness.refused_calls import Raised, waited_for
from harness.samples import Arguments, Sample
from harness.yardstick import NO_YARDSTICK, Yardstick

MAX_SAMPLES = 8
"""How many samples of an operator are written to each kind of ``out``."""

RESIZED = "An output with one or more elements was resized"
"""What torch warns of (aten/src/ATen/native/Resize.cpp)."""

ON_HOST = "on the cpu"


def _right(result: torch.Tensor) -> torch.Tensor:
    return torch.zeros(result.shape, dtype=result.dtype, device=result.device)


def _strided(result: torch.Tensor) -> torch.Tensor:
    return torch.zeros((*result.shape, 2), dtype=result.dtype, device=result.device)[..., 1]


def _empty(result: torch.Tensor) -> torch.Tensor:
    return torch.zeros(0, dtype=result.dtype, device=result.device)


def _larger(result: torch.Tensor) -> torch.Tensor:
    return torch.zeros((*result.shape, 2), dtype=result.dtype, device=result.device)


def _other_dtype(result: torch.Tensor) -> torch.Tensor:
    exact = not result.dtype.is_floating_point and not result.dtype.is_complex
    dtype = torch.float32 if result.dtype is torch.bool else torch.bool if exact else torch.int64
    return torch.zeros(result.shape, dtype=dtype, device=result.device)


def _on_host(result: torch.Tensor) -> torch.Tensor:
    return torch.zeros(result.shape, dtype=result.dtype)


VARIANTS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = MappingProxyType(
    {
        "of the right shape": _right,
        "with other strides": _strided,
        "without elements": _empty,
        "of a wrong shape": _larger,
        "of a wrong dtype": _other_dtype,
        ON_HOST: _on_host,
    }
)
"""What ``out`` is, made from a result of the operator."""


@dataclass(frozen=True)
class Written:
    """The outcome of a call with one kind of ``out``.

    Attributes:
        raised: what it raised.
        is_out: whether it returned ``out`` itself.
        is_kept: of each tensor, whether its memory and strides are those from before.
        warned: whether torch warned of resizing.
        outs: the tensors afterwards.

    """

    raised: Raised
    is_out: bool = False
    is_kept: tuple[bool, ...] = ()
    warned: bool = False
    outs: tuple[torch.Tensor, ...] = ()

    def differs(self, expected: Written, device: torch.device, *, values: bool, yardstick: Yardstick) -> str | None:
        """How this differs from what the cpu wrote, or None."""
        if expected.raised.error is not None:
            return self.raised.differs(expected.raised, device)
        if self.raised.error is not None:
            return f"the cpu writes to it, the device raised {shown_error(self.raised.error)}"
        if expected.is_out and not self.is_out:
            return "the result is not the tensor that was given"
        if any(before and not now for before, now in zip(expected.is_kept, self.is_kept, strict=True)):
            return "its memory or its strides are no longer those that were given"
        if expected.warned is not self.warned:
            told = "warns" if expected.warned else "does not warn"
            return f"the cpu {told} of resizing it, the device does otherwise"
        outs = yardstick.of(lambda exact: exact.outs)
        return difference(self.outs, expected.outs, device, values=values, yardstick=outs)


def _of_kind(kind: str, outs: Outs) -> Written:
    return outs.written[kind]


@dataclass(frozen=True)
class Outs:
    """The outcome of an operator's sample with every kind of ``out``; empty where results are no strided tensors."""

    written: Mapping[str, Written]

    @property
    def unusable(self) -> str | None:
        """Without tensors there is nothing to write to."""
        return None if self.written else "its results are not strided tensors"

    def is_refusal(self, device: torch.device) -> bool:
        """Whether the device has no kernel for any of the calls."""
        errors = [written.raised.error for kind, written in self.written.items() if kind != ON_HOST]
        return bool(errors) and all(error is not None and refusal(error, device.type) is not None for error in errors)

    def differs(
        self,
        expected: Outs,
        device: torch.device,
        *,
        values: bool = True,
        yardstick: Yardstick = NO_YARDSTICK,
    ) -> str | None:
        """How this differs from what the cpu wrote, or None."""
        for kind, written in expected.written.items():
            exact = yardstick.of(partial(_of_kind, kind))
            told = self.written[kind].differs(written, device, values=values, yardstick=exact)
            if told is not None:
                return f"out {kind}: {told}"
        host = self.written.get(ON_HOST)
        if host is not None and host.raised.error is None:
            return f"out {ON_HOST}: the device takes it, where torch refuses tensors of two devices"
        return None


def written(operator: Operator, sample: Sample, arguments: Arguments) -> Outs:
    """Call the operator with every kind of ``out``."""
    with torch.no_grad():
        made = operator(arguments)
        results = _tensors(made)
        if not results:
            return Outs({})
        takes_host = operator.name in COPIES_TO_OUT or any(result.device.type == CONTROL for result in results)
        kinds = [kind for kind in VARIANTS if kind != ON_HOST or not takes_host]
        return Outs({kind: _written(operator, arguments, made, results, kind) for kind in kinds})


def _written(
    operator: Operator, arguments: Arguments, made: object, results: tuple[torch.Tensor, ...], kind: str
) -> Written:
    outs = tuple(VARIANTS[kind](result) for result in results)
    before = [(out.data_ptr(), out.stride()) for out in outs]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            given = waited_for(operator(arguments, out=outs[0] if isinstance(made, torch.Tensor) else outs))
        except Exception as error:
            return Written(Raised(error))
    returned = _tensors(given)  # some operators return nothing
    return Written(
        Raised(None),
        len(returned) == len(outs) and all(one is other for one, other in zip(returned, outs, strict=True)),
        tuple((out.data_ptr(), out.stride()) == was for out, was in zip(outs, before, strict=True)),
        any(RESIZED in str(warning.message) for warning in told),
        outs,
    )


def _tensors(made: object) -> tuple[torch.Tensor, ...]:
    """The strided tensors that a call gave; none when it gave anything else."""
    parts = made if isinstance(made, (tuple, list)) else (made,)
    found = tuple(part for part in parts if isinstance(part, torch.Tensor) and part.layout is torch.strided)
    return found if len(found) == len(parts) else ()
