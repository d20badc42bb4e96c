"""Parity: an operator on the device gives what it gives on the cpu. Needs torch.

The cpu runs each sample twice. What differs between those runs says nothing about a device, so it is found out here and
listed nowhere: an operator that draws random numbers moves the cpu's generator; one that shows memory which nobody
wrote gives something else when torch fills such memory, as it does in the second run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_flatten

from harness.compare import TOLERANCES, numbers, put
from harness.device import CONTROL
from harness.operator_database import Operator, Sample
from harness.outcomes import unsupported
from harness.samples import Arguments, Placing, shown
from harness.text import first_line

MAX_TOLD = 3
"""How many failing samples a failure describes; the others are counted."""

REFUSALS = ("Could not run 'aten::", "not implemented for '", "is not currently implemented for the")
"""How torch says that a kernel is missing: the dispatcher, the macros AT_DISPATCH, and the dispatcher's fallback."""

Run = Callable[[Operator, Sample, Arguments], "Result"]


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes:
        made: results, whose device is checked.
        inputs: the arguments afterwards, since operators may write to them.

    """

    made: object
    inputs: object


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
        line = f"sample {tally.samples}: {operator.name}({shown(sample.arguments)}): "
        with _attention(operator):
            control = _control(operator, run, sample)
        if control.failure is not None:
            tally.control.append(line + control.failure)
            continue
        told = _against(operator, run, sample, device, control)
        if told is None:
            if control.is_determined:
                tally.compared += 1
            else:
                tally.control.append(line + "two runs give different values")
        elif told.is_refusal:
            tally.refused.append(line + told.text)
        else:
            tally.failed.append(line + told.text)
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
    outputs = [leaf for leaf in tree_flatten(made)[0] if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs:
        raise ValueError("no result depends on a tensor that requires a gradient")
    directions = [
        put(numbers(*output.shape, dtype=output.dtype, seed=index), output.device)
        for index, output in enumerate(outputs)
    ]
    gradients = torch.autograd.grad(outputs, leaves, directions, allow_unused=True)
    return Result((gradients, [output.detach() for output in outputs]), ())


@dataclass(frozen=True)
class _Control:
    """What the cpu gave, or why it says nothing."""

    result: Result = Result((), ())
    failure: str | None = None
    is_random: bool = False
    is_determined: bool = True


@dataclass(frozen=True)
class _Told:
    text: str
    is_refusal: bool = False


def _control(operator: Operator, run: Run, sample: Sample) -> _Control:
    cpu = torch.device(CONTROL)
    try:
        before = torch.default_generator.manual_seed(0).get_state()
        first = run(operator, sample, Placing(cpu).arguments(sample.arguments))
        is_random = not torch.equal(before, torch.default_generator.get_state())
        torch.default_generator.manual_seed(0)
        with _memory_filled():
            second = run(operator, sample, Placing(cpu).arguments(sample.arguments))
        differs = difference(second.made, first.made, cpu) or difference(second.inputs, first.inputs, None)
    except Exception as error:
        return _Control(failure=_shown_error(error))
    return _Control(first, None, is_random, not differs and not operator.is_undetermined)


def _against(operator: Operator, run: Run, sample: Sample, device: torch.device, control: _Control) -> _Told | None:
    placing = Placing(device)
    values = control.is_determined and not control.is_random
    try:
        arguments = placing.arguments(sample.arguments)
        # The cpu has two ways to compute attention; where it is the device under test it takes the reference's.
        with _attention(operator) if device.type == CONTROL else nullcontext():
            seen = run(operator, sample, arguments)
        where = device if placing.moved else torch.device(CONTROL)
        text = difference(seen.made, control.result.made, where, values=values) or difference(
            seen.inputs, control.result.inputs, None, values=values
        )
    except Exception as error:
        text = _shown_error(error)
        return _Told(f"the cpu computes it, the device raised {text}", any(words in str(error) for words in REFUSALS))
    return _Told(text) if text else None


@contextmanager
def _memory_filled() -> Iterator[None]:
    """Let torch fill memory that nobody writes, which it does in deterministic mode (torch.utils.deterministic)."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def _attention(operator: Operator) -> Any:
    """Attention step by step, which is the definition; the cpu's default is fused and rounds differently."""
    return sdpa_kernel(SDPBackend.MATH) if "attention" in operator.name else nullcontext()


def difference(actual: object, expected: object, device: torch.device | None, *, values: bool = True) -> str | None:
    """How something made of tensors and numbers differs from the cpu's, or None.

    Args:
        actual: the device's.
        expected: the cpu's.
        device: where tensors have to be; None for anywhere.
        values: whether elements are compared, or only what they are stored in.

    """
    seen, form = tree_flatten(actual)
    wanted, wanted_form = tree_flatten(expected)
    if len(seen) != len(wanted):
        return f"expected {wanted_form}, got {form}"
    for index, (one, other) in enumerate(zip(seen, wanted)):
        told = _leaf_difference(one, other, device, values)
        if told is not None:
            return told if len(seen) == 1 else f"result {index + 1} of {len(seen)}: {told}"
    return None


def _leaf_difference(actual: object, expected: object, device: torch.device | None, values: bool) -> str | None:
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        if type(actual) is not type(expected):
            return f"expected {type(expected).__name__}, got {type(actual).__name__}"
        if not isinstance(expected, (bool, int, float, complex)) or not values:
            return None
        return _mismatch(torch.tensor(actual), torch.tensor(expected))
    if actual.dtype != expected.dtype:
        return f"expected dtype {expected.dtype}, got {actual.dtype}"
    if actual.shape != expected.shape:
        return f"expected shape {tuple(expected.shape)}, got {tuple(actual.shape)}"
    if device is not None and actual.device != device:
        return f"expected a result on {device}, got one on {actual.device}"
    return _mismatch(actual.detach().cpu(), expected.detach()) if values else None


def _mismatch(actual: torch.Tensor, expected: torch.Tensor) -> str | None:
    # The quick way first: most results are equal bit by bit.
    if actual.layout is torch.strided and expected.layout is torch.strided and torch.equal(actual, expected):
        return None
    relative, absolute = TOLERANCES.get(expected.dtype, (0.0, 0.0))
    try:
        torch.testing.assert_close(actual, expected, rtol=relative, atol=absolute, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())
    return None


def _shown_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(str(error)) or 'without a message'}"
