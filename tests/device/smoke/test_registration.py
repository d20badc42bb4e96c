"""The device's name and what is generated from it."""

from __future__ import annotations

import pytest
import torch

from harness.process import run_python

pytestmark = pytest.mark.capability("registration")


def test_device_has_its_name(device_name: str) -> None:
    """`torch.device(name)` is known, with and without an index, and prints as that name.

    Asked by `torch/utils/backend_registration.py` (rename_privateuse1_backend).
    """
    plain = torch.device(device_name)
    assert plain.type == device_name
    assert plain.index is None
    assert str(torch.device(device_name, 0)) == f"{device_name}:0"
    assert torch.device(f"{device_name}:0") == torch.device(device_name, 0)


def test_device_module_is_found(device_name: str) -> None:
    """`torch.get_device_module(name)` is `torch.<name>`.

    Asked by `torch/__init__.py` (get_device_module, _register_device_module).
    """
    assert torch.get_device_module(device_name) is getattr(torch, device_name)
    assert torch.get_device_module(torch.device(device_name)) is getattr(torch, device_name)


def test_renaming_again(privateuse1_device: str) -> None:
    """Registering the same name again is harmless; a second name is refused.

    Asked by `torch/utils/backend_registration.py` (rename_privateuse1_backend).
    """
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
    """An operator that nobody implemented, on the device or on the cpu, is refused and not answered.

    Asked by `ATen/core/dispatch/OperatorEntry.h` (reportError) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    library = torch.library.Library("device_suites", "FRAGMENT")
    library.define("implemented_by_nobody(Tensor x) -> Tensor")
    x = torch.ones(2, device=device)
    with pytest.raises(RuntimeError):  # torch's dispatcher has a subclass for it, which no fallback need use
        torch.ops.device_suites.implemented_by_nobody(x)
