"""The device suites: options, the event log, and what tests ask for by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from harness import device as under_test
from harness import shards
from harness.declared import OPTION, Declared, add_option, read_declared
from harness.options import add_options
from harness.recorder import Recorder
from harness.repaired_runs import RepairedRuns

if TYPE_CHECKING:
    import torch

RECORDER = "device-suites"
PARSES = 5
"""How often the source of a failing test is parsed for its report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)
    add_option(parser)
    shards.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Put the claims to the proof, and the recorder to work."""
    # The recorder tells what the claims have made of a report, so it comes after them.
    config.pluginmanager.register(Declared(read_declared(config.getoption(OPTION))))
    config.pluginmanager.register(RepairedRuns())
    config.pluginmanager.register(Recorder(config), RECORDER)
    config.pluginmanager.register(shards.Shares(config), shards.PLUGIN)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, with the reason, what means nothing on the control or needs more cards."""
    name = _name(item.config)
    only = item.get_closest_marker("device_only")
    if only is not None and name == under_test.CONTROL:
        pytest.skip(f"does not apply to the cpu: {only.args[0]}")
    cards = item.get_closest_marker("needs_devices")
    if cards is not None:
        if name == under_test.CONTROL:
            pytest.skip("the cpu has no second device")
        count = under_test.device_count(name)
        if count < cards.args[0]:
            pytest.skip(f"needs {cards.args[0]} devices, torch counts {count}")


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
    """Make a report as pytest does, again where another thread parsed at the same moment.

    Python's parser then raises SystemError (pytest issue 10763), which would end the whole run. Threads that load data
    parse whenever they format a traceback.
    """
    for _ in range(PARSES):
        with suppress(SystemError):
            return pytest.TestReport.from_item_and_call(item, call)
    return None


@pytest.fixture(scope="session", autouse=True)
def compiled_code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of this process alone for what Inductor compiles.

    Inductor finds compiled code again by the graph and by torch's own sources (torch/_inductor/codecache.py,
    ``torch_key``). It does not look at the plugin's code generator or at the instructions that were chosen for the cpu,
    so a cache that others fill can answer with code of another plugin, or for another processor.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Compute in one thread, where threads would wait because tensors are small, unless OMP_NUM_THREADS is set."""
    import torch

    threads = torch.get_num_threads()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def device_name(pytestconfig: pytest.Config) -> str:
    """The name in ``torch.device(name)``."""
    return _name(pytestconfig)


@pytest.fixture(scope="session")
def device(device_name: str) -> torch.device:
    """The first card of the device under test; ``torch.device("cpu")`` in the control run."""
    return under_test.first_device(device_name)


@pytest.fixture
def device_module(device_name: str) -> ModuleType:
    """The module ``torch.<name>``."""
    return under_test.device_module(device_name)


@pytest.fixture
def plugin_device(device_name: str) -> str:
    """The name of a device that a plugin provides; other devices skip the test."""
    if not under_test.is_from_plugin(device_name):
        pytest.skip(f"{device_name} is built into torch, so no plugin provides it")
    return device_name


@pytest.fixture
def privateuse1_device(plugin_device: str) -> str:
    """The name that PrivateUse1 was given; devices with a type of their own in torch skip the test."""
    if not under_test.is_privateuse1(plugin_device):
        pytest.skip(f"{plugin_device} has a device type of its own in torch, so it needs no name for PrivateUse1")
    return plugin_device


@pytest.fixture(autouse=True)
def _waited_for(device_name: str) -> Iterator[None]:
    """Wait for the device after each test, so that an asynchronous error is told by the test that caused it."""
    under_test.can_wait(device_name)  # asked before anything is under way
    yield
    under_test.synchronize(device_name)


def _name(config: pytest.Config) -> str:
    recorder = config.pluginmanager.get_plugin(RECORDER)
    assert isinstance(recorder, Recorder)
    return recorder.options.device
