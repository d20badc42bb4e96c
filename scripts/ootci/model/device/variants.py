"""Variants: the same plugin on another Python, SDK or machine, as devices of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from ootci.model.record import Record

from .keys import Device, PullRequests
from .values import Name

R = TypeVar("R", bound=Record)


class VariantDevice(Device):
    """A device that a device file makes beside its own; for torch both are the same."""

    of: Name
    """Name of the device that it is a variant of."""

    @property
    def torch_name(self) -> str:
        """The name as in ``torch.device(name)``."""
        return self.of


def variants_of(device: Device) -> Iterator[VariantDevice]:
    """Each variant as a device: what it says wins, key by key, and all else is the device's.

    Raises:
        pydantic.ValidationError: what comes of it is no device.

    """
    for variant in device.variants:
        said = {name: getattr(device, name) for name in Device.model_fields}
        said |= {name: getattr(variant, name) for name in ("tier", "cadence", "python") if getattr(variant, name)}
        said |= {
            "of": device.name,
            "name": f"{device.name}_{variant.name}",
            "display_name": f"{device.display_name}, {variant.title or variant.name}",
            "torch": _merged(device.torch, variant.torch),
            "runner": _merged(device.runner, variant.runner),
            "build": _merged(device.build, variant.build),
            "environment": {**device.environment, **variant.environment},
            # PyTorch's label names the device; a change of PyTorch's is not tested once for each SDK.
            "pull_requests": PullRequests.NEVER,
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
