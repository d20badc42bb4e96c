"""Parity: an operator on the device gives what it gives on the cpu. Needs torch.

The cpu runs each sample twice. What differs between those runs says nothing about a device, so it is found out here and
listed nowhere: an operator that draws random numbers moves the cpu's generator; one that shows memory which nobody
wrote gives something else when torch fills such memory, as it does in the second run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_leaves

from harness.compare import numbers, put
from harness.device import CONTROL
from harness.differences import difference
from harness.operator_database import Operator, Sample
from harness.outcomes import unsupported
from harness.samples import Arguments, Placing, shown
from harness.text import first_line

GRADIENT_FACTOR = 4.0
"""Widens the tolerance of gradients: they are sums of more terms, which may cancel each other."""

MAX_TOLD = 3
"""How many failing samples a failure describes; the others are counted."""

REFUSALS = ("Could not run 'aten::", "not implemented for '", "is not currently implemented for the")
"""How torch says that a kernel is missing: the dispatcher, the macros AT_DISPATCH, and the dispatcher's fallback."""


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes:
        made: results, whose device is checked.
        inputs: the arguments afterwards, since operators may write to them.
        factor: widens the tolerance.

    """

    made: object
    inputs: object = ()
    factor: float = 1.0

    def differs(self, expected: Result, device: torch.device, *, values: bool = True) -> str | None:
        """How this differs from the cpu's, or None."""
        return difference(self.made, expected.made, device, values=values, factor=expected.factor) or difference(
            self.inputs, expected.inputs, None, values=values, factor=expected.factor
        )


Run = Callable[[Operator, Sample, Arguments], Result]


@dataclass
class Tally:
    """What came of the samples of a test; each list has a line per sample."""

    samples: int = 0
    compared: int = 0
    control: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def end(self) -> None:
        """End the test: failed, unsupported, skipped, or passed by returning."""
        if self.failed:
            count = f"{len(self.failed)} of {self.samples} samples differ from the cpu"
            pytest.fail("\n\n".join([f"{count}, first {self.failed[0]}", *self.failed[1:MAX_TOLD]]), pytrace=False)
        if self.refused:
            unsupported(f"{len(self.refused)} of {self.samples} samples are refused, first {self.refused[0]}")
        if not self.compared:
            pytest.skip(f"fails on the control: {self.control[0] if self.control else 'there are no samples'}")


def compare(operator: Operator, run: Run, device: torch.device, *, requires_grad: bool) -> Tally:
    """Run every sample on the cpu and on the device, and compare."""
    tally = Tally()
    for sample in operator.samples(requires_grad=requires_grad):
        tally.samples += 1
        line = f"sample {sample.number}: {operator.name}({shown(sample.arguments)}): "
        with _attention(operator):
            control = _control(operator, run, sample)
        if control.failure is not None:
            tally.control.append(line + control.failure)
            continue
        told = _against(operator, run, sample, device, control)
        if told is not None:
            (tally.refused if told.is_refusal else tally.failed).append(line + told.text)
        elif control.is_determined:
            tally.compared += 1
        else:
            tally.control.append(
                line + "two runs give different values, so only shapes, dtypes and devices were compared"
            )
    return tally


def forward(operator: Operator, sample: Sample, arguments: Arguments) -> Result:
    """Call the operator."""
    with torch.no_grad():
        made = operator(arguments)
    return Result(made, (arguments.positional, dict(arguments.named)))


def backward(operator: Operator, sample: Sample, arguments: Arguments) -> Result:
    """Call the operator and differentiate the result with respect to each tensor that asks for it."""
    leaves = [tensor for tensor in arguments.tensors() if tensor.requires_grad]
    made = sample.to_differentiate(operator(arguments))
    outputs = [leaf for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs:
        raise ValueError("no result depends on a tensor that requires a gradient")
    directions = [
        put(numbers(*output.shape, dtype=output.dtype, seed=seed), output.device) for seed, output in enumerate(outputs)
    ]
    gradients = torch.autograd.grad(outputs, leaves, directions, allow_unused=True)
    return Result((gradients, [output.detach() for output in outputs]), factor=GRADIENT_FACTOR)


@dataclass(frozen=True)
class _Control:
    """What the cpu gave, or why it says nothing."""

    result: Result = Result(())
    failure: str | None = None
    is_random: bool = False
    is_determined: bool = True


@dataclass(frozen=True)
class _Told:
    """What is wrong with a sample on the device."""

    text: str
    is_refusal: bool = False


def _control(operator: Operator, run: Run, sample: Sample) -> _Control:
    cpu = torch.device(CONTROL)
    generator = torch.default_generator
    try:
        before = generator.manual_seed(0).get_state()
        first = run(operator, sample, Placing(cpu).arguments(sample.arguments, on_host=operator.on_host))
        is_random = not torch.equal(before, generator.get_state())
        generator.manual_seed(0)
        with _memory_filled():
            second = run(operator, sample, Placing(cpu).arguments(sample.arguments, on_host=operator.on_host))
        is_determined = second.differs(first, cpu) is None and not operator.is_undetermined
    except Exception as error:
        return _Control(failure=_shown_error(error))
    return _Control(first, None, is_random, is_determined)


def _against(operator: Operator, run: Run, sample: Sample, device: torch.device, control: _Control) -> _Told | None:
    placing = Placing(device)
    try:
        arguments = placing.arguments(sample.arguments, on_host=operator.on_host)
        # The cpu has several ways to compute attention; where it is the device under test it takes the reference's.
        with _attention(operator) if device.type == CONTROL else nullcontext():
            seen = run(operator, sample, arguments)
        where = device if placing.moved else torch.device(CONTROL)
        text = seen.differs(control.result, where, values=control.is_determined and not control.is_random)
    except Exception as error:
        refused = any(words in str(error) for words in REFUSALS)
        return _Told(f"the cpu computes it, the device raised {_shown_error(error)}", refused)
    return _Told(text) if text else None


@contextmanager
def _memory_filled() -> Iterator[None]:
    """Let torch fill memory that nobody writes, which it does in deterministic mode (torch.utils.deterministic)."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def _attention(operator: Operator) -> AbstractContextManager[None]:
    """Attention step by step, which is its definition; the cpu's default is fused and rounds differently."""
    return sdpa_kernel(SDPBackend.MATH) if "attention" in operator.name else nullcontext()


def _shown_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(str(error)) or 'without a message'}"
