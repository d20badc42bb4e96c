"""The capabilities of a PrivateUse1 device that a test can prove and a device file can disclaim."""

from __future__ import annotations

from enum import Enum


class Capability(str, Enum):
    """An area of PyTorch that a plugin has to serve. ``tests/device/harness/capabilities.py`` says what each one is."""

    REGISTRATION = "registration"
    AUTOLOAD = "autoload"
    DEVICE = "device"
    MEMORY = "memory"
    PINNED_MEMORY = "pinned_memory"
    STREAMS_EVENTS = "streams_events"
    RNG = "rng"
    TENSORS = "tensors"
    VIEWS = "views"
    MIXED_DEVICES = "mixed_devices"
    OPS = "ops"
    AUTOGRAD = "autograd"
    MODULES = "modules"
    OPTIMIZERS = "optimizers"
    AMP = "amp"
    SERIALIZATION = "serialization"
    CHECKPOINT = "checkpoint"
    DATALOADER = "dataloader"
    MULTIPROCESSING = "multiprocessing"
    QUANTIZATION = "quantization"
    SPARSE = "sparse"
    NESTED = "nested"
    DISTRIBUTED = "distributed"
    COMPILE = "compile"
    PROFILER = "profiler"
    INTEROP = "interop"
    TRAINING = "training"


class CapabilityState(str, Enum):
    """What the tests of a capability on one device say together."""

    WORKS = "works"
    """Every test that was executed passed."""
    XFAILED = "xfailed"
    """So did every one, but for those that were expected to fail."""
    FAILING = "failing"
    """At least one failed."""
    NOT_RUN = "not_run"
    """At least one was collected and never reported, or none was executed."""
    UNSUPPORTED = "unsupported"
    """None was executed, and the device says that it does not have it."""


def docs_page(capability: str) -> str:
    """The page about a capability, a path in this repository; the suites, which cannot ask here, say the same."""
    return f"docs/capabilities/{capability}.md"
