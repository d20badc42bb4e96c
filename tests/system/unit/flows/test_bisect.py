"""One step of a bisection without an environment: what is held fixed, and nightlies that are gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import device

from ootci.adapters.progress import Progress
from ootci.errors import BadOption, IndexUnreachable
from ootci.flows.bisect import Search, with_one_suite
from ootci.flows.held_plugin import holding_commit, holding_plugin, with_plugin
from ootci.model.bisection import Bisection
from ootci.model.build import PluginBuild
from ootci.model.device import RegisteredDevice

TEST = "smoke/test_x.py::one"
NIGHTLY = "2.15.0.dev20261101+cpu"
HELD = PluginBuild(package="torch-dev", version="1.2", source="s", commit="a" * 40)


def _search(folder: Path, item: RegisteredDevice, plugin: PluginBuild | None = None) -> Search:
    begun = Bisection(
        device=item.device.name, device_sha256=item.sha256, test=TEST, nightlies=(NIGHTLY, "later"), plugin=plugin
    )
    return Search(begun, with_one_suite(item, TEST), folder / "search", folder, Progress(quiet=True))


def test_the_device_of_a_step_runs_the_test_s_suite_only() -> None:
    item = device()
    assert [suite.name for suite in item.device.suites] == ["smoke", "integration"]
    found = with_one_suite(item, TEST).device
    assert [suite.name for suite in found.suites] == ["smoke"]


def test_a_plugin_from_a_repository_is_held_at_its_commit() -> None:
    item = device(plugin={"distribution": "torch-dev", "git": {"url": "./u", "ref": "main", "subdirectory": "python"}})
    for held in (holding_commit(item, "a" * 40), holding_plugin(item, HELD)):
        source = held.device.plugin.git
        assert source is not None
        assert (source.url, source.ref, source.subdirectory) == ("./u", "a" * 40, "python")


def test_a_plugin_that_is_a_package_is_held_at_its_version() -> None:
    item = device(plugin={"distribution": "torch-dev", "package": "torch-dev>=1"})
    assert holding_plugin(item, HELD).device.plugin.package == "torch-dev==1.2"
    assert holding_commit(item, "a" * 40) == item


def test_another_version_of_a_plugin_is_asked_for_where_its_file_can_say_it() -> None:
    git = with_plugin(device(plugin={"distribution": "torch-dev", "git": {"url": "./u", "ref": "main"}}), "v1.2")
    assert git.device.plugin.git is not None
    assert git.device.plugin.git.ref == "v1.2"
    package = with_plugin(device(plugin={"distribution": "torch-dev", "package": "torch-dev[x]>=1"}), "1.2")
    assert package.device.plugin.package == "torch-dev==1.2"
    with pytest.raises(BadOption, match="a folder of the checkout"):
        with_plugin(device(), "v1.2")


def test_a_network_that_is_gone_says_nothing_of_a_nightly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OOTCI_NIGHTLY_INDEX", "http://127.0.0.1:9/nightly")
    with pytest.raises(IndexUnreachable, match="the nightlies cannot be listed"):
        _search(tmp_path, device()).step(NIGHTLY)
    assert not (tmp_path / "search" / "steps").exists()
