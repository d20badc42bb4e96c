"""Tensors: making, copying, converting and showing them."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
import torch

from harness.compare import OPAQUE, assert_laid_out, assert_matches, assert_on, has_addresses, numbers, put
from harness.outcomes import unsupported

pytestmark = pytest.mark.capability("tensors")

CPU = torch.device("cpu")

DTYPES = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
    *(torch.bool, torch.complex64, torch.complex128),
)


def _name(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("dtype", DTYPES, ids=_name)
def test_round_trip_of_every_layout(device: torch.device, dtype: torch.dtype) -> None:
    """Tensors of every layout arrive whole and come back whole: strided, transposed, expanded, empty, scalar."""
    base = numbers(4, 6, 2, dtype=dtype)
    layouts: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
        lambda x: x,
        lambda x: x.permute(2, 0, 1),
        lambda x: x[1:, ::2],
        lambda x: x[:1].expand(3, 6, 2),
        lambda x: x.flip(0),
        lambda x: x[:0],
        lambda x: x[0, 0, 0],
        lambda x: x.diagonal(),
    )
    there = put(base, device)
    for layout in layouts:
        assert_matches(put(layout(base), device), layout(base), device)
        assert_matches(layout(there), layout(base), device)


@pytest.mark.parametrize("source", DTYPES, ids=_name)
def test_conversion_between_dtypes(device: torch.device, source: torch.dtype) -> None:
    """A tensor is converted to every other dtype as on the cpu, while it is copied and afterwards."""
    values = numbers(20, dtype=source)
    if source.is_signed and not source.is_complex:
        values = values.abs()  # a negative number has no unsigned counterpart
    there = put(values, device)
    targets = [target for target in DTYPES if target.is_complex or not source.is_complex]
    for target in targets:
        assert_matches(there.to(target), values.to(target), device)
        assert_matches(values.to(device, target), values.to(target), device)
        assert torch.equal(there.to(CPU, target), values.to(target))


@pytest.mark.parametrize("dtype", DTYPES, ids=_name)
def test_item_and_tolist(device: torch.device, dtype: torch.dtype) -> None:
    """`item()`, `tolist()` and Python's own conversions give the number that is there."""
    values = numbers(5, dtype=dtype)
    there = put(values, device)
    assert there.tolist() == values.tolist()
    assert there[3].item() == values[3].item()
    assert bool(there[3]) is bool(values[3])
    assert bool(torch.zeros((), dtype=dtype, device=device)) is False


def test_tensor_as_python_index(device: torch.device) -> None:
    """An integer tensor on the device can be a Python index, a length and a format argument."""
    three = torch.tensor(3, device=device)
    assert [10, 11, 12, 13][three] == 13
    assert list(range(three)) == [0, 1, 2]
    assert f"{torch.tensor(2.5, device=device):.2f}" == "2.50"
    assert int(three) == 3
    with pytest.raises(RuntimeError):
        torch.ones(2, device=device).item()


def test_factories_equal_cpu(device: torch.device) -> None:
    """Every factory makes the cpu's elements on the device."""
    factories: tuple[Callable[[torch.device], torch.Tensor], ...] = (
        lambda d: torch.zeros(2, 3, device=d),
        lambda d: torch.ones(2, 3, dtype=torch.int32, device=d),
        lambda d: torch.full((2, 2), 1.5, device=d),
        lambda d: torch.full((2, 2), True, device=d),
        lambda d: torch.arange(2, 20, 3, device=d),
        lambda d: torch.arange(0, 1, 0.125, device=d),
        lambda d: torch.linspace(-1, 1, 9, device=d),
        lambda d: torch.logspace(0, 2, 5, device=d),
        lambda d: torch.eye(3, 4, device=d),
        lambda d: torch.tril_indices(4, 3, device=d),
        lambda d: torch.triu_indices(4, 3, device=d),
        lambda d: torch.hann_window(8, device=d),
        lambda d: torch.tensor([[1, 2], [3, 4]], device=d),
        lambda d: torch.tensor(3.5, dtype=torch.float64, device=d),
        lambda d: torch.asarray(np.arange(6, dtype=np.float32), device=d),
        lambda d: torch.as_tensor([True, False], device=d),
        lambda d: torch.zeros(2, device=d).new_full((3,), 7),
        lambda d: torch.zeros(2, device=d).new_tensor([1, 2, 3]),
        lambda d: torch.ones_like(torch.empty(3, 2, device=d).t()),
        lambda d: torch.complex(torch.ones(2, device=d), torch.zeros(2, device=d)),
        lambda d: torch.scalar_tensor(4, device=d),
        lambda d: torch.meshgrid(torch.arange(3, device=d), torch.arange(2, device=d), indexing="ij")[1],
        lambda d: torch.vander(torch.arange(1, 4, device=d)),
        lambda d: torch.cartesian_prod(torch.arange(2, device=d), torch.arange(3, device=d)),
    )
    for factory in factories:
        assert_matches(factory(device), factory(CPU), device)


def test_empty_factories_have_shape_and_strides(device: torch.device) -> None:
    """`empty`, `empty_strided`, `empty_like` and `empty_permuted` have the cpu's shape and strides."""
    factories: tuple[Callable[[torch.device], torch.Tensor], ...] = (
        lambda d: torch.empty(2, 0, 3, device=d),
        lambda d: torch.empty((), device=d),
        lambda d: torch.empty_strided((2, 3), (1, 2), device=d),
        lambda d: torch.empty_like(torch.empty(2, 3, device=d).t()),
        lambda d: torch.empty_permuted((2, 3, 4), (2, 0, 1), device=d),
        lambda d: torch.empty(2, 3, 4, 5, device=d, memory_format=torch.channels_last),
    )
    for factory in factories:
        seen, expected = factory(device), factory(CPU)
        assert_on(seen, device)
        assert_laid_out(seen, expected)


def test_lazy_conjugate_and_negative_bits(device: torch.device) -> None:
    """Lazily conjugated and negated tensors are copied with their real elements, both ways and by `mH`."""
    values = numbers(3, 4, dtype=torch.complex64)
    there = put(values, device)
    assert there.conj().is_conj()
    assert torch.equal(there.conj().cpu().resolve_conj(), values.conj().resolve_conj())
    assert_matches(put(values.conj(), device).resolve_conj(), values.conj().resolve_conj(), device)
    assert_matches(there.mH.contiguous(), values.mH.resolve_conj().contiguous(), device)
    assert_matches(there @ there.mH, values @ values.mH, device)
    negative = there.conj().imag
    assert negative.is_neg()
    assert torch.equal(negative.cpu().resolve_neg(), values.conj().imag.resolve_neg())
    target = torch.zeros(3, 4, dtype=torch.complex64, device=device)
    target.conj().copy_(there)
    assert_matches(target, values.conj().resolve_conj(), device)


def test_meta_and_back(device: torch.device) -> None:
    """A module made on `meta` gets memory on the device by `to_empty`; tensors go to `meta` and lose their elements."""
    with torch.device("meta"):
        module = torch.nn.Linear(3, 2)
    module.to_empty(device=device)
    assert_on(module.weight, device)
    torch.nn.init.ones_(module.weight)
    assert_matches(module.weight, torch.ones(2, 3), device)
    assert put(numbers(3, 4), device).to("meta").shape == (3, 4)


def test_printing(device: torch.device) -> None:
    """Tensors of every kind print their elements as on the cpu, and beside them the device."""
    for tensor in (
        torch.tensor([1.5, float("nan"), float("inf")]),
        torch.tensor([[True, False]]),
        torch.tensor([1 + 2j]),
        torch.empty(0, 2),
        torch.arange(10_000),
        torch.ones(2, requires_grad=True),
        torch.tensor(3, dtype=torch.int8),
        numbers(3, 3),
    ):
        there = put(tensor.detach(), device).requires_grad_(tensor.requires_grad)
        text = repr(there).replace(f"{type(there).__name__}(", "tensor(", 1)
        assert "".join(text.replace(f"device='{device}'", "").split()).replace(",,", ",").replace(",)", ")") == "".join(
            repr(tensor).split()
        )
        assert (f"device='{device}'" in text) is (device.type != "cpu")


def test_deepcopy_keeps_sharing(device: torch.device) -> None:
    """`copy.deepcopy` of several tensors keeps what they share, apart from the originals."""
    base = put(numbers(6), device)
    first, second = copy.deepcopy((base, base[2:]))
    first.zero_()
    assert second.cpu().abs().sum().item() == 0
    assert_matches(base, numbers(6), device)


def test_copy_broadcasts_and_overlaps_not(device: torch.device) -> None:
    """`copy_` broadcasts its source, and refuses shapes that do not fit."""
    target = torch.zeros(3, 4, device=device)
    target.copy_(torch.arange(4.0))
    assert_matches(target, torch.arange(4.0).expand(3, 4), device)
    target.copy_(torch.tensor(2.0, device=device))
    assert_matches(target, torch.full((3, 4), 2.0), device)
    with pytest.raises(RuntimeError):
        target.copy_(torch.ones(5))


def test_large_tensor(device: torch.device) -> None:
    """A tensor of some megabytes arrives whole, and a reduction sees all of it."""
    values = torch.arange(3_000_001, dtype=torch.int64)
    there = put(values, device)
    assert torch.equal(there.cpu(), values)
    assert there.cpu().sum().item() == 3_000_000 * 3_000_001 // 2
    assert there[::7].cpu().equal(values[::7])


def test_storage_has_the_bytes(device: torch.device) -> None:
    """An untyped storage tells device and size, can be resized and copied, and gives its bytes to the cpu."""
    if not has_addresses(device):
        unsupported(OPAQUE)
    there = torch.arange(10, dtype=torch.uint8, device=device)
    storage = there.untyped_storage()
    assert storage.device == device
    assert storage.nbytes() == 10
    assert storage.cpu().tolist() == list(range(10))
    twin = storage.clone()
    there.zero_()
    assert twin.cpu().tolist() == list(range(10))
    storage.resize_(0)
    assert storage.nbytes() == 0


def test_tensor_dies_with_its_last_reference(device: torch.device) -> None:
    """A tensor on the device is collected like any Python object, also out of a cycle."""
    tensor = put(numbers(3), device)
    gone = weakref.ref(tensor)
    tensor.cycle = [tensor]  # type: ignore[attr-defined]
    del tensor
    gc.collect()
    assert gone() is None


def test_subclass_keeps_working(device: torch.device) -> None:
    """A tensor subclass and a parameter keep their class on the device."""

    class Marked(torch.Tensor):
        pass

    there = put(numbers(3), device).as_subclass(Marked)
    assert type(there + 1) is Marked
    assert_on(there + 1, device)
    assert isinstance(torch.nn.Parameter(put(numbers(3), device)), torch.nn.Parameter)


@pytest.mark.device_only("numpy shares the memory of cpu tensors")
def test_host_access_is_refused(device: torch.device) -> None:
    """The host cannot look into the device's memory: `numpy()` is refused, `numpy(force=True)` copies."""
    there = put(numbers(3), device)
    with pytest.raises(TypeError):
        there.numpy()
    with pytest.raises(TypeError):
        np.asarray(there)
    assert np.array_equal(there.numpy(force=True), numbers(3).numpy())
