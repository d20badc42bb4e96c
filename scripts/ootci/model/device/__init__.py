"""The device file: one out-of-tree accelerator, as data. The only package that reads device YAML."""

from .bad_range import LONGEST_RANGE, BadRange, bad_range
from .claims import KnownFailure, LostTests, Unsupported
from .external import External
from .keys import Cadence, Device, Links, Paused, PullRequests, RegisteredDevice, Tier, Variant
from .plugin import BuildSettings, GitSource, Plugin, Torch
from .registry import (
    BAD_RANGES,
    DEFAULT_FOLDER,
    KNOWN_FAILURES,
    DeviceFile,
    find_device,
    is_device_file,
    load_bad_ranges,
    load_device,
    load_registry,
    read_device,
    require_name,
    with_lists,
)
from .running import OURS, UPSTREAM, UPSTREAM_CONFIG, BuildRunner, Check, Container, Credentials, Limits, Runner, Suite
from .variants import VariantDevice, variants_of

__all__ = [
    "BAD_RANGES",
    "DEFAULT_FOLDER",
    "KNOWN_FAILURES",
    "LONGEST_RANGE",
    "OURS",
    "UPSTREAM",
    "UPSTREAM_CONFIG",
    "BadRange",
    "BuildRunner",
    "BuildSettings",
    "Cadence",
    "Check",
    "Container",
    "Credentials",
    "Device",
    "DeviceFile",
    "External",
    "GitSource",
    "KnownFailure",
    "Limits",
    "Links",
    "LostTests",
    "Paused",
    "Plugin",
    "PullRequests",
    "RegisteredDevice",
    "Runner",
    "Suite",
    "Tier",
    "Torch",
    "Unsupported",
    "Variant",
    "VariantDevice",
    "bad_range",
    "find_device",
    "is_device_file",
    "load_bad_ranges",
    "load_device",
    "load_registry",
    "read_device",
    "require_name",
    "variants_of",
    "with_lists",
]
