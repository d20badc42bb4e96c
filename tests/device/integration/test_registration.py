"""What a device's module has to offer to the parts of torch that look for it there."""

from __future__ import annotations

import threading
from types import ModuleType

import pytest
import torch

from harness.compare import assert_matches, assert_on, numbers, put
from harness.process import run_python

pytestmark = pytest.mark.capability("registration")

# Used by: random states for checkpoints and fork_rng, streams for FSDP2, precisions for autocast.
EXPECTED = (
    *("is_available", "device_count", "current_device", "set_device", "synchronize", "device"),
    *("manual_seed", "manual_seed_all", "get_rng_state", "set_rng_state"),
    *("Stream", "Event", "stream", "current_stream"),
)


@pytest.mark.device_only("its module is a part of torch and smaller")
@pytest.mark.parametrize("name", EXPECTED)
def test_module_has_what_torch_looks_for(device_module: ModuleType, name: str) -> None:
    """`torch.<name>` has the functions and classes that torch's own libraries call on a device's module."""
    assert callable(getattr(device_module, name))


@pytest.mark.device_only("its module is a part of torch and smaller")
def test_supported_precisions_are_dtypes(privateuse1_device: str, device_module: ModuleType) -> None:
    """`get_amp_supported_dtype` is a list of floating dtypes; one without autocast has none."""
    found = device_module.get_amp_supported_dtype()
    assert all(isinstance(dtype, torch.dtype) and dtype.is_floating_point for dtype in found)


@pytest.mark.needs_devices(2)
def test_device_context_of_the_module(device_module: ModuleType, device_name: str) -> None:
    """`torch.<name>.device(index)` is a context that changes the current card and restores it after an exception."""
    before = device_module.current_device()
    with device_module.device(1):
        assert device_module.current_device() == 1
        assert_on(torch.ones(1, device=device_name), torch.device(device_name, 1))
    with pytest.raises(ArithmeticError), device_module.device(1):
        raise ArithmeticError
    assert device_module.current_device() == before


@pytest.mark.needs_devices(2)
def test_generated_methods_take_an_index(device_name: str) -> None:
    """`.<name>(1)` of tensors, modules and storages goes to that card; `.<name>()` of one that is there returns it."""
    second = torch.device(device_name, 1)
    there = getattr(numbers(3), device_name)(1)
    assert_matches(there, numbers(3), second)
    assert_on(getattr(torch.nn.Linear(2, 2), device_name)(1).weight, second)
    assert getattr(torch.ones(2).untyped_storage(), device_name)(1).device == second
    first = put(numbers(3), torch.device(device_name, 0))
    with torch.accelerator.device_index(0):
        assert getattr(first, device_name)() is first


def test_first_use_from_several_threads(device_name: str) -> None:
    """Threads that use the device for the first time at the same moment all get right results."""
    code = """
import sys, threading
import torch
results = []
gate = threading.Barrier(4)

def work():
    gate.wait()
    results.append((torch.ones(8, device=sys.argv[1]) * 3).cpu().sum().item())

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
"""
    assert run_python(code, device_name).strip() == "[24.0, 24.0, 24.0, 24.0]"


def test_operators_from_several_threads(device: torch.device) -> None:
    """Threads that compute on the device at the same time do not disturb each other, nor what else a tensor holds."""
    results: dict[int, torch.Tensor] = {}
    shared = torch.zeros(4, 1 << 16, device=device)  # large, so that threads write it at the same time

    def work(number: int) -> None:
        there = put(numbers(32, 32, seed=number), device)
        for _ in range(20):
            there = (there @ there).tanh()
        for _ in range(100):
            shared[number].add_(1)
        results[number] = there.cpu()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        alone = put(numbers(32, 32, seed=number), device)
        for _ in range(20):
            alone = (alone @ alone).tanh()
        assert torch.equal(results[number], alone.cpu())
    assert shared.cpu().unique().tolist() == [100.0]


def test_tensor_methods_are_generated(device: torch.device, device_name: str) -> None:
    """A tensor has `.<name>()` to get there and `.is_<name>` to tell that it is there."""
    there = getattr(torch.ones(3), device_name)()
    assert_on(there, device)
    assert getattr(there, f"is_{device_name}") is True
    if device_name != "cpu":
        assert there.is_cpu is False
        assert getattr(torch.ones(3), f"is_{device_name}") is False


def test_module_method_is_generated(device: torch.device, device_name: str) -> None:
    """A module has `.<name>()`, which moves its parameters and buffers."""
    module = getattr(torch.nn.BatchNorm1d(3), device_name)()
    for tensor in (*module.parameters(), *module.buffers()):
        assert_on(tensor, device)


def test_storage_method_is_generated(device: torch.device, device_name: str) -> None:
    """An untyped storage has `.<name>()`, which copies its bytes to the device."""
    storage = getattr(torch.arange(4, dtype=torch.uint8).untyped_storage(), device_name)()
    assert storage.device == device
    assert storage.cpu().tolist() == [0, 1, 2, 3]


def test_packed_sequence_method_is_generated(device: torch.device, device_name: str) -> None:
    """A packed sequence has `.<name>()` and `.is_<name>`, as recurrent networks need."""
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)])
    there = getattr(packed, device_name)()
    assert_on(there.data, device)
    if device_name != "cpu":  # torch gives packed sequences no `is_cpu`
        assert getattr(there, f"is_{device_name}") is True


def test_function_that_nobody_wrote_is_not_there(device_name: str) -> None:
    """`torch.<name>` has what the plugin wrote: a name that nobody ever heard of is not there."""
    module = torch.get_device_module(device_name)
    assert not hasattr(module, "no_such_capability"), "a module that has every name proves nothing by having one"
    with pytest.raises(AttributeError):
        _ = module.no_such_capability
