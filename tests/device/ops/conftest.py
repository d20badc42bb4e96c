"""Which tests of this suite run, under what, and what the event log is told of the operators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.device import CONTROL, device_module
from harness.events import EventLog
from harness.operator_counts import counts_of, since, way_of
from harness.ops_dtypes import chosen_dtypes, dtype_name, ids_are_given
from harness.recorder import RAN

FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the dtypes that were not requested, unless tests are named one by one."""
    if ids_are_given(config.args, config.getoption("--ids-from"), config.getoption("--stand-by")):
        return
    dtypes = {item: dtype for item in items if (dtype := _dtype(item)) is not None}
    if not dtypes:
        return
    chosen = chosen_dtypes(config.getoption("--ops-dtypes"), dtypes.values())
    dropped = [item for item in items if dtypes.get(item) not in (None, *chosen)]
    items[:] = [item for item in items if dtypes.get(item) in (None, *chosen)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)


def _dtype(item: pytest.Item) -> str | None:
    """The dtype of a test of this suite, if its case has one."""
    if FOLDER not in item.path.parents:
        return None
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    dtypes = [dtype for case in parameters.values() if (dtype := getattr(case, "dtype", None)) is not None]
    return dtype_name(dtypes[0]) if dtypes else None


@pytest.fixture(autouse=True)
def _one_thread(one_thread: None) -> None:
    """Compute samples in one thread."""


@pytest.fixture(autouse=True)
def _way_told(request: pytest.FixtureRequest, device_name: str) -> Iterator[None]:
    """Let the end of each test say whether anything ran on the fallback, where the device counts."""
    before = None if device_name == CONTROL else counts_of(device_module(device_name))
    yield
    after = None if before is None else counts_of(device_module(device_name))
    if before is not None and after is not None:
        request.node.user_properties.append((RAN, way_of(since(before, after))))


@pytest.fixture(scope="session", autouse=True)
def _operators_told(pytestconfig: pytest.Config, device_name: str) -> Iterator[None]:
    """Write what was counted between the first test of this suite and the end of the session."""
    before = None if device_name == CONTROL else counts_of(device_module(device_name))
    yield
    after = None if before is None else counts_of(device_module(device_name))
    if before is not None and after is not None:
        log = EventLog(pytestconfig.getoption("--events"))
        log.write("operators", counts=since(before, after))
        log.close()
