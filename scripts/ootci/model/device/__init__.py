"""The device file: one out-of-tree accelerator, as data. The only package that reads device YAML."""

from .claims import KnownFailure, Unsupported
from .keys import Cadence, Device, Links, Paused, RegisteredDevice, Tier
from .plugin import BuildSettings, GitSource, Plugin, Torch
from .registry import DEFAULT_FOLDER, find_device, load_device, load_registry, upstream_list
from .running import Check, Limits, Runner, Suite

__all__ = [
    "DEFAULT_FOLDER",
    "BuildSettings",
    "Cadence",
    "Check",
    "Device",
    "GitSource",
    "KnownFailure",
    "Limits",
    "Links",
    "Paused",
    "Plugin",
    "RegisteredDevice",
    "Runner",
    "Suite",
    "Tier",
    "Torch",
    "Unsupported",
    "find_device",
    "load_device",
    "load_registry",
    "upstream_list",
]
