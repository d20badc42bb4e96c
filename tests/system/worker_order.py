"""In which order pytest's workers take the files: what others wait for first, and what is long before what is short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

DEVICE_FIXTURES = frozenset({"openreg_nightly", "device_python", "python_with_torch"})
MARKERS: pytest.StashKey[dict[str, frozenset[str]]] = pytest.StashKey()
"""Of every test that was found, the markers; those of a test that asks for the device's environment are noted, too."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Note all markers before -m leaves tests out; give workers what is left in an order that keeps them busy."""
    config.stash[MARKERS] = markers_of(items)
    yield
    if hasattr(config, "workerinput"):
        items[:] = in_worker_order(items)


def markers_of(items: Iterable[pytest.Item]) -> dict[str, frozenset[str]]:
    """By test id, the names of its markers, and of fixtures that bring the device's environment."""
    return {
        item.nodeid: frozenset(marker.name for marker in item.iter_markers())
        | DEVICE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
        for item in items
    }


def in_worker_order(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Tests with those of a file together, so that a worker that runs out of work at the end is so for a short time.

    First comes one file that prepares the device's environment, then those that do without it, then those that need
    it: with two that prepare it at the front, the second would only hold up a worker.
    """
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    ordered = sorted(files.values(), key=_place)
    first = next(filter(_prepares, ordered), [])
    return [*first, *(item for tests in ordered if tests is not first for item in tests)]


def _prepares(tests: list[pytest.Item]) -> bool:
    return any("openreg_nightly" in getattr(test, "fixturenames", ()) for test in tests)


def _place(tests: list[pytest.Item]) -> tuple[bool, bool]:
    needs_device = _prepares(tests) or any(test.get_closest_marker("torch") for test in tests)
    return (needs_device, not any(test.get_closest_marker("long") for test in tests))
