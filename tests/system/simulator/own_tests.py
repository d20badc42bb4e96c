"""PyTorch's own tests and small models on some invented devices, in the sample site only, and not in the year's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from ootci.model.device import RegisteredDevice, Suite
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.run import ReportState, Run, SuiteReport

from .models import SUITE as MODELS
from .models import TIMES, model_tests

SUITE = "upstream"
FILES = {
    "test_torch.py": ("TestTorchDeviceType", 90),
    "test_view_ops.py": ("TestViewOps", 60),
    "test_indexing.py": ("TestIndexing", 50),
    "test_sort_and_select.py": ("TestSortAndSelect", 40),
    "test_reductions.py": ("TestReductions", 80),
    "test_linalg.py": ("TestLinalg", 110),
    "test_nn.py": ("TestNNDeviceType", 90),
    "nn/test_convolution.py": ("TestConvolutionNNDeviceType", 50),
    "test_serialization.py": ("TestSerialization", 20),
}
"""File, class and how many tests it has."""
SHARE = {"openreg": (0.93, 0.95), "borealis": (0.58, 0.74), "ember": (0.31, 0.36)}
"""The part of them that pass, on the first night and on the last."""
ENDING = 6
"""The last nights, on which borealis fails what it passed before: a regression."""


def with_advisory_suites(run: Run, night: int, nights: int) -> Run:
    """A run with the suites ``upstream`` and ``models`` besides, where the device runs them and came to any suite."""
    if not any(report.state is ReportState.COMPLETE for report in run.suites):
        return run
    found = {SUITE: _outcomes(run.device, night, nights), MODELS: model_tests(run.device, night)}
    reports = [_report(suite, outcomes) for suite, outcomes in found.items() if outcomes]
    every = (outcome for outcomes in found.values() for outcome in outcomes)
    return run.model_copy(update={"suites": (*run.suites, *reports), "outcomes": (*run.outcomes, *every)})


def with_advisory_suites_listed(registry: Iterable[RegisteredDevice]) -> tuple[RegisteredDevice, ...]:
    """The devices, as files say that name these suites."""
    found = []
    for item in registry:
        names = [suite for suite, devices in ((SUITE, SHARE), (MODELS, TIMES)) if item.device.name in devices]
        suites = (*item.device.suites, *(Suite(name=name, required=False) for name in names))
        found.append(item.model_copy(update={"device": item.device.model_copy(update={"suites": suites})}))
    return tuple(found)


def _report(suite: str, outcomes: Sequence[Outcome]) -> SuiteReport:
    counts = Counter(item.outcome.value for item in outcomes)
    return SuiteReport(suite=suite, required=False, state=ReportState.COMPLETE, counts=Counts(**counts))


def _outcomes(device: str, night: int, nights: int) -> list[Outcome]:
    if device not in SHARE:
        return []
    first, last = SHARE[device]
    share = first + (last - first) * night / max(1, nights - 1)
    found = []
    for file, (name, count) in FILES.items():
        # Each file is as hard for a device every night, and each test as hard in its file.
        ease = Random(f"{device}/{file}").uniform(0.6, 1.4)  # noqa: S311 - nothing secret
        for number in range(count):
            hardness = Random(f"{device}/{file}/{number}").random()  # noqa: S311 - nothing secret
            passes = hardness < share * ease and not _breaks(device, file, number, nights - night)
            outcome = OutcomeName.SKIPPED if number % 17 == 16 else OutcomeName.PASSED if passes else OutcomeName.FAILED
            message = None if outcome is not OutcomeName.FAILED else "RuntimeError: not implemented on this device"
            test = f"{SUITE}/{file}::{name}PRIVATEUSE1::test_{number:03}_privateuse1"
            found.append(Outcome(id=test, suite=SUITE, outcome=outcome, duration=0.02, message=message))
    return found


def _breaks(device: str, file: str, number: int, left: int) -> bool:
    return device == "borealis" and file == "test_reductions.py" and number < 4 and left <= ENDING
