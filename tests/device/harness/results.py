"""What a call gave, and how it differs from what the cpu gave. Needs torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_leaves

from harness.compare import numbers, put
from harness.differences import difference
from harness.yardstick import NO_YARDSTICK, Yardstick


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes:
        made: results, whose device is checked.
        inputs: the arguments afterwards, since operators may write to them.

    """

    made: object
    inputs: object = ()

    @property
    def unusable(self) -> None:
        """What was computed can always be the reference."""

    def is_refusal(self, device: torch.device) -> bool:
        """What was computed was not refused."""
        return False

    def differs(
        self,
        expected: Result,
        device: torch.device,
        *,
        values: bool = True,
        yardstick: Yardstick = NO_YARDSTICK,
    ) -> str | None:
        """How this differs from the cpu's, or None."""
        made, inputs = yardstick.of(lambda exact: exact.made), yardstick.of(lambda exact: exact.inputs)
        return difference(self.made, expected.made, device, values=values, yardstick=made) or difference(
            self.inputs, expected.inputs, None, values=values, yardstick=inputs
        )


class InItsFormat(Result):
    """What a run gave of channels-last arguments: operators keep the format, of the cpu or of none.

    https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html
    """

    def differs(
        self,
        expected: Result,
        device: torch.device,
        *,
        values: bool = True,
        yardstick: Yardstick = NO_YARDSTICK,
    ) -> str | None:
        """How this differs from the cpu's, or None."""
        told = super().differs(expected, device, values=values, yardstick=yardstick)
        if told is not None:
            return told
        for made, wanted in zip(tree_leaves(self.made), tree_leaves(expected.made), strict=True):
            if _is_channels_last(wanted) and not _is_channels_last(made):
                return f"expected a channels-last result, as on the cpu, got one with strides {made.stride()}"
        return None


@dataclass(frozen=True)
class FlushedOrNot(Result):
    """What a run gave of denormal numbers, which a device may take for zero: PyTorch requires neither.

    Attributes:
        flushed: what the cpu gives for zeros in their places.

    """

    flushed: Result | None = None

    def differs(
        self,
        expected: Result,
        device: torch.device,
        *,
        values: bool = True,
        yardstick: Yardstick = NO_YARDSTICK,
    ) -> str | None:
        """How this differs from the cpu's, and from what that gives for zeros, or None."""
        told = super().differs(expected, device, values=values, yardstick=yardstick)
        if told is None or not isinstance(expected, FlushedOrNot) or expected.flushed is None:
            return told
        return super().differs(expected.flushed, device, values=values) and told


@dataclass(frozen=True)
class Repeated(Result):
    """What a run gave, and what two others of the same arguments gave in torch's deterministic mode.

    Attributes:
        repeated: the results of those two; none where the device refuses for lack of a deterministic implementation.

    """

    repeated: tuple[Result, ...] = ()

    def differs(
        self,
        expected: Result,
        device: torch.device,
        *,
        values: bool = True,
        yardstick: Yardstick = NO_YARDSTICK,
    ) -> str | None:
        """How this differs from the cpu's, or from itself, or None."""
        told = super().differs(expected, device, values=values, yardstick=yardstick)
        if told is None and values and len({_bits(result) for result in self.repeated}) > 1:
            return "two calls under torch.use_deterministic_algorithms(True) gave results that are not the same"
        return told


def _bits(result: Result) -> tuple[bytes, ...]:
    """The memory of all results that have strides."""
    tensors = (leaf for leaf in tree_leaves(result.made) if isinstance(leaf, torch.Tensor))
    on_host = (tensor.cpu().resolve_conj().resolve_neg() for tensor in tensors if is_strided(tensor))
    return tuple(tensor.reshape(-1).view(torch.uint8).numpy().tobytes() for tensor in on_host)


def is_strided(tensor: torch.Tensor) -> bool:
    """Whether a tensor is an ordinary one, with elements in memory."""
    return tensor.layout is torch.strided and not (tensor.is_nested or tensor.is_quantized)


def _is_channels_last(made: object) -> bool:
    if not isinstance(made, torch.Tensor) or made.layout is not torch.strided or made.is_contiguous():
        return False
    wanted = {4: torch.channels_last, 5: torch.channels_last_3d}.get(made.dim())
    return wanted is not None and made.is_contiguous(memory_format=wanted)


def gradients(made: object, leaves: Sequence[torch.Tensor]) -> Result:
    """What was made, and its gradients with respect to tensors, in the same directions every time.

    Raises:
        ValueError: nothing depends on any of the tensors.

    """
    outputs = [leaf for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs or not leaves:
        raise ValueError("no result depends on a tensor that requires a gradient")
    directions = [put(_direction(output, seed), output.device) for seed, output in enumerate(outputs)]
    found = torch.autograd.grad(outputs, leaves, directions, allow_unused=True)
    return Result((found, [output.detach() for output in outputs]))


def _direction(output: torch.Tensor, seed: int) -> torch.Tensor:
    """The same numbers in every dtype that a result may have: bfloat16 has the fewest digits of them."""
    if output.dtype.is_complex:
        parts = numbers(*output.shape, 2, dtype=torch.bfloat16, seed=seed).double()
        return torch.view_as_complex(parts).to(output.dtype)
    return numbers(*output.shape, dtype=torch.bfloat16, seed=seed).to(output.dtype)
