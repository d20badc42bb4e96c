"""The capabilities of a PrivateUse1 device that a test can prove and a device file can disclaim."""

from __future__ import annotations

from enum import Enum


class Capability(str, Enum):
    """An area of PyTorch that a plugin has to serve. ``tests/device/harness/capabilities.py`` describes each."""

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
    """The state of a capability on one device, by its tests."""

    WORKS = "works"
    """Every test that applies passed."""
    XFAILED = "xfailed"
    """So did every one that no defect of torch itself breaks."""
    PART = "part"
    """Some passed and none failed, but the device does not have all of it."""
    FAILING = "failing"
    """At least one failed."""
    NOT_RUN = "not_run"
    """At least one was collected and never reported."""
    UNSUPPORTED = "unsupported"
    """The device declares that it lacks it, and passed only tests that pass without it."""
    SKIPPED = "skipped"
    """More than half of its tests do not apply here, so that the others say little."""


def docs_page(capability: str) -> str:
    """The documentation's page about a capability; the suites, which cannot ask here, say the same."""
    return f"capabilities/{capability}"
