"""The current card, indices and the contexts that change them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from types import ModuleType

import pytest
import torch

from harness.compare import assert_matches, assert_on, numbers, put
from harness.outcomes import unsupported
from harness.parity import shown_error

pytestmark = [pytest.mark.capability("device"), pytest.mark.device_only("it has no device index")]

two_cards = pytest.mark.needs_devices(2)


def _current() -> int:
    return torch.accelerator.current_device_index()


@two_cards
def test_current_card_is_where_tensors_land(device_name: str) -> None:
    """A device without an index means the current card."""
    before = _current()
    try:
        for index in (1, 0, 1):
            torch.accelerator.set_device_index(index)
            assert _current() == index
            assert_on(torch.ones(2, device=device_name), torch.device(device_name, index))
            assert_on(torch.ones(2).to(device_name), torch.device(device_name, index))
    finally:
        torch.accelerator.set_device_index(before)


@two_cards
def test_index_context_is_left(device_name: str) -> None:
    """`torch.accelerator.device_index` changes the current card and restores it, also after an exception."""
    before = _current()
    with torch.accelerator.device_index(1):
        assert _current() == 1
        with torch.accelerator.device_index(0):
            assert _current() == 0
        assert _current() == 1
        assert_on(torch.zeros(1, device=device_name), torch.device(device_name, 1))
    assert _current() == before
    with pytest.raises(ArithmeticError), torch.accelerator.device_index(1):
        raise ArithmeticError
    assert _current() == before
    with torch.accelerator.device_index(None):
        assert _current() == before


@two_cards
def test_current_card_is_per_thread() -> None:
    """A thread that changes its current card does not change another's."""
    before = _current()
    other = 1 if before == 0 else 0
    seen: list[int] = []

    def work() -> None:
        seen.append(_current())
        torch.accelerator.set_device_index(other)
        seen.append(_current())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, other], "a new thread begins on card 0 and has its own current card"
    assert _current() == before


@two_cards
def test_work_on_another_card_leaves_the_current_one(device_name: str) -> None:
    """Operators run on the card of their operands and leave the current card alone."""
    before = _current()
    second = torch.device(device_name, 1)
    there = put(numbers(8, 8), second)
    assert_matches(there @ there + 1, numbers(8, 8) @ numbers(8, 8) + 1, second)
    assert_on(torch.empty_like(there), second)
    assert_on(there.new_zeros(3), second)
    assert there.cpu().sum().item() == pytest.approx(numbers(8, 8).sum().item(), rel=1e-4)
    torch.accelerator.synchronize(1)
    assert _current() == before


@two_cards
def test_copies_between_cards(device: torch.device, device_name: str) -> None:
    """Tensors are copied between cards with `.to` and `copy_`, strided and with another dtype, and stay independent."""
    second = torch.device(device_name, 1)
    base = numbers(6, 8)
    first = put(base, device)
    for view in (lambda x: x, lambda x: x.t(), lambda x: x[::2, 1::3]):
        moved = view(first).to(second)
        assert_matches(moved, view(base), second)
        assert_matches(moved.to(device), view(base), device)
    assert_matches(torch.empty(6, 8, dtype=torch.float64, device=second).copy_(first), base.double(), second)
    there = first.to(second)
    first.zero_()
    assert_matches(there, base, second)


@pytest.mark.parametrize("beyond", [0, 1, 40])
def test_missing_card_is_refused(device_name: str, beyond: int) -> None:
    """A card that is not there is refused by tensors, copies, streams and `set_device_index`, and nothing changes."""
    before, count = _current(), torch.accelerator.device_count()
    missing = torch.device(device_name, count + beyond)
    with pytest.raises(RuntimeError):
        torch.empty(2, device=missing)
    with pytest.raises(RuntimeError):
        torch.ones(2).to(missing)
    with pytest.raises(RuntimeError):
        torch.accelerator.set_device_index(count + beyond)
    with pytest.raises(RuntimeError):
        torch.Stream(missing)
    assert _current() == before
    assert torch.ones(2, device=device_name).tolist() == [1, 1]


# What a missing card may be named to, besides the factories above.
USES: dict[str, Callable[[str, int], object]] = {
    "accelerator_context": lambda name, index: torch.accelerator.device_index(index).__enter__(),
    "accelerator_synchronize": lambda name, index: torch.accelerator.synchronize(index),
    "current_stream": lambda name, index: torch.accelerator.current_stream(index),
    "generator": lambda name, index: torch.Generator(f"{name}:{index}"),
    "memory_statistics": lambda name, index: torch.accelerator.memory_stats(index),
    "module_context": lambda name, index: torch.get_device_module(name).device(index).__enter__(),
    "module_synchronize": lambda name, index: torch.get_device_module(name).synchronize(index),
    "moved_module": lambda name, index: torch.nn.Linear(2, 2).to(f"{name}:{index}"),
    "random_state": lambda name, index: torch.get_device_module(name).get_rng_state(f"{name}:{index}"),
    "set_device": lambda name, index: torch.get_device_module(name).set_device(index),
}


@pytest.mark.parametrize("use", USES)
def test_missing_card_is_refused_by(device_name: str, use: str) -> None:
    """A call about a card that is not there is refused, and not answered for another card."""
    before, count = _current(), torch.accelerator.device_count()
    torch.ones(1, device=device_name)  # what was never used may have nothing to wait for
    USES[use](device_name, count - 1)
    torch.accelerator.set_device_index(before)
    try:
        with pytest.raises((RuntimeError, ValueError, AssertionError, IndexError)):
            USES[use](device_name, count + 60)
        assert _current() == before
    finally:
        torch.accelerator.set_device_index(before)


@pytest.mark.parametrize("use", ["empty", "set_device_index", "stream"])
def test_missing_card_is_told(device_name: str, use: str) -> None:
    """The error about a card that is not there names the device's index as wrong.

    PyTorch asks its own reference for "The device index is out of range" (its test_device.py); CUDA speaks of an
    invalid device ordinal. Either will do, and any words like them.
    """
    missing = torch.accelerator.device_count() + 3
    ask: dict[str, Callable[[], object]] = {
        "empty": lambda: torch.empty(2, device=f"{device_name}:{missing}"),
        "set_device_index": lambda: torch.accelerator.set_device_index(missing),
        "stream": lambda: torch.Stream(torch.device(device_name, missing)),
    }
    with pytest.raises(RuntimeError) as refused:
        ask[use]()
    said = str(refused.value).lower()
    assert re.search(r"device.{0,20}\b(index|ordinal|id)\b|\b(index|ordinal|id)\b.{0,40}device", said), said
    assert re.search(r"out of range|out of bounds|invalid|no such|not (available|exist)|does not exist", said), said


@pytest.mark.filterwarnings("ignore:ComplexHalf:UserWarning")
def test_capability_names_dtypes(device: torch.device) -> None:
    """Of each dtype that the device declares, tensors can be made and converted; float32 is among them.

    torch.accelerator.get_device_capability: `supported_dtypes` are those that can be allocated and converted. Quantized
    ones are made by quantizing.
    """
    if not hasattr(torch.accelerator, "get_device_capability"):
        pytest.skip("this torch does not ask for capabilities")
    try:
        supported = torch.accelerator.get_device_capability(device)["supported_dtypes"]
    except (RuntimeError, NotImplementedError) as error:
        unsupported(f"the device does not tell its capabilities: {error}")
    assert torch.float32 in supported
    ones = put(torch.ones(4), device)
    quantized = {torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4}
    for dtype in supported - quantized:
        wide = torch.complex64 if dtype.is_complex else torch.float32
        try:
            made = torch.empty(4, dtype=dtype, device=device)
            assert_on(made.copy_(ones), device)
            assert made.dtype == dtype
            assert_matches(made.to(wide), torch.ones(4, dtype=wide), device)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            # A promise that is not kept is no refusal.
            pytest.fail(f"the device reports that it supports {dtype}, and raised {shown_error(error)}")
    for index in range(torch.accelerator.device_count()):
        assert torch.accelerator.get_device_capability(torch.device(device.type, index))["supported_dtypes"]


def test_default_device(device: torch.device, device_name: str) -> None:
    """`torch.set_default_device` and `with torch.device(...)` decide where factories put their tensors."""
    with torch.device(device):
        assert_on(torch.ones(2), device)
        assert_on(torch.tensor([1, 2]), device)
        assert_on(torch.nn.LayerNorm(2).weight, device)  # drawn by no generator
        assert torch.ones(2, device="cpu").device.type == "cpu"
    assert torch.ones(2).device.type == "cpu"
    try:
        torch.set_default_device(device_name)
        assert torch.get_default_device().type == device_name
        assert_on(torch.arange(3), device)
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device.type == "cpu"


def test_devices_compare_and_hash(device_name: str) -> None:
    """Devices are equal and have equal hashes when type and index are the same, however they were written."""
    assert torch.device(device_name, 0) == torch.device(f"{device_name}:0")
    assert torch.device(device_name) != torch.device(device_name, 0)
    assert len({torch.device(device_name, 0), torch.device(f"{device_name}:0"), torch.device("cpu")}) == 2


@pytest.mark.parametrize(
    "name",
    ["{}:", "{}:-2", "{}:x", "{}:0:1", "{}x"],
    ids=["index_missing", "index_negative", "index_not_a_number", "two_indices", "another_name"],
)
def test_malformed_names_are_refused(device_name: str, name: str) -> None:
    """Malformed device names are errors."""
    with pytest.raises(RuntimeError):
        torch.device(name.format(device_name))


def test_device_module_changes_the_card(device_module: ModuleType) -> None:
    """`torch.<name>.set_device` and `current_device` mean the same card as `torch.accelerator`."""
    before, last = _current(), device_module.device_count() - 1
    try:
        device_module.set_device(last)
        assert device_module.current_device() == _current() == last
    finally:
        device_module.set_device(before)


def test_synchronize_returns(device_name: str, device: torch.device, device_module: ModuleType) -> None:
    """Waiting for the device ends, and the work is done then."""
    there = torch.ones(1000, device=device) * 2
    if device_name != "cpu":
        torch.accelerator.synchronize()
    device_module.synchronize()
    assert there.cpu().sum().item() == 2000
