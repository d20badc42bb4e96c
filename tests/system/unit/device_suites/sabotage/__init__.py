"""Devices that are broken on purpose: each variant spoils one promise, and the tests for it have to notice.

Run by the Python that has torch and the reference device. The plugin in ``plugin.py`` breaks the device in a forked
process and runs tests there; ``start/sitecustomize.py`` breaks it in the fresh processes that tests start. The package
itself imports no torch, so that it can also break what happens before torch is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

DEVICE = "openreg"

VARIABLE = "SABOTAGE"
"""The environment variable that names the variant for fresh processes."""

MODULES = (
    *("everywhere", "naming", "starting", "cards", "storing", "pinning", "ordering", "drawing", "tensors", "viewing"),
    *("mixing", "differentiating", "modules", "stepping", "precision", "saving", "sending", "feeding", "layouts"),
    *("parallel", "compiling", "profiling", "exchange", "faults"),
)
"""The modules that define variants, by what they break."""


@dataclass(frozen=True)
class Variant:
    """One way to be broken.

    Attributes:
        what: the defect, in words that go on after "a device with".
        capabilities: whose tests are asked to notice.
        apply: brings the defect about, once torch knows the device.
        at_start: brings it about in a fresh process, before torch is imported.
        environment: variables that bring it about.
        fresh: whether tests that start processes of their own are asked as well; they take long.

    """

    what: str
    capabilities: tuple[str, ...]
    apply: Callable[[], None] | None = None
    at_start: Callable[[], None] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False


VARIANTS: dict[str, Variant] = {}
"""Every variant by its name, once :func:`load` was called."""


def broken(
    name: str, what: str, *capabilities: str, fresh: bool = False
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register the function that breaks a device which torch knows."""

    def register(apply: Callable[[], None]) -> Callable[[], None]:
        add(name, Variant(what, capabilities, apply=apply, fresh=fresh))
        return apply

    return register


def broken_at_start(name: str, what: str, *capabilities: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register the function that breaks a fresh process before it imports torch."""

    def register(apply: Callable[[], None]) -> Callable[[], None]:
        add(name, Variant(what, capabilities, at_start=apply, fresh=True))
        return apply

    return register


def add(name: str, variant: Variant) -> None:
    """Register a variant.

    Raises:
        ValueError: the name is taken.

    """
    if name in VARIANTS:
        raise ValueError(f"two variants have the name {name}")
    VARIANTS[name] = variant


def load() -> dict[str, Variant]:
    """Import the modules that define the variants, and torch with them."""
    for module in MODULES:
        importlib.import_module(f"sabotage.{module}")
    return VARIANTS
