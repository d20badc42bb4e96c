"""Latencies of the reference device, each beside the cpu's for the same work. Run by the device's own Python.

Prints JSON: for each row the medians in microseconds on the device and on the cpu, and the spread of the repetitions.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

import torch

CALLS = 500
REPETITIONS = 15
MIB = 1 << 20


def measure(call: Callable[[], object], wait: Callable[[], object]) -> list[float]:
    """Microseconds per call, for each repetition of ``CALLS`` calls that are waited for together."""
    for _ in range(CALLS // 5):
        call()
    wait()
    seen = []
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        for _ in range(CALLS):
            call()
        wait()
        seen.append((time.perf_counter() - began) / CALLS * 1e6)
    return seen


def nothing() -> None:
    """The cpu has finished when a call returns."""


def rows() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """What is measured: by name, the call on the device and the same on the cpu."""
    on, off = torch.ones(16, device="openreg"), torch.ones(16)
    host, target, plain = torch.ones(MIB // 4), torch.empty(MIB // 4, device="openreg"), torch.empty(MIB // 4)
    back = torch.empty(MIB // 4)
    return {
        "add, 16 numbers": (lambda: on + on, lambda: off + off),
        "kernel launch (fill_, 16 numbers)": (lambda: on.fill_(1), lambda: off.fill_(1)),
        "host to device, 1 MiB": (lambda: target.copy_(host), lambda: plain.copy_(host)),
        "device to host, 1 MiB": (lambda: back.copy_(target), lambda: back.copy_(plain)),
        "fallback (cumsum, 16 numbers)": (lambda: on.cumsum(0), lambda: off.cumsum(0)),
        "fallback (cumsum, 1 MiB)": (lambda: target.cumsum(0), lambda: host.cumsum(0)),
    }


def main() -> None:
    """Measure every row, the device and the cpu by turns, so that both meet the same disturbances."""
    torch.set_num_threads(1)
    found = {}
    for name, (device, cpu) in rows().items():
        ours, peer = measure(device, torch.accelerator.synchronize), measure(cpu, nothing)
        found[name] = {
            "device_us": statistics.median(ours),
            "cpu_us": statistics.median(peer),
            "noise": (max(ours) - min(ours)) / statistics.median(ours),
        }
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
