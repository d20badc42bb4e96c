"""What every test of this suite runs under, and what the event log is told of the operators."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from harness.device import CONTROL, device_module
from harness.events import EventLog
from harness.operator_counts import counts_of, since


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Let the cpu compute in one thread: samples are small, and where cores are shared, threads wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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
