"""The device's name and what is generated from it."""

from __future__ import annotations

import pytest
import torch

from harness.compare import assert_on
from harness.process import run_python

pytestmark = pytest.mark.capability("registration")


def test_device_has_its_name(device_name: str) -> None:
    """`torch.device(name)` is known, with and without an index, and prints as that name."""
    plain = torch.device(device_name)
    assert plain.type == device_name
    assert plain.index is None
    assert str(torch.device(device_name, 0)) == f"{device_name}:0"
    assert torch.device(f"{device_name}:0") == torch.device(device_name, 0)


def test_device_module_is_found(device_name: str) -> None:
    """`torch.get_device_module(name)` is `torch.<name>`."""
    assert torch.get_device_module(device_name) is getattr(torch, device_name)
    assert torch.get_device_module(torch.device(device_name)) is getattr(torch, device_name)


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


def test_renaming_again(privateuse1_device: str) -> None:
    """Registering the same name again is harmless; a second name is refused."""
    code = """
import sys
import torch
name = sys.argv[1]
torch.utils.rename_privateuse1_backend(name)
try:
    torch.utils.rename_privateuse1_backend("another_name")
except RuntimeError as error:
    print("refused:", error)
print("still", torch.device(name))
"""
    said = run_python(code, privateuse1_device)
    assert "refused:" in said, "torch took a second name for the one PrivateUse1 device"
    assert f"still {privateuse1_device}" in said


def test_operator_without_a_kernel_is_refused(device: torch.device) -> None:
    """An operator that nobody implemented, on the device or on the cpu, is refused and not answered."""
    library = torch.library.Library("device_suites", "FRAGMENT")
    library.define("implemented_by_nobody(Tensor x) -> Tensor")
    x = torch.ones(2, device=device)
    with pytest.raises(NotImplementedError):
        torch.ops.device_suites.implemented_by_nobody(x)
