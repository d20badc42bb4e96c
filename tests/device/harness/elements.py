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
) -> str | None:
    """The first element that is wrong, with its values and the error, and how many are; None where all are right.

    Args:
        actual: what the device computed, on the cpu, with the dtype and shape of ``cpu``.
        cpu: what the cpu computed in the tested dtype.
        compute_exact: gives what the cpu computes in float64 or complex128, if it can; asked only where it matters.
        own: PyTorch's tolerance for this operator and dtype, if it has one.
        rounds: whether results are rounded to few values, as by floor, so that they equal the exact or the cpu's.

    """
    if cpu.layout is not torch.strided or cpu.is_nested or cpu.is_quantized:
        return _whole_differs(actual, cpu)
    if cpu.dtype is torch.bool:
        # A kernel that stores other bytes than 0 and 1 is wrong, though such booleans may compare as equal.
        actual, cpu = actual.contiguous().view(torch.uint8), cpu.contiguous().view(torch.uint8)
    elif cpu.dtype is torch.complex32:  # torch can hardly compute with it on the cpu, not even compare
        actual, cpu = torch.view_as_real(actual.resolve_conj()), torch.view_as_real(cpu.resolve_conj())
    if torch.equal(actual, cpu):  # quick, and most results are
        return None
    exact = compute_exact()
    if exact is not None and exact.is_complex() and not cpu.is_complex():
        exact = torch.view_as_real(exact.resolve_conj())
    actual, cpu = actual.resolve_conj().resolve_neg(), cpu.resolve_conj().resolve_neg()
    exact = None if exact is None else exact.resolve_conj().resolve_neg()
    if not (cpu.dtype.is_floating_point or cpu.dtype.is_complex) or rounds:
        return _unequal(actual, cpu, exact)
    allowed = allowance(cpu, exact, own)
    error = torch.stack([_distance(actual, reference) for reference in allowed.references]).amin(0)
    wrong = error > allowed.distance
    told = _first(wrong, actual, cpu)
    return None if told is None else f"{told}. {_error(wrong, error, allowed)}"


def _distance(actual: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """How far elements are from a reference, as float64: 0 between equal infinities and NaN, infinite beside others."""
    seen = actual.to(reference.dtype)
    equal = (seen == reference) | (seen.isnan() & reference.isnan())
    return torch.where(equal, 0.0, torch.nan_to_num((seen - reference).abs(), nan=torch.inf, posinf=torch.inf))


def _unequal(actual: torch.Tensor, cpu: torch.Tensor, exact: torch.Tensor | None) -> str | None:
    """As above, of results that equal the cpu's or the exact ones."""
    right = (actual == cpu) | ((actual != actual) & (cpu != cpu))
    if exact is not None and exact.shape == cpu.shape:
        right |= actual == exact.to(cpu.dtype)
    return _first(~right, actual, cpu)


def _first(wrong: torch.Tensor, actual: torch.Tensor, cpu: torch.Tensor) -> str | None:
    count = int(wrong.sum())
    if count == 0:
        return None
    index = tuple(wrong.nonzero()[0].tolist())
    where = f" at index {index}" if index else ""
    of = f" ({count} of {wrong.numel()} elements differ)" if wrong.numel() > 1 else ""
    return f"expected {cpu[index].item()}{where}, got {actual[index].item()}{of}"


def _error(wrong: torch.Tensor, error: torch.Tensor, allowed: Allowance) -> str:
    """The exact value of the first wrong element, its error, and the cpu's."""
    index = tuple(wrong.nonzero()[0].tolist())
    distance = float(allowed.distance[index])
    times = f"{float(error[index]) / distance:.3g} times what is allowed" if distance else "nothing is allowed"
    # Beside infinities and NaN there is no error to divide.
    size = (
        f"the error is {times}, {distance:.2g} by {allowed.source}" if error[index].isfinite() else "it is not finite"
    )
    if allowed.cpu_error is None:
        return f"There is no exact value to compare with; {size}"
    exact = allowed.references[0][index].item()
    return f"The exact value is {exact}; {size}; the error of the cpu is {float(allowed.cpu_error[index]):.2g}"


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
