"""PyTorch's samples with what kernels get wrong: memory laid out otherwise, many elements, none, extremal values.

Whether a variation is a call at all, the cpu decides: one that it refuses is left out. Needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil, exp, log, prod
from types import MappingProxyType

import torch
from torch.utils._pytree import tree_leaves, tree_map

from harness.operator_database import Operator, is_attention
from harness.results import is_strided
from harness.samples import Arguments, Placing, Sample
from harness.spread import spread
from harness.torch_samples import plainly

Vary = Callable[[torch.Tensor], torch.Tensor]

REDUCES = "ReductionOpInfo"
COMPUTES = ("UnaryUfuncInfo", "BinaryUfuncInfo", REDUCES)
"""What torch has in its lists as computing with each element by itself, or reducing them: none is an index or a size.

Of other operators some end the process on the cpu when a tensor has no dimension (``_chunk_cat`` in torch 2.13).
"""

SEEN = 16
"""How many of torch's samples are looked at."""
VARIED = 2
"""How many of them are laid out with strides, beside the largest."""
TRIED = 6
"""How many of them are tried until one gives a result of many elements."""

BLOCK = 65_536
"""The most threads that a kernel of a gpu is usually launched with, and the largest index of 16 bits."""
MAX_LARGE = 1 << 20
"""Elements that the inputs, or the result, of such a call may have."""
ATTEMPTS = 6
"""How often a length is estimated."""
MAX_TIMES = 8
"""How many times longer an estimate may be than what was measured, lest one that is wrong takes all memory."""
RESULT, INPUTS = 0, 1

EXTREMAL = (torch.inf, -0.0, torch.finfo(torch.float32).max, -torch.inf, torch.finfo(torch.float32).tiny)
DENORMAL = (torch.finfo(torch.float32).tiny / 4, -torch.finfo(torch.float32).tiny / 4)
EXTREMAL_INTEGERS = (torch.iinfo(torch.int64).max, -1, -torch.iinfo(torch.int64).max, (1 << 53) + 1)
"""Not the smallest, which divided by -1 ends the process on some cpus."""


def _strided(tensor: torch.Tensor) -> torch.Tensor:
    return torch.stack([_other(tensor), tensor], -1)[..., 1]


def _at_an_offset(tensor: torch.Tensor) -> torch.Tensor:
    return torch.stack([_other(tensor), tensor])[1]


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    dimensions = tuple(reversed(range(tensor.dim())))
    return tensor.permute(dimensions).contiguous().permute(dimensions)


def _expanded(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:1].clone().expand(tensor.shape) if tensor.dim() else tensor


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.contiguous(memory_format=formats.get(tensor.dim(), torch.contiguous_format))


def _of_four_dimensions(tensor: torch.Tensor) -> torch.Tensor:
    """The elements again and again in another order."""
    shape = (*(2, 3, 4)[: 4 - tensor.dim()], *tensor.shape)
    index = torch.arange(prod(shape))
    return tensor.reshape(-1)[(index * 7 + index // tensor.numel()) % tensor.numel()].view(shape)


def _other(tensor: torch.Tensor) -> torch.Tensor:
    """Elements of the same kind that are not the same, as far as there are any."""
    return tensor.flip(*range(tensor.dim())) if tensor.numel() > 1 else torch.zeros_like(tensor)


def _first_element(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1)[0].clone() if tensor.numel() else tensor


def _with_nan(tensor: torch.Tensor) -> torch.Tensor:
    return _with(tensor, tensor.numel() // 2, (torch.nan,)) if tensor.is_floating_point() else tensor


def _extremal(tensor: torch.Tensor) -> torch.Tensor:
    return _with(tensor, 1, EXTREMAL) if tensor.is_floating_point() else tensor


def has_denormals(tensor: torch.Tensor) -> bool:
    """Whether a tensor gets denormal numbers where a sample is called with them."""
    return _is_strided(tensor) and tensor.dtype is torch.float32


def _denormal(tensor: torch.Tensor) -> torch.Tensor:
    return _with(tensor, 0, DENORMAL) if has_denormals(tensor) else tensor


def _extremal_integers(tensor: torch.Tensor) -> torch.Tensor:
    return _with(tensor, 0, EXTREMAL_INTEGERS) if tensor.dtype is torch.int64 else tensor


def _with(tensor: torch.Tensor, start: int, values: tuple[float, ...]) -> torch.Tensor:
    """A copy with values at places from ``start`` on, as far apart as there is room."""
    if not tensor.numel():
        return tensor
    changed = tensor.reshape(-1).clone()
    step = max(1, (tensor.numel() - start) // len(values))
    for place, value in zip(range(start, tensor.numel(), step), values, strict=False):
        changed[place] = value
    return changed.view(tensor.shape)


OTHER = "with other elements"
EXPANDED = "expanded"
ORDINARY: Mapping[str, Vary] = MappingProxyType(
    {
        OTHER: lambda tensor: _other(tensor) if tensor.numel() > 1 else tensor,
        "transposed": _transposed,
        "at an offset": _at_an_offset,
        EXPANDED: _expanded,
    }
)
EXTRAORDINARY: Mapping[str, Vary] = MappingProxyType({"with NaN": _with_nan, "with extremal values": _extremal})

CHANNELS_LAST = "channels-last"
DENORMALS = "with denormal numbers"
MANY = "of many elements"
UNWRITTEN = ("resize_", "resize_as_", "nn.functional.multi_margin_loss", "nn.functional.multilabel_margin_loss")
"""Operators whose result on tensors without elements is memory that nobody writes, measured on torch 2.12 to 2.15.

The second run of ``parity`` shows that too, except where a run before left NaN in that memory: torch fills with NaN.
"""


def variations(operator: Operator) -> Iterator[Sample]:
    """One of an operator's samples, and the variations of it and of others that the cpu takes."""
    given = _given(operator)
    found = [sample for sample in given if any(tensor.numel() > 1 for tensor in _strided_tensors(sample))]
    if not found:
        yield from given[:1]
        return
    largest = max(found, key=_size)
    yield largest
    for sample in _without_more_elements(operator, found, largest):
        if _elements(operator, sample.arguments) is not None:
            yield sample
    yield from _large(operator, found, largest)


def elsewhere(samples: Iterable[Sample], where: str) -> list[Sample]:
    """The samples that are the least unusual, to be called in another place."""
    return [replace(sample, kind=where) for sample in samples if sample.kind in ("", OTHER)]


def _without_more_elements(operator: Operator, found: Sequence[Sample], largest: Sample) -> Iterator[Sample]:
    for sample in (largest, *(found[index] for index in spread(len(found), VARIED))):
        yield from _varied(sample, "strided", _strided)
    for kind, vary in ORDINARY.items():
        if kind != EXPANDED or not _writes(operator, largest):
            yield from _varied(largest, kind, vary)
    yield from _varied(_with_channels(found, largest), CHANNELS_LAST, _channels_last)
    # LAPACK does not document its routines on such numbers, and some of them end the process. Kernels of attention
    # may leave out what is masked or multiply it with zero.
    if not (_uses_lapack(operator) or is_attention(operator.name)):
        for kind, vary in EXTRAORDINARY.items():
            yield from _varied(largest, kind, vary)
    if _is_of_class(operator, *COMPUTES):
        yield from _varied(largest, "of one element", _first_element)
        yield from _varied(largest, DENORMALS, _denormal)
        yield from _with_extremal_integers(operator)
    if operator.name not in UNWRITTEN:
        yield from (Sample(largest.number, resize.to(0), kind="without elements") for resize in _resizes(largest))


def _writes(operator: Operator, sample: Sample) -> bool:
    """Whether the cpu writes to the arguments: where elements share memory, the order of writes decides the result."""
    copies = Placing(torch.device("cpu")).arguments(sample.arguments)
    try:
        with torch.no_grad():
            operator(copies)
    except Exception:
        return False
    pairs = zip(_strided_tensors(sample), filter(_is_strided, copies.tensors()), strict=True)
    return any(not torch.equal(given, copy) for given, copy in pairs)


def _is_of_class(operator: Operator, *names: str) -> bool:
    """Whether torch's list has an operator as one of these, by name: they are no public interface."""
    return any(known.__name__ in names for known in type(operator.info).__mro__)


def _uses_lapack(operator: Operator) -> bool:
    """Whether PyTorch leaves out its own tests of an operator where torch was built without LAPACK."""
    decorators = operator.info.decorators or ()
    return any(getattr(decorator, "__name__", None) == "skipCPUIfNoLapack" for decorator in decorators)


def _given(operator: Operator) -> list[Sample]:
    """The first of torch's samples."""
    with plainly():
        given = list(islice(operator.info.sample_inputs("cpu", operator.dtype, requires_grad=False), SEEN))
    return [
        Sample(number, Arguments((sample.input, *sample.args), sample.kwargs))
        for number, sample in enumerate(given, start=1)
    ]


def _strided_tensors(sample: Sample) -> list[torch.Tensor]:
    return [tensor for tensor in sample.arguments.tensors() if _is_strided(tensor)]


def _is_strided(tensor: object) -> bool:
    return isinstance(tensor, torch.Tensor) and is_strided(tensor)


def _size(sample: Sample) -> tuple[int, int]:
    tensors = _strided_tensors(sample)
    return max(tensor.dim() for tensor in tensors), sum(tensor.numel() for tensor in tensors)


def _varied(sample: Sample, kind: str, vary: Vary) -> Iterator[Sample]:
    """The sample with each tensor varied, unless that leaves all of them as they are."""
    made: dict[int, torch.Tensor] = {}
    changed = False

    def once(leaf: object) -> object:
        nonlocal changed
        if not isinstance(leaf, torch.Tensor) or not _is_strided(leaf):
            return leaf
        if id(leaf) not in made:
            made[id(leaf)] = vary(leaf.detach())
            new = made[id(leaf)]
            changed |= new is not leaf and not (
                new.shape == leaf.shape
                and new.stride() == leaf.stride()
                and new.storage_offset() == leaf.storage_offset()
                and torch.equal(new, leaf)
            )
        return made[id(leaf)]

    arguments = Arguments(*tree_map(once, (sample.arguments.positional, dict(sample.arguments.named))))
    if changed:
        yield Sample(sample.number, arguments, kind=kind)


def _with_channels(found: Sequence[Sample], largest: Sample) -> Sample:
    for sample in found:
        if any(tensor.dim() in (4, 5) for tensor in _strided_tensors(sample)):
            return sample
    fewest = min(2, _size(largest)[0])

    def vary(tensor: torch.Tensor) -> torch.Tensor:
        return _of_four_dimensions(tensor) if tensor.numel() and fewest <= tensor.dim() <= 4 else tensor

    return next(_varied(largest, "", vary), largest)


def _with_extremal_integers(operator: Operator) -> Iterator[Sample]:
    if torch.int64 in operator.info.supported_dtypes("cpu"):
        given = _given(replace(operator, dtype=torch.int64))
        for sample in islice(sorted(filter(_strided_tensors, given), key=_size, reverse=True), 1):
            yield from _varied(sample, "with extremal integers", _extremal_integers)


@dataclass(frozen=True)
class _Resize:
    """Other lengths for those dimensions of all tensors of a sample that have one length."""

    sample: Sample
    length: int
    dimensions: slice

    def to(self, length: int) -> Arguments:
        """The arguments with that length; the elements are repeated."""

        def resized(leaf: object) -> object:
            if not isinstance(leaf, torch.Tensor) or not _is_strided(leaf):
                return leaf
            index = torch.arange(length) % self.length
            for dimension in range(leaf.dim())[self.dimensions]:
                if leaf.shape[dimension] == self.length:
                    leaf = leaf.index_select(dimension, index)
            return leaf

        arguments = self.sample.arguments
        return Arguments(*tree_map(resized, (arguments.positional, dict(arguments.named))))


def _resizes(sample: Sample) -> Iterator[_Resize]:
    first = next(tensor for tensor in _strided_tensors(sample) if tensor.numel() > 1)
    yield _Resize(sample, first.shape[0], slice(0, 1))
    yield _Resize(sample, first.shape[-1], slice(-1, None))
    yield _Resize(sample, first.shape[-1], slice(None))


def _large(operator: Operator, found: Sequence[Sample], largest: Sample) -> Iterator[Sample]:
    """A call with a result of more than a block of elements, and one with such inputs where there is none."""
    tried = [largest, *(found[index] for index in spread(len(found), TRIED))]
    result = next(_grown(operator, tried, RESULT), None)
    if result is not None:
        yield result
    if result is None or _is_of_class(operator, REDUCES):
        yield from islice(_grown(operator, tried[:1], INPUTS), 1)


def _grown(operator: Operator, samples: Iterable[Sample], which: int) -> Iterator[Sample]:
    """Samples of a little more than a block: how much longer they are is found from how they grow with the length."""
    for sample in samples:
        for resize in _resizes(sample):
            near, far = resize.length, 2 * resize.length
            before, after = _elements(operator, resize.to(near)), _elements(operator, resize.to(far))
            for _ in range(ATTEMPTS):
                if before is None or after is None or not 0 < before[which] < after[which]:
                    break
                powers = [_power(*ends, far / near) for ends in zip(before, after, strict=True)]
                times = exp(min(log(MAX_TIMES), log(1.01 * BLOCK / after[which]) / powers[which]))
                length = ceil(far * times) | 1
                # What is not measured may grow faster.
                if max(late * times**power for late, power in zip(after, powers, strict=True)) > MAX_LARGE:
                    break
                near, before, far = far, after, length
                arguments = resize.to(length)
                after = _elements(operator, arguments)
                if after is not None and after[which] > BLOCK:
                    yield Sample(sample.number, arguments, kind=MANY)
                    break


def _power(before: int, after: int, times: float) -> float:
    """How a number grows with a length that grew so many times: 2 for its square."""
    return log(max(1, after) / max(1, before)) / log(times)


def _elements(operator: Operator, arguments: Arguments) -> tuple[int, int] | None:
    """How many elements the first result on the cpu has, and how many the inputs; None where the cpu refuses."""
    copies = Placing(torch.device("cpu")).arguments(arguments)
    try:
        with torch.no_grad():
            made = operator(copies)
    except Exception:
        return None
    result = next((leaf.numel() for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor)), 0)
    return result, sum(tensor.numel() for tensor in arguments.tensors())
