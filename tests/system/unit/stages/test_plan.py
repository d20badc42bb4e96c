"""plan: which devices run on which torch; a fallback is visible or forbidden, never silent."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal

import pytest
from misbehaving import stub_torch_wheel
from packaging.tags import Tag
from packaging.version import Version
from unit.samples import device

from ootci.adapters import remote_wheel, torch_index
from ootci.adapters.torch_index import IndexProblem, TorchWheel
from ootci.errors import BadOption, IndexUnreachable, OotciError, TorchMissing, TorchWheelMissing
from ootci.model.device import RegisteredDevice, Torch
from ootci.model.plan import Plan, Trigger
from ootci.model.torch_build import Channel
from ootci.stages.plan import plan, releases, resolve
from ootci.stages.plan.releases import PINNED_RELEASE

NOW = datetime(2026, 11, 21, 23, 30, tzinfo=timezone(timedelta(hours=-3)))
DEV = "2.15.0.dev20261120+cpu"


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What the indexes hold, by address; an address that is not there cannot be reached."""
    held: dict[str, list[str]] = {
        torch_index.nightly_index("cpu"): [DEV, "2.15.0.dev20261119+cpu"],
        torch_index.release_index("cpu"): ["2.12.0+cpu", "2.14.1+cpu"],
    }

    def listed(index_url: str, tags: frozenset[Tag]) -> list[TorchWheel]:
        if index_url not in held:
            raise IndexProblem(f"{index_url} cannot be reached (host name not resolved)")
        return [TorchWheel(Version(text), f"{index_url}/{text}.whl", "aa", index_url) for text in held[index_url]]

    monkeypatch.setattr(torch_index, "listed", listed)
    monkeypatch.setattr(remote_wheel, "remote_contents", lambda _: None)
    monkeypatch.setattr(releases, "pip_pages", lambda _: ())
    return held


def _plan(
    *devices: RegisteredDevice,
    chosen: tuple[str, ...] = (),
    suffix: str | None = "1",
    torch: str | None = None,
    now: datetime = NOW,
) -> Plan:
    return plan(devices, chosen=chosen, torch=torch, now=now, trigger=Trigger(event="local"), suffix=suffix)


def test_the_device_s_own_release_is_the_fallback(index: dict[str, list[str]]) -> None:
    del index[torch_index.nightly_index("cpu")]
    assert resolve(None, Torch(release="2.12.0")).version == "2.12.0+cpu"


@pytest.mark.parametrize(("release", "version"), [(None, PINNED_RELEASE), ("2.12.0", "2.12.0")])
def test_where_no_index_answers_the_release_is_left_to_pip(
    index: dict[str, list[str]], release: str | None, version: str
) -> None:
    index.clear()
    found = resolve(None, Torch(channel=Channel.RELEASE, release=release))
    assert (found.channel, found.version, found.url) == (Channel.RELEASE, version, None)
    assert (found.wanted, found.fallback_reason) == (release or "release", None)


def test_the_channel_release_is_the_newest_release(index: dict[str, list[str]]) -> None:
    found = resolve(None, Torch(channel=Channel.RELEASE))
    assert (found.wanted, found.version, found.fallback_reason) == ("release", "2.14.1+cpu", None)
    assert found.wanted_channel is Channel.RELEASE


def test_what_is_asked_for_overrules_the_device_file(index: dict[str, list[str]]) -> None:
    assert resolve("nightly", Torch(channel=Channel.RELEASE)).version == DEV
    assert resolve("2.12.0", Torch()).version == "2.12.0+cpu"
    assert resolve("2.12.0", Torch()).wanted_channel is Channel.RELEASE


@pytest.mark.parametrize("fallback", ["release", "none"])
@pytest.mark.parametrize("wanted", ["2.15.0.dev20251231", "nightly@2025-12-31", "9.9.9", "2.12.0+cu130"])
def test_what_somebody_asks_for_is_never_replaced(
    index: dict[str, list[str]], wanted: str, fallback: Literal["release", "none"]
) -> None:
    with pytest.raises(TorchMissing):
        resolve(wanted, Torch(fallback=fallback))
    index.clear()
    with pytest.raises(IndexUnreachable, match="cannot be reached"):
        resolve(wanted, Torch(fallback=fallback))


@pytest.mark.parametrize(
    "wanted", ["", "newest", "nightly ", "2.x", "-r", "1;rm", "2.13.0\n", "../2.13.0", "v2.13.0", "2..1"]
)
def test_what_is_no_torch_is_refused(index: dict[str, list[str]], wanted: str) -> None:
    with pytest.raises((BadOption, TorchWheelMissing)):
        resolve(wanted, Torch())


def test_a_wheel_is_taken_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = stub_torch_wheel(tmp_path, "2.13.0+mine")
    monkeypatch.chdir(tmp_path)
    for wanted in (str(wheel), wheel.name, f"./{wheel.name}"):
        found = resolve(wanted, Torch())
        assert (found.channel, found.version, found.wheel) == (Channel.WHEEL, "2.13.0+mine", str(wheel.resolve()))
        assert found.wanted == wheel.name
        assert found.sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("gone-1.0-py3-none-any.whl", "no such wheel"),
        ("numpy-1.0-py3-none-any.whl", "holds numpy, not torch"),
        ("torch.whl", "not that of a wheel"),
        ("torch-1.0-py3-none-any.whl", "torch-1.0-py3-none-any.whl is no whole wheel"),
        ("torch-1.0-cp39-cp39-linux_x86_64.whl", "the wheel is for cp39-cp39-linux_x86_64, not for Python 3."),
    ],
)
def test_a_wheel_that_is_none_says_what_it_is(tmp_path: Path, name: str, what: str) -> None:
    if "gone" not in name:
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(TorchWheelMissing) as caught:
        resolve(str(tmp_path / name), Torch())
    assert what in caught.value.what


def test_every_registered_device_is_in_the_plan_or_left_out_with_a_reason(index: dict[str, list[str]]) -> None:
    devices = (device("a"), device("b", paused={"reason": "being moved"}), device("c"))
    found = _plan(*devices)
    assert [run.device for run in found.runs] == ["a", "c"]
    assert [(left.device, left.reason, left.paused) for left in found.left_out] == [("b", "being moved", True)]
    found = _plan(*devices, chosen=("c",))
    assert [run.device for run in found.runs] == ["c"]
    assert {left.device: left.paused for left in found.left_out} == {"a": False, "b": True}


def test_a_paused_device_that_is_asked_for_by_name_runs(index: dict[str, list[str]]) -> None:
    found = _plan(device("a"), device("b", paused={"reason": "being moved"}), chosen=("b",))
    assert [run.device for run in found.runs] == ["b"]


def test_the_index_is_asked_once_so_that_all_devices_get_the_same_torch(
    index: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    listed = torch_index.listed
    monkeypatch.setattr(torch_index, "listed", lambda url, tags: asked.append(url) or listed(url, tags))
    runs = _plan(device("a"), device("b"), device("c")).runs
    assert len(asked) == 1
    assert runs[0].torch == runs[1].torch == runs[2].torch


def test_a_fallback_is_told_while_planning(index: dict[str, list[str]]) -> None:
    del index[torch_index.nightly_index("cpu")]
    said: list[str] = []
    plan([device("a"), device("b")], chosen=(), torch=None, now=NOW, trigger=Trigger(event="local"), say=said.append)
    assert len(said) == 1
    assert said[0].startswith("torch: release")


def test_ids_are_of_the_utc_day(index: dict[str, list[str]]) -> None:
    found = _plan(device("a"), suffix="77-2")
    assert found.id == "20261122-77-2"
    assert found.runs[0].run_id == "20261122-77-2-a"
    assert _plan(device("a"), suffix=None).id == "20261122-023000"


@pytest.mark.parametrize("suffix", ["a b", "a/b", "../x", "a\nmatrix={}", "é", ".", "x" * 100])
def test_a_suffix_cannot_be_more_than_a_part_of_a_name(index: dict[str, list[str]], suffix: str) -> None:
    with pytest.raises(OotciError, match="plan's id"):
        _plan(device("a"), suffix=suffix)


def test_a_weekly_device_runs_on_sundays_or_when_it_is_asked_for(index: dict[str, list[str]]) -> None:
    devices = (device("a"), device("b", cadence="weekly"))
    sunday = datetime(2026, 11, 22, 0, 30, tzinfo=timezone.utc)
    for days, due in ((0, True), (1, False), (6, False), (7, True)):
        found = _plan(*devices, now=sunday + timedelta(days=days))
        assert [run.device for run in found.runs] == (["a", "b"] if due else ["a"])
        assert [(left.device, left.reason, left.paused) for left in found.left_out] == (
            [] if due else [("b", "it runs weekly, on Sundays", False)]
        )
    still_saturday = (sunday - timedelta(hours=1)).astimezone(timezone(timedelta(hours=5)))
    assert [run.device for run in _plan(*devices, now=still_saturday).runs] == ["a"]
    assert [run.device for run in _plan(*devices, chosen=("b",), now=sunday + timedelta(days=1)).runs] == ["b"]


def test_declarations_of_pytorch_s_tests_are_tried_on_one_day_of_the_week(index: dict[str, list[str]]) -> None:
    suites = [{"name": "smoke"}, {"name": "upstream", "operators": ["add"]}]
    devices = (
        device("dev", suites=suites),
        device("other", suites=suites),
        device("weekly", suites=suites, cadence="weekly"),
        device("all"),
    )
    week = [SUNDAY + timedelta(days=days) for days in range(7)]
    found = [[run.device for run in _scheduled(*devices, now=day).runs if run.tries_declarations] for day in week]
    assert sorted(name for names in found for name in names) == ["dev", "other", "weekly"]
    assert "weekly" in found[0]
    assert found == [
        [run.device for run in _scheduled(*devices, now=day + timedelta(days=7)).runs if run.tries_declarations]
        for day in week
    ]
    local = [_scheduled(*devices, now=day, event="local").runs for day in week]
    assert not any(run.tries_declarations for runs in local for run in runs)


def test_a_wheel_is_held_against_the_python_of_the_device(tmp_path: Path) -> None:
    wheel = stub_torch_wheel(tmp_path, "2.13.0", tag="cp312-cp312-manylinux_2_17_x86_64.manylinux_2_17_aarch64")
    with pytest.raises(TorchWheelMissing, match=r"not for Python 3\.13 on "):
        resolve(str(wheel), Torch(), python="3.13")
    assert resolve(str(wheel), Torch(), python="3.12").version == "2.13.0"


SUNDAY = datetime(2026, 11, 22, 9, 0, tzinfo=timezone.utc)
BOTH = {"also": ["release", "previous_release"]}


def _scheduled(*devices: RegisteredDevice, now: datetime = SUNDAY, event: str = "schedule", **asked: Any) -> Plan:
    asked = {"chosen": (), "torch": None, **asked}
    return plan(devices, now=now, trigger=Trigger(event=event), suffix="1", **asked)


def test_other_torches_are_planned_on_sundays_beside_the_nightly(index: dict[str, list[str]]) -> None:
    index[torch_index.release_index("cpu")] += ["2.14.0+cpu", "2.13.0+cpu", "2.13.1+cpu", "2.15.0rc1+cpu"]
    # The pin is the device's own release, and not the newest one.
    found = _scheduled(device("dev", torch={**BOTH, "release": "2.12.0"}), device("rest"))
    assert [run.device for run in found.runs] == ["dev", "rest"]
    assert found.expected("dev").torch.channel is Channel.NIGHTLY
    planned = {run.device: (run.torch.wanted, run.torch.channel, run.torch.version) for run in found.also}
    assert planned == {
        "dev_release": ("release", Channel.RELEASE, "2.14.1+cpu"),
        "dev_previous_release": ("previous_release", Channel.RELEASE, "2.13.1+cpu"),
    }
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("asked", "also"),
    [
        ({"now": SUNDAY + timedelta(days=1)}, []),
        ({"event": "local"}, []),
        ({"torch": "2.12.0"}, []),
        ({"chosen": ("dev",)}, []),
        ({"chosen": ("rest",), "also": True}, []),
        ({"chosen": ("dev",), "also": True, "now": NOW, "event": "local"}, ["dev_release", "dev_previous_release"]),
        ({"chosen": ("dev_release",), "now": NOW, "event": "local"}, ["dev_release"]),
    ],
)
def test_other_torches_are_planned_on_other_days_only_where_somebody_asks(
    index: dict[str, list[str]], asked: dict[str, Any], also: list[str]
) -> None:
    found = _scheduled(device("dev", torch=BOTH), device("rest"), **asked)
    assert [run.device for run in found.also] == also


def test_a_paused_device_is_tested_on_no_torch(index: dict[str, list[str]]) -> None:
    assert _scheduled(device("dev", torch=BOTH, paused={"reason": "It moves."})).also == ()


def test_a_release_that_is_not_there_is_not_replaced(index: dict[str, list[str]]) -> None:
    index[torch_index.release_index("cpu")] = ["2.14.1+cpu", "2.14.0+cpu"]
    run = _scheduled(device("dev", torch=BOTH)).expected("dev_previous_release")
    assert run.torch.version is None
    assert "no release before the newest one of the build `cpu`" in (run.torch.unavailable_reason or "")
