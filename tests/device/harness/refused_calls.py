"""Calls that have to be refused: what is raised, and nothing of how it is worded. Needs torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness.device import CONTROL, synchronize
from harness.parity import shown_error
from harness.refusals import refusal
from harness.samples import Arguments, Sample
from harness.yardstick import NO_YARDSTICK, Yardstick


@dataclass(frozen=True)
class Raised:
    """What a call raised.

    Texts are not compared: they name devices and kernels, and a device's own checks may come before torch's.

    Attributes:
        error: the exception, None when there was none.
        named: the class that torch's list names, which is as right as the cpu's.

    """

    error: Exception | None
    named: type[BaseException] | None = None

    @property
    def unusable(self) -> str | None:
        """Without an exception there is nothing to compare with."""
        return "the cpu raises nothing" if self.error is None else None

    def is_refusal(self, device: torch.device) -> bool:
        """Whether the device has no kernel for the call, which comes before looking at its arguments."""
        return self.error is not None and refusal(self.error, device.type) is not None

    def differs(
        self,
        expected: Raised,
        device: torch.device,
        *,
        values: bool = True,
        yardstick: Yardstick = NO_YARDSTICK,
    ) -> str | None:
        """How this differs from what the cpu raised, or None. The class has to be the same, not one derived from it."""
        assert expected.error is not None
        if self.error is not None and type(self.error) in (type(expected.error), self.named):
            return None
        seen = "raised nothing" if self.error is None else f"raised {shown_error(self.error)}"
        return f"the cpu raised {shown_error(expected.error)}, the device {seen}"


def refused(case: Callable[[Arguments], object], sample: Sample, arguments: Arguments) -> Raised:
    """Call an operator or a module, which has to raise."""
    try:
        waited_for(case(arguments))
    except Exception as error:
        return Raised(error, sample.raises)
    return Raised(None)


def waited_for(made: object) -> object:
    """What was made, once it is there: a device that computes later may raise only now."""
    for leaf in torch.utils._pytree.tree_leaves(made):
        if isinstance(leaf, torch.Tensor) and leaf.device.type != CONTROL:
            synchronize(leaf.device.type)
            break
    return made
