"""Parity: what is called on the device gives what it gives on the cpu. Needs torch.

The cpu runs each sample twice. What differs between those runs is no reference, so it is found out here and
listed nowhere: an operator that draws random numbers moves the cpu's generator; one that shows memory which nobody
wrote gives something else when torch fills such memory, as it does in the second run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Protocol

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from harness.accuracy import Accuracy
from harness.control import is_broken_by_the_plugin
from harness.device import CONTROL
from harness.operator_database import is_attention
from harness.outcomes import Differs, unsupported
from harness.refusals import refusal
from harness.samples import Arguments, Placing, Sample, shown
from harness.text import first_line
from harness.tolerance import Tolerance, torch_tolerance
from harness.yardstick import NO_YARDSTICK, Yardstick

MAX_TOLD = 3
"""How many failing samples a failure describes; the others are counted."""


class Case(Protocol):
    """What is called: an operator, a module, an optimizer."""

    @property
    def name(self) -> str:
        """As torch's list has it."""

    @property
    def dtype(self) -> torch.dtype | None:
        """Of what it is called with; None where each sample has its own."""

    @property
    def on_host(self) -> int | None:
        """The positional argument that stays on the cpu, if one does."""

    @property
    def is_undetermined(self) -> bool:
        """Whether torch declares the values as meaningless, as of uninitialized memory."""

    @property
    def info(self) -> Any:
        """The entry in torch's list."""

    @property
    def rounds(self) -> bool:
        """Whether it rounds to few values, so that results are equal and not close."""


class Compared(Protocol):
    """The outcome of a call."""

    @property
    def unusable(self) -> str | None:
        """Why this is no reference where the cpu gives it, or None."""

    def is_refusal(self, device: torch.device) -> bool:
        """Whether it is the error for a missing kernel, which then explains the difference from the cpu."""

    def differs(
        self,
        expected: Any,
        device: torch.device,
        *,
        values: bool = True,
        yardstick: Yardstick = NO_YARDSTICK,
    ) -> str | None:
        """How this differs from the cpu's, which is of the same class, or None."""


Run = Callable[[Any, Sample, Arguments], Compared]
Show = Callable[[Any, Sample, Any, Any, torch.device], "tuple[str, ...] | None"]
"""Makes lines of Python from a case, a sample, what the device gave (None where it raised) and what the cpu gave."""


@dataclass
class Tally:
    """The outcome of the samples of a test; each list has a line per sample."""

    samples: int = 0
    compared: int = 0
    control: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    lines: tuple[int, tuple[str, ...]] | None = None
    """The size of the smallest failing sample that lines of Python can show, and the lines."""
    accuracy: Accuracy | None = None
    """The errors of the results, where they are measured."""

    def fail(self, told: str, sample: Sample, lines: tuple[str, ...] | None) -> None:
        """Add a failing sample."""
        self.failed.append(told)
        size = sum(tensor.numel() for tensor in sample.arguments.tensors())
        if lines is not None and (self.lines is None or size < self.lines[0]):
            self.lines = size, lines

    def end(self) -> None:
        """End the test: failed, unsupported, skipped, or passed by returning."""
        if self.failed:
            count = f"{len(self.failed)} of {self.samples} samples differ from the cpu"
            text = "\n\n".join([f"{count}, first {self.failed[0]}", *self.failed[1:MAX_TOLD]])
            raise Differs(text, self.lines[1] if self.lines else ())
        if self.refused:
            unsupported(f"{len(self.refused)} of {self.samples} samples are refused, first {self.refused[0]}")
        if not self.compared:
            pytest.skip(f"fails on the CPU: {self.control[0] if self.control else 'there are no samples'}")


def compare(
    case: Case,
    samples: Iterable[Sample],
    run: Run,
    device: torch.device,
    *,
    counterpart: tuple[str, str] | None = None,
    show: Show | None = None,
    tally: Tally | None = None,
) -> Tally:
    """Run every sample on the cpu and on the device, and compare.

    Args:
        case: what is called.
        samples: what it is called with.
        run: calls it.
        device: the device under test.
        counterpart: class and name of PyTorch's test that compares the same thing, whose tolerances count.
        show: makes lines of Python from a failing sample.
        tally: the outcome of other samples of the same test, to which these are added.

    """
    tally = tally or Tally()
    own = torch_tolerance(case.info, counterpart, case.dtype, device.type)
    for sample in samples:
        tally.samples += 1
        line = f"{sample.title}: {case.name}({shown(sample.arguments)}): "
        with _attention(case):
            control = control_result(case, run, sample)
        if isinstance(control, Exception):
            if device.type != CONTROL and is_broken_by_the_plugin(shown_error(control)):
                tally.fail(f"{line}only while the plugin is loaded the cpu raises {shown_error(control)}", sample, None)
            else:
                tally.control.append(line + shown_error(control))
            continue
        if isinstance(control, str):
            tally.control.append(line + control)
            continue
        told = _against(case, run, sample, device, control, own, tally.accuracy)
        if told is not None and told.is_refusal:
            tally.refused.append(line + told.text)
        elif told is not None:
            # Random values differ anyway, so they would show nothing.
            shows = show is not None and told.was_run and control.is_determined and not control.is_random
            lines = show(case, sample, told.seen, control.seen, device) if show is not None and shows else None
            tally.fail(line + told.text, sample, lines)
        elif control.is_determined:
            tally.compared += 1
        else:
            tally.control.append(
                line + "two runs give different values, so only shapes, dtypes and devices were compared"
            )
    return tally


@dataclass(frozen=True)
class ControlResult:
    """What the cpu gave."""

    seen: Compared
    is_random: bool
    is_determined: bool


@dataclass(frozen=True)
class _Told:
    """What is wrong with a sample on the device."""

    text: str
    is_refusal: bool
    was_run: bool = True
    seen: Compared | None = None


def control_result(case: Case, run: Run, sample: Sample) -> ControlResult | Exception | str:
    """What the cpu gave or raised, or why it is no reference."""
    cpu = torch.device(CONTROL)
    generator = torch.default_generator
    try:
        before = generator.manual_seed(0).get_state()
        with _seeds() as seeds:
            first = run(case, sample, Placing(cpu).arguments(sample.arguments, on_host=case.on_host))
        is_random = not torch.equal(before, generator.get_state())
        generator.manual_seed(0)
        with _seeds(), _memory_filled():
            second = run(case, sample, Placing(cpu).arguments(sample.arguments, on_host=case.on_host))
        if first.unusable is not None:
            return first.unusable
        is_determined = second.differs(first, cpu) is None and not case.is_undetermined
        if seeds and not is_random:
            # torch's list seeds the generator for this operator and puts it back, so its state is not compared.
            with _seeds(shift=1):
                third = run(case, sample, Placing(cpu).arguments(sample.arguments, on_host=case.on_host))
            is_random = third.differs(first, cpu) is not None
    except Exception as error:
        return error
    return ControlResult(first, is_random, is_determined)


def _against(
    case: Case,
    run: Run,
    sample: Sample,
    device: torch.device,
    control: ControlResult,
    own: Tolerance | None,
    accuracy: Accuracy | None,
) -> _Told | None:
    placing = Placing(device)
    arguments = seen = None
    try:
        arguments = placing.arguments(sample.arguments, on_host=case.on_host)
        # The cpu has several ways to compute attention; where it is the device under test it takes the reference's.
        with _attention(case) if device.type == CONTROL else nullcontext():
            seen = run(case, sample, arguments)
        where = device if placing.moved else torch.device(CONTROL)
        exact = cache(partial(exact_result, case, run, sample))
        yardstick = Yardstick(exact, own, case.rounds, differentiates_attention(case, sample))
        is_comparable = control.is_determined and not control.is_random
        text = seen.differs(control.seen, where, values=is_comparable, yardstick=yardstick)
    except Exception as error:
        told = f"the cpu computes it, the device raised {shown_error(error)}"
        # A comparison that fails refuses nothing, whatever its words.
        return _Told(told, seen is None and refusal(error, device.type) is not None, was_run=arguments is not None)
    if accuracy is not None and is_comparable and (right := exact()) is not None:
        accuracy.add(seen.made, control.seen.made, right.made)
    return _Told(text, seen.is_refusal(device), seen=seen) if text else None


def exact_result(case: Case, run: Run, sample: Sample) -> Any:
    """What the cpu gives in float64 or complex128 on the same inputs, or None where it cannot."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # which integers become where a result is floating
    try:
        with _attention(case):
            return run(case, sample, Placing(torch.device(CONTROL), exact=True).arguments(sample.arguments))
    except Exception:
        return None
    finally:
        torch.set_default_dtype(usual)


@contextmanager
def _seeds(shift: int = 0) -> Iterator[list[int]]:
    """Note the seeds that are set meanwhile, and set others, for the cpu alone.

    For accelerators that are not there torch keeps each seed for later, with a stack trace that takes milliseconds.
    """
    noted: list[int] = []
    original = torch.manual_seed

    def manual_seed(seed: int) -> torch.Generator:
        noted.append(seed)
        return torch.default_generator.manual_seed(int(seed) + shift)

    torch.manual_seed = manual_seed
    try:
        yield noted
    finally:
        torch.manual_seed = original


@contextmanager
def _memory_filled() -> Iterator[None]:
    """Let torch fill memory that nobody writes, which it does in deterministic mode (torch.utils.deterministic)."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def differentiates_attention(case: Case, sample: Sample) -> bool:
    """Whether gradients of attention are requested."""
    return is_attention(case.name) and any(tensor.requires_grad for tensor in sample.arguments.tensors())


def _attention(case: Case) -> AbstractContextManager[None]:
    """Attention step by step, which is its definition; the cpu's default is fused and rounds differently."""
    return sdpa_kernel(SDPBackend.MATH) if is_attention(case.name) else nullcontext()


def shown_error(error: BaseException) -> str:
    """An exception in a line."""
    return f"{type(error).__name__}: {first_line(str(error)) or 'without a message'}"
