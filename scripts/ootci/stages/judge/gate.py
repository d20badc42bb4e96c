"""May one merge?"""

from __future__ import annotations

from collections.abc import Sequence

from ootci.model.device import RegisteredDevice
from ootci.model.verdict import AS_EXPECTED, DeviceVerdict, Gate


def decide(registry: Sequence[RegisteredDevice], devices: Sequence[DeviceVerdict]) -> Gate:
    """Fails closed: whatever is not as expected on a gating device blocks, silence included."""
    gating = {item.device.name for item in registry if item.device.gates and item.device.paused is None}
    blocking = tuple(item for item in devices if item.device in gating and item.verdict not in AS_EXPECTED)
    if not gating:
        return Gate(may_merge=False, reason="no gating device is registered, so nothing speaks for merging")
    noun = "device" if len(gating) == 1 else "devices"
    if not blocking:
        return Gate(may_merge=True, reason=f"{len(gating)} of {len(gating)} gating {noun} as expected")
    names = ", ".join(f"{item.device} ({item.verdict.value})" for item in blocking)
    return Gate(
        may_merge=False,
        blocking=tuple(item.device for item in blocking),
        reason=f"{len(blocking)} of {len(gating)} gating {noun} not as expected: {names}",
    )
