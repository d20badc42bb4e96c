"""Views: results that share the memory of the tensor that they were taken from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from harness.compare import OPAQUE, assert_laid_out, assert_matches, assert_on, backward, has_addresses, numbers, put
from harness.outcomes import unsupported

pytestmark = pytest.mark.capability("views")

Take = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class View:
    """An operator that gives a view on the cpu.

    Attributes:
        take: the operator.
        dtype: of the base, which has shape 4, 6, 2.
        writable: whether elements of the view are all different memory.

    """

    take: Take
    dtype: torch.dtype = torch.float32
    writable: bool = True


VIEWS: dict[str, View] = {
    "alias": View(lambda x: torch.ops.aten.alias(x)),
    "as_strided": View(lambda x: x.as_strided((3, 2), (6, 1), 2)),
    "chunk": View(lambda x: x.chunk(3, dim=1)[1]),
    "conj": View(lambda x: x.conj(), torch.complex64),
    "contiguous": View(lambda x: x.contiguous()),
    "detach": View(lambda x: x.detach()),
    "diagonal": View(lambda x: x.diagonal(1)),
    "expand": View(lambda x: x[:1].expand(5, 6, 2), writable=False),
    "flatten": View(lambda x: x.flatten()),
    "imag": View(lambda x: x.imag, torch.complex64),
    "imag_of_conj": View(lambda x: x.conj().imag, torch.complex64),
    "mH": View(lambda x: x.mH, torch.complex64),
    "mT": View(lambda x: x.mT),
    "movedim": View(lambda x: x.movedim(0, 2)),
    "narrow": View(lambda x: x.narrow(1, 2, 3)),
    "permute": View(lambda x: x.permute(2, 0, 1)),
    "ravel": View(lambda x: x.ravel()),
    "real": View(lambda x: x.real, torch.complex64),
    "reshape": View(lambda x: x.reshape(8, 6)),
    "select": View(lambda x: x[2]),
    "slice": View(lambda x: x[1::2, ::3]),
    "split": View(lambda x: x.split([1, 5], dim=1)[1]),
    "squeeze": View(lambda x: x[:, :1].squeeze(1)),
    "swapaxes": View(lambda x: x.swapaxes(0, 1)),
    "t": View(lambda x: x[0].t()),
    "tensor_split": View(lambda x: x.tensor_split(3)[0]),
    "transpose": View(lambda x: x.transpose(0, 2)),
    "unbind": View(lambda x: x.unbind(1)[3]),
    "unflatten": View(lambda x: x.unflatten(1, (2, 3))),
    "unfold": View(lambda x: x.unfold(1, 2, 2)),
    "unfold_overlapping": View(lambda x: x.unfold(1, 3, 1), writable=False),
    "unsqueeze": View(lambda x: x.unsqueeze(1)),
    "view": View(lambda x: x.view(48)),
    "view_as_complex": View(lambda x: torch.view_as_complex(x)),
    "view_as_real": View(lambda x: torch.view_as_real(x), torch.complex64),
    "view_dtype": View(lambda x: x.view(torch.int32)),
    "view_dtype_smaller": View(lambda x: x.view(torch.int16)),
    "view_of_view": View(lambda x: x.transpose(0, 1)[2:, 1].view(torch.int32)),
}

COPIES: dict[str, Take] = {
    "clone": lambda x: x.clone(),
    "contiguous_of_transposed": lambda x: x.transpose(0, 2).contiguous(),
    "flatten_of_transposed": lambda x: x.transpose(0, 2).flatten(),
    "index_with_tensor": lambda x: x[torch.tensor([0, 1], device=x.device)],
    "ravel_of_strided": lambda x: x[:, ::2].ravel(),
    "repeat": lambda x: x.repeat(2, 1, 1),
    "reshape_of_transposed": lambda x: x.transpose(0, 2).reshape(48),
    "to_copy": lambda x: x.to(x.dtype, copy=True),
}


def _shares(one: torch.Tensor, other: torch.Tensor) -> bool | None:
    """Whether two tensors have one storage; None where memory has no addresses, and only writing to it tells."""
    if not has_addresses(one.device):
        return None
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


@pytest.mark.parametrize("name", VIEWS)
def test_view_shares_memory(device: torch.device, name: str) -> None:
    """The operator gives a view: the same storage, offset and strides as on the cpu, and the same elements."""
    view = VIEWS[name]
    base = numbers(4, 6, 2, dtype=view.dtype)
    expected, there = view.take(base), put(base, device)
    seen = view.take(there)
    assert_on(seen, device)
    assert _shares(seen, there) is not False, f"{name} copied; a view has to share the storage of its base"
    assert_laid_out(seen, expected)
    assert seen.is_conj() == expected.is_conj()
    assert seen.is_neg() == expected.is_neg()
    assert seen._is_view() == expected._is_view(), "autograd does not know that this is a view"
    assert_matches(seen, expected, device)


@pytest.mark.parametrize("name", [name for name, view in VIEWS.items() if view.writable])
def test_write_through_view_reaches_base(device: torch.device, name: str) -> None:
    """Writing to the view changes the base, and nothing else of it than on the cpu."""
    view = VIEWS[name]
    expected = numbers(4, 6, 2, dtype=view.dtype)
    there = put(expected, device)
    view.take(expected).fill_(3)
    view.take(there).fill_(3)
    assert_matches(there, expected, device)


@pytest.mark.parametrize("name", VIEWS)
def test_write_to_base_reaches_view(device: torch.device, name: str) -> None:
    """A view that was taken earlier shows what is written to the base later."""
    view = VIEWS[name]
    expected_base = numbers(4, 6, 2, dtype=view.dtype)
    base = put(expected_base, device)
    expected, seen = view.take(expected_base), view.take(base)
    expected_base.mul_(2)
    base.mul_(2)
    assert_matches(seen, expected, device)


@pytest.mark.parametrize("name", COPIES)
def test_copy_does_not_share_memory(device: torch.device, name: str) -> None:
    """The operator gives a copy: writing to it leaves the original alone."""
    base = numbers(4, 6, 2)
    there = put(base, device)
    seen = COPIES[name](there)
    assert _shares(seen, there) is not True
    assert_matches(seen, COPIES[name](base), device)
    seen.zero_()
    assert_matches(there, base, device)


def test_resize_and_set_share_storage(device: torch.device) -> None:
    """`set_` makes a tensor show another one's storage, and `resize_` keeps the elements that still fit."""
    base = put(numbers(12), device)
    other = torch.empty(0, device=device).set_(base)  # type: ignore[call-overload]
    assert _shares(other, base) is not False
    window = torch.empty(0, device=device).set_(base.untyped_storage(), 2, (2, 3), (3, 1))
    assert_matches(window, numbers(12)[2:8].view(2, 3), device)
    base.resize_(3, 2)
    assert_matches(base, numbers(12)[:6].view(3, 2), device)


def test_write_to_overlapping_view_is_refused(device: torch.device) -> None:
    """Writing in place to an expanded tensor, whose elements share memory, is an error."""
    there = put(numbers(3, 1), device).expand(3, 4)
    with pytest.raises(RuntimeError, match=r"single memory location"):
        there.add_(1)


def test_views_in_inference_mode(device: torch.device) -> None:
    """Views made in inference mode, and later views of its tensors, have the right elements."""
    for name, view in VIEWS.items():
        outside = numbers(4, 6, 2, dtype=view.dtype)
        there = put(outside, device)
        with torch.inference_mode():
            inside = put(outside, device)
            views = [view.take(there), view.take(inside)]
        for taken in (*views, view.take(inside)):
            assert torch.equal(taken.cpu(), view.take(outside)), f"{name} has wrong elements"


def test_gradient_flows_through_views(device: torch.device) -> None:
    """Writing in place to a view of a computed tensor is seen by autograd, with the cpu's gradient."""

    def gradient(leaf: torch.Tensor) -> torch.Tensor:
        leaf.requires_grad_()
        middle = leaf * 2
        middle[1:3].mul_(3)
        middle.t()[0].zero_()
        backward(middle**2)
        assert leaf.grad is not None
        return leaf.grad

    assert_matches(gradient(put(numbers(4, 5), device)), gradient(numbers(4, 5)), device)


def test_memory_formats_are_kept(device: torch.device) -> None:
    """Channels-last memory is kept by copies to the device, by `clone` and by pointwise operators."""
    if not has_addresses(device):
        unsupported(OPAQUE)
    base = numbers(2, 3, 4, 5).to(memory_format=torch.channels_last)
    there = put(base, device)
    for seen in (there, there.clone(), there + 1, torch.empty_like(there)):
        assert seen.stride() == base.stride()
        assert seen.is_contiguous(memory_format=torch.channels_last)
    assert_matches(there.contiguous(), base.contiguous(), device)
