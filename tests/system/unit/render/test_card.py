"""The card of a failure: what reproduces it, and what changed in the plugin."""

from __future__ import annotations

import shlex
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from unit.render.sample_clusters import CLUSTERS
from unit.samples import device as a_device

from ootci.model.build import PluginBuild
from ootci.model.cluster import Cause, Cluster, ClusterDevice, Mark
from ootci.model.device import variants_of
from ootci.model.torch_build import Channel, TorchRequest
from ootci.model.verdict import DeviceVerdict, VerdictName
from ootci.stages.render.card import Card, CommitRange, card
from ootci.stages.render.commands import commands
from ootci.stages.render.facts import plugin_source

NIGHT = datetime(2026, 11, 20, tzinfo=timezone.utc)
NOT_EXACTLY = "# Not exactly what was tested: "
TEST = "integration/test_x.py::test_y"


def made(
    verdict: VerdictName = VerdictName.REGRESSED,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    request: TorchRequest | None = None,
    cause: Cause = Cause.PLUGIN,
) -> Card | None:
    part = ClusterDevice(
        device="dev",
        is_reference=False,
        tests=1,
        new=1,
        first=(TEST,),
        plugin_changed=True,
        since=Mark(plan_id="b", date=NIGHT, **(after or {})),
        last_passed=Mark(plan_id="a", date=NIGHT, **before) if before is not None else None,
    )
    cluster = Cluster(
        signature=CLUSTERS[0].signature, plan_id="b", cause=cause, reason="why", devices=(part,), since=part.since
    )
    found = DeviceVerdict(device="dev", verdict=verdict, reason="x", new_failures=1, torch_request=request)
    return card(a_device("dev"), found, None, cluster, None)


def request(channel: Channel, version: str | None) -> TorchRequest:
    return TorchRequest(wanted="x", wanted_channel=channel, channel=channel, version=version)


@pytest.mark.parametrize("verdict", [VerdictName.OK, VerdictName.UNSTABLE, VerdictName.NO_DATA, VerdictName.PAUSED])
def test_what_is_not_broken_has_none(verdict: VerdictName) -> None:
    assert made(verdict) is None


@pytest.mark.parametrize(
    ("channel", "version", "torch", "lost"),
    [
        (Channel.NIGHTLY, "2.15.0.dev20261120+cpu", " TORCH=nightly@2026-11-20", ""),
        (Channel.RELEASE, "2.13.0+cpu", " TORCH=2.13.0", ""),
        (Channel.WHEEL, "2.16.0a0", "", f"{NOT_EXACTLY}no index has its torch.\n"),
        (Channel.RELEASE, None, "", f"{NOT_EXACTLY}no index has its torch.\n"),
        (Channel.RELEASE, "2.13.0$(shell touch gone)", "", f"{NOT_EXACTLY}no index has its torch.\n"),
    ],
)
def test_the_commands_ask_for_the_same_torch_and_run_the_first_test(
    channel: Channel, version: str | None, torch: str, lost: str
) -> None:
    found = made(request=request(channel, version))
    assert found is not None
    assert found.commands == (
        f"{lost}make nightly DEVICE=dev{torch}",
        f".ootci/envs/dev/bin/python -m pytest tests/device/{TEST} --device dev",
    )


@pytest.mark.parametrize(
    ("source", "version", "commit", "pinned", "lost"),
    [
        ({"git": {"url": "./u"}}, "1.0", "a" * 40, f" PLUGIN={'a' * 40}", ""),
        ({"git": {"url": "./u"}}, "1.0", None, "", "its plugin's commit is unknown"),
        ({"package": "torch-dev"}, "1.0.dev3+cpu", None, " PLUGIN=1.0.dev3+cpu", ""),
        ({"package": "torch-dev"}, "1$(shell touch gone)", None, "", "its plugin's version is unknown"),
        ({"path": "."}, "1.0", f"{'a' * 40}-dirty", "", "its plugin or device file had uncommitted changes"),
    ],
)
def test_the_commands_ask_for_the_same_plugin_or_say_that_they_cannot(
    source: dict[str, Any], version: str, commit: str | None, pinned: str, lost: str
) -> None:
    tested = a_device("dev", plugin={"distribution": "torch-dev", **source})
    plugin = PluginBuild(package="torch-dev", version=version, source="s", commit=commit)
    found = DeviceVerdict(device="dev", verdict=VerdictName.REGRESSED, reason="x", plugin=plugin)
    made_of = card(tested, found, None, None, None)
    assert made_of is not None
    assert made_of.commands == (f"{NOT_EXACTLY}{lost}.\n" * bool(lost) + f"make nightly DEVICE=dev{pinned}",)


@pytest.mark.parametrize(
    ("path", "command", "tests"),
    [
        ("devices/dev.yaml", "make nightly DEVICE=dev TORCH=2.13.0", 1),
        ("dev.yaml", "ootci nightly dev.yaml --torch 2.13.0", 0),
        # As device.yml checks out the repository that calls it.
        ("caller/ci/a device.yaml", "ootci nightly 'ci/a device.yaml' --torch 2.13.0", 0),
    ],
)
def test_the_commands_are_for_the_repository_that_has_the_device_file(path: str, command: str, tests: int) -> None:
    """The plugin beside the file is that of a commit of this repository; elsewhere there is no make, and no tests/."""
    item = a_device("dev", plugin={"distribution": "torch-dev", "path": "."}).model_copy(update={"path": Path(path)})
    plugin = PluginBuild(package="torch-dev", version="1.0", source="s", commit="a" * 40)
    verdict = DeviceVerdict(
        device="dev",
        verdict=VerdictName.REGRESSED,
        reason="x",
        plugin=plugin,
        torch_request=request(Channel.RELEASE, "2.13.0"),
    )
    found = commands(item, verdict, [TEST])
    assert found[0] == f"git checkout {'a' * 40} && {command}"
    assert len(found[1:]) == tests


def test_a_vendor_s_own_folder_called_devices_is_not_the_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert commands(a_device("dev"), None, [TEST]) == ("ootci nightly devices/dev.yaml",)


@pytest.mark.parametrize(
    "test", ["ops/x.py::y[a b-'c'-$(reboot)]", "smoke/x`reboot`", "ops/a\nb; reboot", "ops/--help"]
)
def test_the_command_keeps_a_test_id_one_word(test: str) -> None:
    words = shlex.split(commands(a_device("dev"), None, [test])[1])
    assert words[:3] == [".ootci/envs/dev/bin/python", "-m", "pytest"]
    assert words[3:] == [f"tests/device/{' '.join(test.split())}", "--device", "dev"]


@pytest.mark.parametrize("test", ["mine/tests.test_x::test_y", "smokey/test_x.py::test_y", "--help"])
def test_the_whole_run_repeats_a_test_of_a_vendor_s_suite(test: str) -> None:
    assert commands(a_device("dev"), None, [test]) == ("make nightly DEVICE=dev",)


def test_the_command_has_the_variables_of_the_device_file() -> None:
    item = a_device("dev", environment={"SDK": "/opt/a b", "LD_LIBRARY_PATH": "{venv}/lib"})
    said = commands(item, None, [TEST])[1]
    assert said.startswith("SDK='/opt/a b' LD_LIBRARY_PATH=.ootci/envs/dev/lib .ootci/envs/dev/bin/python -m pytest ")


def test_a_variant_is_tested_as_the_device_that_torch_knows() -> None:
    item = a_device("dev", variants=[{"name": "two", "tier": "advisory"}])
    (made_of,) = variants_of(item.device)
    variant = item.model_copy(update={"device": made_of})
    first, again = commands(variant, None, [TEST])
    assert first == "make nightly DEVICE=dev_two"
    assert again == f".ootci/envs/dev_two/bin/python -m pytest tests/device/{TEST} --device dev"


@pytest.mark.parametrize(
    ("path", "folder", "source"),
    [
        ("devices/dev.yaml", ".", "devices in this repository"),
        ("dev.yaml", ".", "top of the repository of dev.yaml"),
        ("caller/ci/dev.yaml", ".", "ci in the repository of ci/dev.yaml"),
        ("caller/ci/dev.yaml", "..", "top of the repository of ci/dev.yaml"),
        ("ci/dev.yaml", "../python", "python in the repository of ci/dev.yaml"),
    ],
)
def test_the_plugin_s_folder_is_in_the_repository_that_has_the_device_file(path: str, folder: str, source: str) -> None:
    item = a_device("dev", plugin={"distribution": "torch-dev", "path": folder}).model_copy(update={"path": Path(path)})
    assert plugin_source(item).value == source


def test_the_plugin_s_commits_and_else_its_versions_are_named() -> None:
    versions = made(before={"plugin_version": "1.0"}, after={"plugin_version": "1.1"})
    assert versions is not None
    assert versions.plugin == CommitRange(text="1.0 to 1.1", address=None)
    commits = made(before={"plugin_commit": "a" * 40}, after={"plugin_commit": "b" * 40})
    assert commits is not None
    assert commits.plugin is not None
    assert commits.plugin.text == "aaaaaaa...bbbbbbb"
    same = {"plugin_sources": "c" * 64}
    unchanged = made(before={"plugin_commit": "a" * 40, **same}, after={"plugin_commit": "b" * 40, **same})
    for nothing in (unchanged, made()):
        assert nothing is not None
        assert nothing.plugin is None


def test_a_bisection_needs_a_good_night_and_an_issue_a_suspect() -> None:
    good = made(before={}, cause=Cause.UPSTREAM)
    assert good is not None
    assert good.bisect == f"ootci bisect dev {TEST}"
    assert (good.issue or "").startswith("https://github.com/pytorch/pytorch/issues/new?title=")
    bad = made()
    assert bad is not None
    assert (bad.bisect, bad.receiver) == (None, "the vendor")
