"""What ran natively and what on the fallback, where a device counts it.

A device module may offer ``operator_counts()``: a mapping from the operator's name to how often it ran ``native`` and
how often it went to the ``fallback``. The namespace ``aten::`` may be left out there; it is always written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

Counts = Mapping[str, Mapping[str, int]]

WAYS = ("native", "fallback")


def counts_of(module: ModuleType) -> Counts | None:
    """The counts so far, as the device gives them; None when it does not count."""
    count = getattr(module, "operator_counts", None)
    return None if count is None else {name: dict(ways) for name, ways in count().items()}


def since(before: Counts, after: Counts) -> dict[str, dict[str, int]]:
    """What was counted between two readings, by full name; operators that did not run are left out.

    It is read after every test and most operators did not run, so only the others are written.
    """
    return {
        name if "::" in name else f"aten::{name}": {
            way: int(ways.get(way, 0)) - int(before.get(name, {}).get(way, 0)) for way in WAYS
        }
        for name, ways in sorted(after.items())
        if ways != before.get(name) and any(ways.values())
    }


def way_of(grown: Counts) -> str:
    """How work was done: ``fallback`` when any operator went there, else ``native``."""
    return "fallback" if any(ways["fallback"] for ways in grown.values()) else "native"
