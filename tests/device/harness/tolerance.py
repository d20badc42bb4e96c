"""How far each element of a result may be from the exact one, and where that number comes from. Needs torch.

The exact result is the cpu's in float64 or complex128 on the same inputs. The distance allowed is the largest of three:
the tolerance of the dtype; PyTorch's own tolerance for the operator, in its test that compares the same thing; and
``MULTIPLE`` times the cpu's own error on this sample in the tested dtype, which for gradients of attention is the
largest in the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch


@dataclass(frozen=True)
class Tolerance:
    """How far apart two numbers may be.

    Attributes:
        relative: times the size of the expected one.
        absolute: added to that.

    """

    relative: float
    absolute: float

    def distance(self, reference: torch.Tensor) -> torch.Tensor:
        """The distance allowed from each element, as float64; none from infinities and NaN."""
        return torch.nan_to_num(self.absolute + self.relative * reference.abs(), posinf=0.0)

    def widened(self, other: Tolerance) -> Tolerance:
        """The larger numbers of the two."""
        return Tolerance(max(self.relative, other.relative), max(self.absolute, other.absolute))


EQUAL = Tolerance(0.0, 0.0)

TOLERANCES = {
    torch.float64: Tolerance(1e-9, 1e-9),
    torch.float32: Tolerance(1e-4, 1e-5),
    torch.float16: Tolerance(2e-3, 2e-3),
    torch.bfloat16: Tolerance(2e-2, 2e-2),
    torch.complex64: Tolerance(1e-4, 1e-5),
    torch.complex128: Tolerance(1e-9, 1e-9),
}
"""By dtype; other dtypes compare exactly."""

EXACT = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}
"""The dtype in which the exact result is computed, by tested dtype."""

MULTIPLE = 4.0
"""How many times the cpu's own error is allowed."""

TYPICAL = 2.0
"""How many times the root mean square of the cpu's errors counts for each element of a result."""

LARGEST_OWN = 5.0
"""PyTorch's own tolerance counts up to this many tolerances of the result's largest element.

Some are absolute and larger than most results, and a relative error of 0.001 in float32 has to be found.
"""

SAME_ANSWER = 20.0
"""The largest error of the cpu, in tolerances of the result's largest element, with which float64 gave the same answer.

It gives another one where several are right: an eigenvector of the other sign, other random numbers, the other side of
a step. Then each element has to be near the cpu's in the tested dtype or near the one of float64.
"""


@dataclass(frozen=True)
class Allowance:
    """What a result is compared with, and how far from it each element may be.

    Attributes:
        references: right results as float64 or complex128, of which an element has to be near one.
        distances: allowed for each element from each reference, as float64.
        is_exact: whether the first of them is the exact result; there may be none, or several.
        source: where the allowed distance comes from.

    """

    references: tuple[torch.Tensor, ...]
    distances: tuple[torch.Tensor, ...]
    is_exact: bool
    source: str


def allowance(
    cpu: torch.Tensor, exact: torch.Tensor | None, own: Tolerance | None = None, *, as_one: bool = False
) -> Allowance:
    """How far a floating or complex result may be from the exact one.

    Args:
        cpu: the cpu's result in the tested dtype, strided.
        exact: the cpu's result in float64 or complex128, if it has one.
        own: PyTorch's tolerance for this operator and the dtype that it is called with, if it has one.
        as_one: whether the cpu's largest error counts for each element.

    """
    tolerance = TOLERANCES.get(cpu.dtype, EQUAL)
    source = f"the tolerance of {str(cpu.dtype).removeprefix('torch.')}"
    wide = cpu.to(torch.complex128 if cpu.dtype.is_complex else torch.float64)
    known = exact is not None and exact.shape == wide.shape and exact.dtype == wide.dtype and cpu.dtype in EXACT
    if not known or not cpu.numel():
        return _widened(Allowance((wide,), (tolerance.distance(wide),), False, source), tolerance, own)
    assert exact is not None
    # An element that is not finite in one of the two has no error that could be measured.
    measured = wide.isfinite() & exact.isfinite()
    in_range = exact.isfinite() & (exact.abs() <= torch.finfo(cpu.dtype).max)
    reference = torch.where(in_range, exact, wide)
    distance = tolerance.distance(reference)
    error = torch.where(measured, (wide - exact).abs(), 0.0)
    others = () if bool((measured | ~in_range).all()) else (wide,)
    if measured.any() and bool(error.max() > SAME_ANSWER * distance[measured].max()):
        either = (tolerance.distance(wide), distance)
        return _widened(Allowance((wide, reference), either, False, source), tolerance, own)
    # The error counts relative to the element where elements differ in size, absolute where a sum cancelled. One
    # element in which the cpu is far off does not widen what is allowed for all others.
    relative = (error / distance)[measured]
    typical = torch.minimum(relative.max(), TYPICAL * relative.square().mean().sqrt()) if relative.numel() else 0.0
    by_cpu = MULTIPLE * (
        error.max() if as_one else torch.maximum(error, torch.minimum(typical * distance, error.max()))
    )
    if bool((by_cpu > distance).any()):
        distance, source = torch.maximum(distance, by_cpu), f"{MULTIPLE:g} times the cpu's own error on this sample"
    distances = (distance, *(tolerance.distance(other) for other in others))
    return _widened(Allowance((reference, *others), distances, True, source), tolerance, own)


def _widened(given: Allowance, tolerance: Tolerance, own: Tolerance | None) -> Allowance:
    """The same with PyTorch's tolerance for the operator, where that is wider."""
    if own is None or not given.references[0].numel():
        return given
    distances = []
    for reference, distance in zip(given.references, given.distances, strict=True):
        bound = LARGEST_OWN * float(tolerance.distance(reference).max())
        wider = tolerance.widened(own).distance(reference).clamp(max=bound)
        distances.append(torch.maximum(distance, wider))
    if all(torch.equal(wider, distance) for wider, distance in zip(distances, given.distances, strict=True)):
        return given
    return replace(given, distances=tuple(distances), source="PyTorch's own tolerance for the operator")


def torch_tolerance(
    info: Any, test: tuple[str, str] | None, dtype: torch.dtype | None, device_type: str
) -> Tolerance | None:
    """The tolerance that an entry of PyTorch's lists declares for one of PyTorch's tests with a dtype, if it does.

    It is in the decorators ``toleranceOverride`` and ``precisionOverride`` (torch/testing/_internal/
    common_device_type.py), alone or within a ``DecorateInfo`` (torch/testing/_internal/opinfo/core.py), which names the
    test, the kind of device and the dtypes that it is for. The widest of several counts, for results of any dtype.

    Args:
        info: the entry.
        test: the class and the name of PyTorch's test; None counts only what is declared for every test.
        dtype: that the test is called with.
        device_type: of the device under test.

    """
    found = None
    for entry in getattr(info, "decorators", None) or ():
        for decorator in getattr(entry, "decorators", (entry,)):
            if type(decorator).__name__ not in ("toleranceOverride", "precisionOverride") or dtype not in decorator.d:
                continue
            if decorator is entry or entry.is_active(*(test or ("", "")), device_type, dtype, {}):
                value = decorator.d[dtype]
                # precisionOverride declares an absolute tolerance alone.
                given = Tolerance(getattr(value, "rtol", 0.0), getattr(value, "atol", value))
                found = given if found is None else found.widened(given)
    return found
