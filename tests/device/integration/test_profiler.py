"""The profiler: what the host did, and what the device did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from harness.compare import numbers, put
from harness.outcomes import unsupported

pytestmark = pytest.mark.capability("profiler")


def _device_activity(device: torch.device) -> ProfilerActivity:
    # Devices inside torch's tree have an activity of their own name, the others share one.
    own = getattr(ProfilerActivity, device.type.upper(), None)
    activity = own or getattr(ProfilerActivity, "PrivateUse1", None)
    if activity is None or activity not in torch.profiler.supported_activities():
        unsupported("torch.profiler.supported_activities() does not have this device")
    assert isinstance(activity, ProfilerActivity)
    return activity


def _device_time(seen: profile) -> float:
    """Microseconds of what ran on the device. The host's operators are told the same time again."""
    return sum(
        event.self_device_time_total
        for event in seen.key_averages()
        if event.device_type != DeviceType.CPU and not event.is_user_annotation
    )


def _work(device: torch.device) -> torch.Tensor:
    there = put(numbers(64, 64), device)
    with record_function("our block"):
        for _ in range(5):
            there = there.tanh()
    return there.cpu()


def test_host_events(device: torch.device) -> None:
    """The profiler sees the operators and the user's own blocks, as often as they ran."""
    _work(device)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        _work(device)
    counts = {event.key: event.count for event in seen.key_averages()}
    assert counts["our block"] == 1
    assert counts["aten::tanh"] >= 5  # it may call another one of the same name, for example its `out` variant
    assert "aten::tanh" in seen.key_averages().table(row_limit=50)


@pytest.mark.device_only("it has no events beside the host's")
def test_device_events(device: torch.device) -> None:
    """The profiler sees what ran on the device, with durations, beside what the host did."""
    activity = _device_activity(device)
    _work(device)
    with profile(activities=[ProfilerActivity.CPU, activity]) as seen:
        _work(device)
        torch.accelerator.synchronize()
    names = [event.name for event in seen.events() if event.device_type != DeviceType.CPU]
    assert names, "the host's events are there, the device's are not: the profile looks healthy and misses the device"
    assert _device_time(seen) > 0, "device events take no time"


@pytest.mark.device_only("it has no events beside the host's")
def test_device_times_are_plausible(device: torch.device) -> None:
    """More work takes more device time, and no more than the clock saw."""
    activity = _device_activity(device)

    def device_time(rounds: int) -> tuple[float, float]:
        there = put(numbers(512, 512), device)
        torch.accelerator.synchronize()
        with profile(activities=[ProfilerActivity.CPU, activity]) as seen, record_function("whole"):
            for _ in range(rounds):
                there = there.tanh()
            torch.accelerator.synchronize()
        whole = next(event for event in seen.key_averages() if event.key == "whole")
        return _device_time(seen), whole.cpu_time_total

    device_time(1)
    short, long = device_time(2), device_time(100)
    assert long[0] > 2 * short[0], f"2 calls of tanh took {short[0]} us on the device, 100 took {long[0]} us"
    assert long[0] < 1.5 * long[1] + 1000, f"{long[0]} us on the device within {long[1]} us of the clock"


def test_chrome_trace(device: torch.device, tmp_path: Path) -> None:
    """A trace is written that a browser reads, with the operators in it."""
    with profile(activities=list(torch.profiler.supported_activities())) as seen:
        _work(device)
    seen.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    names = {event.get("name") for event in trace["traceEvents"]}
    assert {"our block", "aten::tanh"} <= names


def test_shapes_stacks_and_memory(device: torch.device) -> None:
    """Shapes and memory can be recorded along."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as seen:
        _work(device)
    shapes = [event.input_shapes for event in seen.events() if event.name == "aten::tanh"]
    assert len(shapes) >= 5
    assert all(shape[0] == [64, 64] for shape in shapes)


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events:UserWarning")
def test_schedule(device: torch.device) -> None:
    """A schedule of waiting, warming up and recording hands over as many traces as it names."""
    handed: list[int] = []
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda seen: handed.append(len([e for e in seen.events() if e.name == "our block"])),
    ) as seen:
        for _ in range(8):
            _work(device)
            seen.step()
    assert handed == [2, 2]


def test_profiling_changes_no_result(device: torch.device) -> None:
    """Results under the profiler are those without it."""
    expected = _work(device)
    with profile(activities=list(torch.profiler.supported_activities())):
        seen = _work(device)
    assert torch.equal(seen, expected)
