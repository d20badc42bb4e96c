"""The faults that the reference device can be switched to.

A slow device is no defect, and a request for memory that fails once is made again: neither is noticed, rightly.
"""

from __future__ import annotations

import torch

from sabotage import DEVICE, broken

FEW = ("ops", "tensors", "device", "memory", "training")


def _fault(spec: str) -> None:
    torch.get_device_module(DEVICE).set_fault(spec)


@broken("fault-wrong-result", "wrong results (the reference's own fault switch)", *FEW)
def _wrong_result() -> None:
    _fault("wrong-result")


@broken("fault-lost-device", "a card that is lost (the reference's own fault switch)", *FEW)
def _lost_device() -> None:
    _fault("lost-device@launch:1")


@broken("fault-crash", "a crash (the reference's own fault switch)", "ops", "tensors")
def _crash() -> None:
    _fault("crash@launch:1")


@broken("fault-refused-copies", "copies that fail (the reference's own fault switch)", "tensors", "dataloader")
def _copies() -> None:
    _fault("lost-device@copy:1")
