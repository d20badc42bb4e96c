"""Who is tested, and whether anybody still is, for programs: the same as on the pages of the registry and of health."""

from __future__ import annotations

from collections.abc import Sequence

from ootci.model.device import Device, RegisteredDevice
from ootci.model.verdict import Verdicts

from .health import HealthPage, Newest, Watched
from .links import device_path, web_address
from .pages.health import DeviceHealth, HealthFile, NightlyHealth
from .pages.registry import Contact, RegisteredSuite, RegistryEntry, RegistryFile
from .registry_page import Registered, RegistryPage

_TOP = "../../"


def registry_file(registry: Sequence[RegisteredDevice], page: RegistryPage) -> bytes:
    """Every device file.

    Args:
        registry: every registered device, in registry order.
        page: the same as it is shown.

    """
    devices = tuple(_entry(item.device, row) for item, row in zip(registry, page.rows, strict=True))
    return RegistryFile(page=f"{_TOP}devices/index.html", devices=devices).to_json().encode("utf-8")


def _entry(device: Device, row: Registered) -> RegistryEntry:
    return RegistryEntry(
        device=device.name,
        display_name=device.display_name,
        vendor=device.vendor,
        tier=device.tier,
        gates=device.gates,
        file=row.file.value,
        file_address=row.file.href,
        distribution=device.plugin.distribution,
        source=row.source.value,
        source_address=row.source.href,
        channel=device.torch.channel,
        release=device.torch.release,
        variant=device.torch.variant,
        cadence=device.cadence,
        labels=device.runner.labels,
        suites=tuple(RegisteredSuite(name=suite.name, required=suite.required) for suite in device.suites),
        known_failures=len(device.known_failures),
        unsupported=tuple(item.capability.value for item in device.unsupported),
        bad_ranges=len(device.bad_ranges),
        contacts=tuple(Contact(kind=fact.label, text=fact.value, address=fact.href) for fact in row.contacts),
        paused=device.paused.reason if device.paused else None,
        page=f"{_TOP}{device_path(device.name)}",
    )


def health_file(verdicts: Verdicts, page: HealthPage) -> bytes:
    """How old everything is.

    Args:
        verdicts: what the judge found; whether anything is too old was found by it, too.
        page: the same as it is shown.

    """
    file = HealthFile(
        judged_at=verdicts.judged_at,
        planned_at=verdicts.planned_at,
        stale_reason=verdicts.stale_reason,
        stale_at=verdicts.stale_at,
        page=f"{_TOP}health/index.html",
        nightly=_nightly(page.newest) if page.newest else None,
        devices=tuple(_health(row) for row in page.rows),
    )
    return file.to_json().encode("utf-8")


def _nightly(newest: Newest) -> NightlyHealth:
    trigger = newest.plan.trigger
    return NightlyHealth(
        plan_id=newest.plan.id,
        event=trigger.event,
        url=web_address(trigger.url),
        expected=newest.expected,
        reported=newest.reported,
        left_out=tuple(item.device for item in newest.plan.left_out),
        scheduled_at=newest.by_itself.at if newest.by_itself else None,
    )


def _health(row: Watched) -> DeviceHealth:
    return DeviceHealth(
        device=row.name,
        verdict=row.verdict,
        is_control=row.is_control,
        cadence=row.cadence,
        silent_after=int(row.cadence.stale_after.total_seconds()),
        planned_at=row.planned.at if row.planned else None,
        reported_at=row.reported.at if row.reported else None,
        page=f"{_TOP}{row.href}" if row.href else None,
    )
