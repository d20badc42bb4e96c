"""How far results are from the exact ones, in units in the last place. Needs torch.

Nothing is decided here: what is allowed is in ``harness/tolerance.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch.utils._pytree import tree_leaves

from harness.results import is_strided
from harness.tolerance import EXACT, SAME_ANSWER, TOLERANCES

MOST = 100_000
"""About as many elements of a result are measured at most, evenly spread."""


@dataclass
class Accuracy:
    """The errors of a test's results: those of the device, and those of the cpu in the same dtype."""

    device: list[torch.Tensor] = field(default_factory=list)
    cpu: list[torch.Tensor] = field(default_factory=list)

    def add(self, seen: object, control: object, exact: object) -> None:
        """Add the results of a sample, those of them that are floating or complex and have one exact value."""
        leaves = [tree_leaves(made) for made in (seen, control, exact)]
        if len({len(found) for found in leaves}) > 1:
            return
        for one, own, right in zip(*leaves, strict=True):
            if all(map(_has_elements, (one, own, right))):
                self._add(one.detach().cpu(), own.detach(), right.detach())

    def _add(self, one: torch.Tensor, own: torch.Tensor, right: torch.Tensor) -> None:
        known = own.dtype in TOLERANCES and right.dtype is EXACT.get(own.dtype)
        if not known or one.dtype is not own.dtype or not one.shape == own.shape == right.shape:
            return
        step = right.numel() // MOST + 1
        one, own, right = (tensor.flatten()[::step] for tensor in (one, own, right))
        kept = _in_reach(right.abs(), own.dtype)
        right = right[kept]
        if not right.numel():
            return
        far = [(made[kept].to(right.dtype) - right).abs() for made in (one, own)]
        # A cpu that is that far off computed another right result; eigenvectors, for example, have several.
        allowed = SAME_ANSWER * TOLERANCES[own.dtype].distance(right).max()
        if bool((far[1][far[1].isfinite()] > allowed).any()):
            return
        unit = last_place(right.abs(), own.dtype)
        for error, errors in zip(far, (self.device, self.cpu), strict=True):
            errors.append(torch.nan_to_num(error / unit, nan=math.inf, posinf=math.inf))

    def summary(self) -> dict[str, float | None]:
        """The largest and the typical error, which is the median, and how many results they are of.

        An error is None where an infinity or NaN was given for a number. Without a measured result there is nothing.
        """
        if not self.device:
            return {}
        found: dict[str, float | None] = {"results": sum(errors.numel() for errors in self.device)}
        for name, errors in (("device", torch.cat(self.device)), ("cpu", torch.cat(self.cpu))):
            found[f"{name}_largest"] = _rounded(float(errors.max()))
            found[f"{name}_typical"] = _rounded(float(errors.median()))
        return found


def last_place(size: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The unit in the last place: the distance between neighboring numbers of a dtype at sizes given in float64."""
    facts = torch.finfo(dtype)
    _, exponent = torch.frexp(size)
    return torch.ldexp(torch.full_like(size, facts.eps / 2), exponent).clamp(min=facts.smallest_normal * facts.eps)


def _has_elements(made: object) -> bool:
    return isinstance(made, torch.Tensor) and is_strided(made) and not made.is_meta


def _in_reach(size: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Which exact results are measured: those that the dtype can hold, and for which float64 is exact enough.

    One that is much smaller than the others, or than the samples, which are about 1, may be a rounding error itself.
    """
    facts = torch.finfo(dtype)
    held = size.isfinite() & (size <= facts.max)
    largest = torch.where(held, size, 1.0).amax().clamp(min=1.0) if size.numel() else 1.0
    return held & (size * facts.eps >= largest * torch.finfo(torch.float64).eps)


def _rounded(error: float) -> float | None:
    """Two digits: numbers that do not change from night to night take no room in the history."""
    return float(f"{error:.2g}") if math.isfinite(error) else None
