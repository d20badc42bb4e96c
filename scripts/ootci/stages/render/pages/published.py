"""The files below ``api/v1`` of a site, for other people's programs. The history and the verdicts stay the truth.

Within ``v1`` a key keeps its meaning and is not taken away; new ones may come, so that readers pass over what they do
not know. Addresses are relative to their own file. Texts come from device runs: hostile until escaped.
"""

from __future__ import annotations

from typing import Any

from ootci.model.device import Device, Tier
from ootci.model.record import Record, Time
from ootci.model.verdict import Gate, Verdicts

from ..links import device_path
from ..publish import File

API_VERSION = "v1"
API = f"api/{API_VERSION}"
SCHEMA_VERSION = 1


class Published(Record):
    """A file of the API."""

    schema_version: int = SCHEMA_VERSION
    """Version of this file's schema."""

    def to_json(self) -> str:
        """The canonical text, as of a stage file."""
        return self.model_dump_json(indent=1) + "\n"


class Compact(Published):
    """A file of the API of which there are many, or which is long."""

    def to_json(self) -> str:
        """The text on one line."""
        return self.model_dump_json() + "\n"


def api_file(path: str, record: Published) -> File:
    """A file of the API; its path begins in the API's folder."""
    return f"{API}/{path}", record.to_json().encode("utf-8")


class WithPage(Record):
    """A file of the API that is also a page."""

    page: str
    """Address of the same for people."""


class RegisteredEntry(Record):
    """A registered device."""

    device: str
    """Name of the device."""
    display_name: str
    """Its name for people."""
    vendor: str
    """Who makes it."""
    tier: Tier
    """How much it counts."""
    gates: bool
    """Whether it can block a merge."""
    page: str
    """Address of its page."""

    @staticmethod
    def of(device: Device) -> dict[str, Any]:
        """These values of a device, whose page is two folders above the file."""
        return {
            "device": device.name,
            "display_name": device.display_name,
            "vendor": device.vendor,
            "tier": device.tier,
            "gates": device.gates,
            "page": f"../../{device_path(device.name)}",
        }


class OfNewest(Published):
    """A file about the newest nightly."""

    judged_at: Time
    """The `now` that staleness was judged against."""
    plan_id: str | None
    """The newest nightly; null when there has been none."""
    planned_at: Time | None
    """When that nightly was planned."""
    stale_reason: str | None
    """Why the file cannot be trusted to be fresh; null when it was at `judged_at`."""

    @staticmethod
    def of(verdicts: Verdicts) -> dict[str, Any]:
        """These values."""
        return {name: getattr(verdicts, name) for name in OfNewest.model_fields if name != "schema_version"}


class GateFile(Gate, OfNewest):
    """gate.json: may one merge?"""


class IndexEntry(Record):
    """One file of the API."""

    path: str
    """Address of the file."""
    schema_path: str
    """Address of its schema."""
    schema_version: int
    """Version of its schema."""
    about: str
    """What it has, one sentence."""


class IndexFile(Published):
    """index.json: which files there are."""

    api_version: str
    """The folder's name; a file that changes its meaning comes below another one."""
    judged_at: Time
    """The `now` that staleness was judged against."""
    files: tuple[IndexEntry, ...]
    """Every other file but the schemas."""
