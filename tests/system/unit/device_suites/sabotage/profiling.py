"""Defects of the profiler."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch._C._autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent

from sabotage import broken


@broken("profiler-without-device", "a profiler that sees the host only", "profiler")
def _without_device() -> None:
    original = torch.profiler.profile.events
    torch.profiler.profile.events = lambda self: [  # type: ignore[method-assign,assignment]
        event for event in original(self) if event.device_type == DeviceType.CPU
    ]


@broken("events-without-duration", "device events that take no time", "profiler")
def _without_duration() -> None:
    from torch.autograd.profiler_util import FunctionEventAvg

    zero = property(lambda self: 0)
    FunctionEvent.self_device_time_total = zero  # type: ignore[assignment,method-assign]
    FunctionEventAvg.self_device_time_total = property(lambda self: 0, lambda self, value: None)  # type: ignore[assignment,misc]


@broken("events-are-lost", "a profiler that loses the users' blocks", "profiler")
def _lost() -> None:
    import sys

    torch.profiler.record_function = lambda name: contextlib.nullcontext()  # type: ignore[assignment,misc]
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").endswith("test_profiler"):
            module.record_function = torch.profiler.record_function  # type: ignore[attr-defined]


@broken("traces-are-empty", "a trace in which nothing is", "profiler")
def _empty() -> None:
    from pathlib import Path

    torch.profiler.profile.export_chrome_trace = lambda self, path: Path(path).write_text('{"traceEvents": []}')  # type: ignore[method-assign,assignment]


@broken("shapes-are-lost", "a profiler that records no shapes", "profiler")
def _shapes() -> None:
    FunctionEvent.input_shapes = property(lambda self: [], lambda self, value: None)  # type: ignore[attr-defined]


@broken("profiling-changes-results", "results that change while they are watched", "profiler")
def _changes() -> None:
    original = torch.Tensor.tanh

    def tanh(self: Any) -> Any:
        watched = torch._C._autograd._profiler_enabled()
        return original(self) * (1.06 if watched else 1)

    torch.Tensor.tanh = tanh  # type: ignore[method-assign,assignment]
