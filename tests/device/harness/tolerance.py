"""How far each element of a result may be from the exact one, and where that number comes from. Needs torch.

The exact result is the cpu's in float64 or complex128 on the same inputs. The distance allowed from it is the largest
of three: the tolerance of the dtype; the tolerance that PyTorch's own list gives the operator for the test that compares
the same thing; and ``MULTIPLE`` times the cpu's own error on this sample in the tested dtype.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
        """The distance allowed from each element, as float64."""
        return self.absolute + self.relative * reference.abs()


EQUAL = Tolerance(0.0, 0.0)

TOLERANCES = {
    torch.float64: Tolerance(1e-9, 1e-9),
    torch.float32: Tolerance(1e-4, 1e-5),
    torch.float16: Tolerance(2e-3, 2e-3),
    torch.bfloat16: Tolerance(2e-2, 2e-2),
    torch.complex32: Tolerance(2e-3, 2e-3),
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

LARGEST_ERROR = {torch.float16: 10.0, torch.bfloat16: 2.0, torch.complex32: 10.0}
"""The largest error of the cpu for which float64 is the exact result, as a multiple of the dtype's tolerance; 100 for
other dtypes. A larger one means that float64 gave another answer, as it may where several are right: an eigenvector of the
other sign, other random numbers, the other side of a step. Then the cpu's result in the tested dtype is compared with.
"""


@dataclass(frozen=True)
class Allowance:
    """What a result is compared with, and how far from it each element may be.

    Attributes:
        reference: the exact result as float64 or complex128, or the cpu's where there is none.
        distance: allowed for each element, as float64.
        cpu_error: the cpu's own error in each element, as float64; None without an exact result.
        source: where the allowed distance comes from.

    """

    reference: torch.Tensor
    distance: torch.Tensor
    cpu_error: torch.Tensor | None
    source: str


def allowance(cpu: torch.Tensor, exact: torch.Tensor | None, own: Tolerance | None = None) -> Allowance:
    """How far a floating or complex result may be from the exact one.

    Args:
        cpu: the cpu's result in the tested dtype, strided.
        exact: the cpu's result in float64 or complex128, if it has one.
        own: PyTorch's tolerance for this operator and dtype, if it has one.

    """
    dtype = torch.complex128 if cpu.dtype.is_complex else torch.float64
    wide = cpu.to(dtype)
    tolerance = TOLERANCES.get(cpu.dtype, EQUAL)
    reference, cpu_error, multiple = wide, None, 0.0
    source = f"the tolerance of {str(cpu.dtype).removeprefix('torch.')}"
    if exact is not None and exact.shape == cpu.shape and exact.dtype == dtype and cpu.dtype in EXACT:
        # An element that is not finite in one of the two has no error that could be measured.
        measured = wide.isfinite() & exact.isfinite()
        error = torch.where(measured, (wide - exact).abs(), 0.0)
        units = float((error / tolerance.distance(torch.where(measured, exact, 1.0))).max()) if error.numel() else 0.0
        if units <= LARGEST_ERROR.get(cpu.dtype, 100.0):
            reference, cpu_error, multiple = torch.where(measured, exact, wide), error, MULTIPLE * units
    distance = tolerance.distance(reference)
    if multiple > 1.0:
        distance, source = distance * multiple, f"{MULTIPLE:g} times the cpu's own error on this sample"
    if own is not None:
        wider = own.distance(reference)
        if bool((wider > distance).any()):
            distance, source = torch.maximum(distance, wider), "PyTorch's own tolerance for this operator"
    return Allowance(reference, distance, cpu_error, source)


def torch_tolerances(info: Any, test: tuple[str, str] | None, device_type: str) -> Mapping[torch.dtype, Tolerance]:
    """The tolerances that an entry of PyTorch's lists declares for one of PyTorch's tests, by dtype.

    They are the decorators ``toleranceOverride`` and ``precisionOverride`` (torch/testing/_internal/
    common_device_type.py), alone or within a ``DecorateInfo`` (torch/testing/_internal/opinfo/core.py), which names the
    test, the kind of device and the dtypes that it is for. Of several for a dtype the widest counts.

    Args:
        info: the entry.
        test: the class and the name of PyTorch's test; None counts only what is declared for every test.
        device_type: of the device under test.

    """
    found: dict[torch.dtype, Tolerance] = {}
    for entry in getattr(info, "decorators", None) or ():
        for decorator in getattr(entry, "decorators", (entry,)):
            if type(decorator).__name__ not in ("toleranceOverride", "precisionOverride"):
                continue
            for dtype, value in decorator.d.items():
                if decorator is not entry and not entry.is_active(*(test or ("", "")), device_type, dtype, {}):
                    continue
                known = found.get(dtype, TOLERANCES.get(dtype, EQUAL))
                # precisionOverride declares an absolute tolerance alone.
                relative, absolute = getattr(value, "rtol", 0.0), getattr(value, "atol", value)
                found[dtype] = Tolerance(max(relative, known.relative), max(absolute, known.absolute))
    return found
