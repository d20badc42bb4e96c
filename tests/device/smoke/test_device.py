"""torch's view of the device."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from harness.compare import assert_on

pytestmark = pytest.mark.capability("device")

accelerator_only = pytest.mark.device_only("torch.accelerator leaves the cpu out")


@accelerator_only
def test_device_is_the_accelerator(device_name: str) -> None:
    """`torch.accelerator` names the device, finds it available and counts at least one card.

    Asked by `torch/accelerator/__init__.py` (current_accelerator, is_available, device_count).
    """
    current = torch.accelerator.current_accelerator()
    assert current is not None
    assert current.type == device_name
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() >= 1


def test_module_tells_the_device_facts(device_module: ModuleType) -> None:
    """`torch.<name>` has `is_available`, `device_count` and `current_device`, and they fit together.

    Asked by `torch/utils/backend_registration.py` (is_available, device_count, current_device) and
    https://docs.pytorch.org/docs/stable/accelerator/device.html.
    """
    assert device_module.is_available() is True
    count = device_module.device_count()
    assert isinstance(count, int)
    assert count >= 1
    if device_module is not torch.cpu:  # its current device is the word "cpu"
        assert device_module.current_device() in range(count)


@accelerator_only
def test_counts_agree(device_module: ModuleType) -> None:
    """`torch.<name>` and `torch.accelerator` count the same cards and agree on the current one.

    Asked by `c10/core/impl/DeviceGuardImplInterface.h` (deviceCount, getDevice) and `torch/accelerator/__init__.py`
    (device_count, current_device_index).
    """
    assert device_module.device_count() == torch.accelerator.device_count()
    assert device_module.current_device() == torch.accelerator.current_device_index()


@accelerator_only
def test_card_that_is_not_there_is_refused(device_name: str, device_module: ModuleType) -> None:
    """A tensor on a card beyond the last one is an error, not a tensor on some other card.

    Asked by https://docs.pytorch.org/docs/stable/accelerator/device.html.
    """
    missing = torch.device(device_name, device_module.device_count())
    with pytest.raises(RuntimeError):
        torch.ones(2, device=missing)
    assert torch.ones(2, device=device_name).tolist() == [1, 1], "the device does not work after the refusal"


@accelerator_only
@pytest.mark.needs_devices(2)
def test_second_card_is_another_one(device_name: str) -> None:
    """Tensors land on the card that was requested and can be copied from one card to the other.

    Asked by `c10/core/impl/DeviceGuardImplInterface.h` (exchangeDevice) and
    https://docs.pytorch.org/docs/stable/accelerator/operators.html.
    """
    first, second = torch.device(device_name, 0), torch.device(device_name, 1)
    there = torch.arange(4, device=second)
    assert_on(there, second)
    back = there.to(first)
    assert_on(back, first)
    assert back.tolist() == [0, 1, 2, 3]
