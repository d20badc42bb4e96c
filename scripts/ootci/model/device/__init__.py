"""The device file: one out-of-tree accelerator, as data. The only package that reads device YAML."""

from .expectations import LONGEST_RANGE, BadRange, KnownFailure, LostTests, Unsupported, bad_range
from .keys import Cadence, Device, Links, Paused, RegisteredDevice, Tier, Variant
from .plugin import BuildSettings, GitSource, Plugin, Torch
from .registry import (
    BAD_RANGES,
    DEFAULT_FOLDER,
    KNOWN_FAILURES,
    DeviceFile,
    checkout_of,
    find_device,
    is_device_file,
    is_registry,
    load_bad_ranges,
    load_device,
    load_registry,
    name_of,
    read_device,
    require_name,
    with_lists,
)
from .running import (
    OURS,
    UPSTREAM,
    UPSTREAM_CONFIG,
    BuildRunner,
    Check,
    Container,
    Credentials,
    External,
    Limits,
    Runner,
    Suite,
)
from .variants import VariantDevice, on_other_torches, variants_of, with_other_torches
