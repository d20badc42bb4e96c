"""Variants: the same plugin on another Python, SDK, machine or torch, as devices of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ootci.model.record import Record
from ootci.model.torch_build import Channel, OtherTorch

from .keys import Cadence, Device, RegisteredDevice, Tier
from .values import Name

R = TypeVar("R", bound=Record)


class VariantDevice(Device):
    """A device that a device file makes beside its own; for torch both are the same."""

    name: Name
    """Name of its row: the device's and the variant's, which may have digits."""
    of: Name
    """Name of the device that it is a variant of."""

    @property
    def torch_name(self) -> str:
        """The name as in ``torch.device(name)``."""
        return self.of


class OtherTorchDevice(VariantDevice):
    """A device on one of the torches that its file names in `torch.also`.

    It is not among the registered devices: it has no row, and no verdict, alert or gate rests on it.
    """

    other: OtherTorch
    """The torch."""

    @property
    def wanted_torch(self) -> str | None:
        """What it is tested on, in the words of ``ootci plan --torch``."""
        return self.other.value


def on_other_torches(device: Device) -> Iterator[OtherTorchDevice]:
    """The device on each of the torches that its file names in `torch.also`.

    Raises:
        pydantic.ValidationError: its name is too long for that.

    """
    for other in device.torch.also:
        said = {name: getattr(device, name) for name in Device.model_fields} | {
            "of": device.torch_name,
            "other": other,
            "name": f"{device.name}_{other.value}",
            "display_name": f"{device.display_name}, {other.value}",
            "tier": Tier.ADVISORY,
            "cadence": Cadence.WEEKLY,
            "torch": device.torch.model_copy(update={"channel": Channel.RELEASE, "release": None, "also": ()}),
            "pull_requests": False,
            "variants": (),
        }
        yield OtherTorchDevice.model_validate(said)


def with_other_torches(registry: Iterable[RegisteredDevice]) -> Iterator[RegisteredDevice]:
    """Each registered device, followed by itself on the torches of `torch.also`."""
    for item in registry:
        yield item
        yield from (item.model_copy(update={"device": made}) for made in on_other_torches(item.device))


def variants_of(device: Device) -> Iterator[VariantDevice]:
    """Each variant as a device: its keys override the device's, one by one.

    Raises:
        pydantic.ValidationError: the result is no valid device.

    """
    for variant in device.variants:
        said = {name: getattr(device, name) for name in Device.model_fields}
        said |= {name: getattr(variant, name) for name in ("tier", "cadence", "python") if getattr(variant, name)}
        said |= {
            "of": device.name,
            "name": f"{device.name}_{variant.name}",
            "display_name": f"{device.display_name}, {variant.title or variant.name}",
            # Each would be a further run of every variant: a variant has only those that it names itself.
            "torch": _merged(device.torch.model_copy(update={"also": ()}), variant.torch),
            "runner": _merged(device.runner, variant.runner),
            "build": _merged(device.build, variant.build),
            "environment": {**device.environment, **variant.environment},
            # A change of PyTorch's is not tested once for each SDK.
            "pull_requests": False,
            "variants": (),
        }
        yield VariantDevice.model_validate(said)


def _merged(ours: R, theirs: R | None) -> R:
    if theirs is None:
        return ours
    both = _over(_said(ours), _said(theirs))
    return type(ours).model_validate_json(json.dumps(both), strict=True)


def _said(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json", exclude_unset=True)


def _over(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    merged = dict(ours)
    for key, value in theirs.items():
        old = merged.get(key)
        merged[key] = _over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
