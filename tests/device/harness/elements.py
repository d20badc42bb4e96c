"""Where a result differs from the cpu's, element by element, in a line. Needs torch."""

from __future__ import annotations

from collections.abc import Callable

import torch

from harness.tolerance import EQUAL, TOLERANCES, Allowance, Tolerance, allowance


def elements_differ(
    actual: torch.Tensor,
    cpu: torch.Tensor,
    compute_exact: Callable[[], torch.Tensor | None],
    *,
    own: Tolerance | None = None,
    rounds: bool = False,
    as_one: bool = False,
) -> str | None:
    """The first element that is wrong, with its values and the error, and how many are; None where all are right.

    Args:
        actual: what the device computed, on the cpu, with the dtype and shape of ``cpu``.
        cpu: what the cpu computed in the tested dtype.
        compute_exact: gives what the cpu computes in float64 or complex128, if it can; asked only where it matters.
        own: PyTorch's tolerance for this operator and the dtype that it is called with, if it has one.
        rounds: whether results are rounded to few values, as by floor, so that they equal the exact or the cpu's.
        as_one: whether the cpu's largest error counts for each element.

    """
    if cpu.layout is not torch.strided or cpu.is_nested or cpu.is_quantized:
        return _whole_differs(actual, cpu)
    if cpu.dtype is torch.bool:
        # A kernel that stores other bytes than 0 and 1 is wrong, though such booleans may compare as equal.
        actual, cpu = actual.contiguous().view(torch.uint8), cpu.contiguous().view(torch.uint8)
    elif cpu.dtype is torch.complex32 or (cpu.is_complex() and not bool(cpu.isfinite().all())):
        # torch can hardly compute with complex32 on the cpu; of other numbers, one part may be infinite and one not.
        actual, cpu = (torch.view_as_real(tensor.resolve_conj().resolve_neg()) for tensor in (actual, cpu))
    # Most results are equal, and then the exact one, which costs another run, is not computed.
    if torch.equal(actual, cpu) or bool(_equal(actual, cpu).all()):
        return None
    exact = compute_exact()
    if exact is not None and (exact.layout is not torch.strided or exact.is_nested):
        exact = None
    if exact is not None and exact.is_complex() and not cpu.is_complex():
        exact = torch.view_as_real(exact.resolve_conj())
    actual, cpu = actual.resolve_conj().resolve_neg(), cpu.resolve_conj().resolve_neg()
    exact = None if exact is None else exact.resolve_conj().resolve_neg()
    if not (cpu.dtype.is_floating_point or cpu.dtype.is_complex) or rounds:
        return _unequal(actual, cpu, exact)
    allowed = allowance(cpu, exact, own, as_one=as_one)
    errors = [_distance(actual, reference) for reference in allowed.references]
    near = [error <= distance for error, distance in zip(errors, allowed.distances, strict=True)]
    wrong = ~torch.stack(near).any(0)
    told = _first(wrong, actual, cpu)
    return None if told is None else f"{told}. {_error(wrong, errors[0], allowed, cpu, exact)}"


def _equal(actual: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    return (actual == expected) | ((actual != actual) & (expected != expected))


def _distance(actual: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """How far elements are from a reference, as float64: 0 between equal infinities and NaN, infinite beside others."""
    seen = actual.to(reference.dtype)
    far = torch.nan_to_num((seen - reference).abs(), nan=torch.inf, posinf=torch.inf)
    return torch.where(_equal(seen, reference), 0.0, far)


def _unequal(actual: torch.Tensor, cpu: torch.Tensor, exact: torch.Tensor | None) -> str | None:
    """As above, of results that equal the cpu's or the exact ones."""
    right = _equal(actual, cpu)
    if exact is None or exact.shape != cpu.shape:
        return _first(~right, actual, cpu)
    wrong = ~(right | (actual == exact.to(cpu.dtype)))
    told = _first(wrong, actual, cpu)
    return None if told is None else f"{told}. The exact value is {exact[_index(wrong)].item()}"


def _first(wrong: torch.Tensor, actual: torch.Tensor, cpu: torch.Tensor) -> str | None:
    count = int(wrong.sum())
    if count == 0:
        return None
    index = _index(wrong)
    where = f" at index {index}" if index else ""
    of = f" ({count} of {wrong.numel()} elements differ)" if wrong.numel() > 1 else ""
    return f"expected {cpu[index].item()}{where}, got {actual[index].item()}{of}"


def _index(wrong: torch.Tensor) -> tuple[int, ...]:
    """Of the first element that is wrong."""
    return tuple(wrong.nonzero()[0].tolist())


def _error(
    wrong: torch.Tensor, error: torch.Tensor, allowed: Allowance, cpu: torch.Tensor, exact: torch.Tensor | None
) -> str:
    """The exact value of the first wrong element, its error, and the cpu's."""
    index = _index(wrong)
    distance, far = float(allowed.distances[0][index]), float(error[index])
    size = f"the error is {far:.3g}"
    if distance and far < float("inf"):
        size += f", {far / distance:.3g} times what is allowed by {allowed.source}"
    if exact is None or exact.shape != wrong.shape:
        return f"There is no exact value to compare with; {size}"
    value = exact[index].item()
    if not allowed.is_exact:
        return f"The value in float64 is another answer, {value}; {size}"
    return f"The exact value is {value}; {size}; the error of the cpu is {float(_distance(cpu, exact)[index]):.2g}"


def _whole_differs(actual: torch.Tensor, cpu: torch.Tensor) -> str | None:
    """As above, of tensors with a layout of their own."""
    tolerance = TOLERANCES.get(cpu.dtype, EQUAL)
    try:
        torch.testing.assert_close(
            actual, cpu, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True, check_stride=False
        )
    except AssertionError as error:
        return " ".join(str(error).split())
    return None
