"""The runs of the sample: what a device might report on a night that deserves a given verdict."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone

from unit.render.sample_operators import DEVICES as TESTED
from unit.render.sample_operators import SUITE, operator_outcomes

from ootci.model.build import PluginBuild, StageName, StageResult, StageStatus
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.run import Environment, Links, OperatorCount, ReportState, Run, SuiteReport
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest
from ootci.model.verdict import VerdictName

FIRST_NIGHT = datetime(2026, 11, 8, 4, 10, tzinfo=timezone.utc)
NIGHTS = 14
SHA = "3f9c1d2e4b5a69788796a5b4c3d2e1f00112233a"

V = VerdictName
BROKE_AT = {
    V.INFRA: StageName.CHECK,
    V.BUILD_BROKEN: StageName.BUILD,
    V.IMPORT_BROKEN: StageName.IMPORT,
    V.SMOKE_BROKEN: StageName.SMOKE,
    V.REGRESSED: StageName.INTEGRATION,
    V.LOST_TESTS: StageName.INTEGRATION,
    V.FAILING: StageName.INTEGRATION,
    V.UNSTABLE: StageName.INTEGRATION,
}


OPERATORS = (
    OperatorCount(operator="aten::_copy_from", native=812),
    OperatorCount(operator="aten::add.Tensor", native=431),
    OperatorCount(operator="aten::erfinv", fallback=3),
    OperatorCount(operator="aten::linalg_qr", fallback=12),
    OperatorCount(operator="aten::mm", native=64, fallback=2),
)
CORE_DEFECT = (
    "torch 2.15.0 is at fault, not the device: strided copies go through the host "
    "(https://github.com/pytorch/pytorch/issues/195815). Seen: AssertionError"
)
CAPABILITIES = ("autograd", "mixed_devices", "optimizers", "serialization", "streams_events", "views")
TRACE = """\
device = device(type='{device}', index=0)

    def test_{name}(device):
        base = torch.arange(24, device=device).reshape(4, 6)
        view = base[1:, ::2]
        view.add_(1)
>       assert_close(base.cpu(), expected)
E       AssertionError: Tensor-likes are not equal!
E
E       Mismatched elements: 9 / 24 (37.5%)
E       Greatest absolute difference: 1 at index (1, 0)

integration/test_views.py:48: AssertionError

Reproduce (from the suites folder): python -m pytest 'integration/test_views.py::test_{name}' --device {device}"""
BUILD_LOG = """\
[17/42] Building CXX object CMakeFiles/_C.dir/csrc/Guard.cpp.o
FAILED: CMakeFiles/_C.dir/csrc/Guard.cpp.o
csrc/Guard.cpp:61:8: error: 'void Guard::synchronizeDevice(c10::DeviceIndex) const' marked 'override', but does not
   61 |   void synchronizeDevice(c10::DeviceIndex device) const override;
      |        ^~~~~~~~~~~~~~~~~
ninja: build stopped: subcommand failed."""


def plan_id(number: int) -> str:
    """The identity of a night."""
    return f"{(FIRST_NIGHT + timedelta(days=number)):%Y%m%d-%H%M}-{hashlib.sha256(bytes([number])).hexdigest()[:4]}"


def request(device: str, number: int) -> TorchRequest:
    """The torch of a night; one device's variant was not built that night."""
    if device == "ember" and number == NIGHTS - 1:
        return TorchRequest(
            wanted="nightly",
            wanted_channel=Channel.NIGHTLY,
            channel=Channel.RELEASE,
            version="2.13.0+cpu",
            fallback_reason="no nightly build for the variant rocm7.1 in the last 3 days",
        )
    day = FIRST_NIGHT + timedelta(days=number - 1)
    return TorchRequest(
        wanted="nightly",
        wanted_channel=Channel.NIGHTLY,
        channel=Channel.NIGHTLY,
        version=f"2.15.0.dev{day:%Y%m%d}+cpu",
    )


def run(device: str, number: int, verdict: VerdictName, attempt: int = 1) -> Run:
    """A run that a judge would give the verdict."""
    started = FIRST_NIGHT + timedelta(days=number, minutes=3 + 4 * attempt)
    wanted = request(device, number)
    broke_at = BROKE_AT.get(verdict)
    stages, outcomes = _stages(device, number, verdict, started)
    fetched = broke_at is not StageName.FETCH
    return Run(
        id=f"{plan_id(number)}-{device}",
        plan_id=plan_id(number),
        device=device,
        attempt=attempt,
        started_at=started,
        finished_at=started + timedelta(seconds=188 + number + 7 * len(outcomes) + 11 * len(device)),
        torch_request=wanted,
        torch=TorchBuild(version=wanted.version or "", git_version=SHA) if fetched else None,
        plugin=PluginBuild(
            package=f"torch-{device}",
            version="2.15.0.1",
            source="devices/openreg" if device == "openreg" else f"https://github.com/example/torch-{device}",
            commit=hashlib.sha256(device.encode()).hexdigest()[:40],
        ),
        environment=Environment(
            python="3.11.14",
            os="Linux-6.8.0-x86_64-with-glibc2.39",
            machine="x86_64",
            cpus=16,
            compiler="g++ (Ubuntu 13.3.0) 13.3.0",
            runner=f"{device}-runner-2",
            devices=2,
        ),
        stages=tuple(stages),
        suites=_reports(outcomes, verdict),
        outcomes=tuple(outcomes),
        operators=OPERATORS if outcomes and device == "openreg" else (),
        url="https://github.com/example/pytorch-integration-tests/actions/runs/1234567890",
        links=Links(report="report.xml", log=f"logs/{broke_at}.log" if broke_at else None),
    )


def _stages(
    device: str, number: int, verdict: VerdictName, started: datetime
) -> tuple[list[StageResult], list[Outcome]]:
    """The stages of a run up to the one that broke, and what its tests came to."""
    broke_at = BROKE_AT.get(verdict)
    stages: list[StageResult] = []
    outcomes: list[Outcome] = []
    broken = False
    for position, name in enumerate(
        (
            StageName.FETCH,
            StageName.BUILD,
            StageName.IMPORT,
            StageName.CHECK,
            StageName.SMOKE,
            StageName.INTEGRATION,
            StageName.OPS,
        )
    ):
        if name is StageName.OPS and device not in TESTED:
            continue
        if broken:
            stages.append(StageResult(name=name, status=StageStatus.NOT_RUN, reason=f"{broke_at} did not pass"))
            continue
        tests = operator_outcomes(device, verdict) if name is StageName.OPS else _outcomes(device, name, verdict)
        failed = name is broke_at or any(item.is_failure for item in tests)
        broken = failed and name not in (StageName.SMOKE, StageName.INTEGRATION, StageName.OPS)
        outcomes += tests
        stages.append(
            StageResult(
                name=name,
                status=StageStatus.FAILED if failed else StageStatus.PASSED,
                started_at=started + timedelta(seconds=40 * position),
                duration=(31.2, 148.0, 4.4, 2.1, 9.7, 84.0, 203.0)[position],
                reason=_stage_reason(name) if failed else None,
                excerpt=BUILD_LOG if failed and name is StageName.BUILD else None,
                cached=name is StageName.FETCH and number % 3 == 0,
            )
        )
    return stages, outcomes


def _stage_reason(name: StageName) -> str:
    return {
        StageName.BUILD: "ninja ended with exit code 1",
        StageName.IMPORT: "the plugin's entry point raised ImportError: undefined symbol",
        StageName.CHECK: "0 cards found, 4 expected",
    }.get(name, "tests failed")


def _outcomes(device: str, stage: StageName, verdict: VerdictName) -> list[Outcome]:
    if stage is StageName.SMOKE:
        names = [
            f"smoke/test_tensors.py::test_round_trip[{dtype}]"
            for dtype in ("float32", "float16", "bfloat16", "int64", "bool")
        ]
        names += [
            f"smoke/test_registration.py::test_{what}"
            for what in (
                "name",
                "module",
                "autoload",
                "count",
                "generator",
                "storage",
                "device_index",
                "training_step",
                "manual_seed",
                "save_and_load",
            )
        ]
        return [
            _outcome(
                device,
                test,
                "smoke",
                "tensors" if "round" in test else "registration",
                verdict is V.SMOKE_BROKEN and "bfloat16" in test,
            )
            for test in names
        ]
    if stage is not StageName.INTEGRATION:
        return []
    tests = []
    for capability in CAPABILITIES:
        for index in range(10):
            bad = capability == "views" and index < {V.REGRESSED: 3, V.FAILING: 2, V.UNSTABLE: 1}.get(verdict, 0)
            bad = bad or (verdict is V.KNOWN and capability == "serialization" and index == 1)
            test = f"integration/test_{capability}.py::test_{_TESTS[index]}"
            outcome = _outcome(device, test, "integration", capability, bad)
            if verdict is V.KNOWN and capability == "views" and index == 0:
                outcome = outcome.model_copy(update={"outcome": OutcomeName.XFAILED, "message": CORE_DEFECT})
            elif capability == "streams_events" and index > 6 and device != "openreg":
                outcome = outcome.model_copy(
                    update={"outcome": OutcomeName.UNSUPPORTED, "message": "the device has no priorities for streams"}
                )
            elif verdict is V.LOST_TESTS and capability == "views" and index > 1:
                outcome = outcome.model_copy(
                    update={"outcome": OutcomeName.NOT_RUN, "message": "collected, but never reported"}
                )
            tests.append(outcome)
    return tests


_TESTS = (
    "slice_writes_through",
    "transpose",
    "expand",
    "as_strided",
    "narrow",
    "select",
    "chunk",
    "squeeze",
    "unfold",
    "detach",
)


def _outcome(device: str, test: str, suite: str, capability: str, bad: bool) -> Outcome:
    name = test.partition("::test_")[2]
    return Outcome(
        id=test,
        suite=suite,
        outcome=OutcomeName.FAILED if bad else OutcomeName.PASSED,
        capability=capability,
        title="Writing through a strided view changes its base, and nothing else.",
        duration=0.21,
        message="AssertionError: Tensor-likes are not equal!" if bad else None,
        text=TRACE.format(device=device, name=name) if bad else None,
    )


def _reports(outcomes: list[Outcome], verdict: VerdictName) -> tuple[SuiteReport, ...]:
    reports = []
    for suite in ("smoke", "integration", *({item.suite for item in outcomes} & {SUITE})):
        mine = [item for item in outcomes if item.suite == suite]
        state, detail = ReportState.COMPLETE, None
        if not mine:
            state, detail = ReportState.NOT_EXPECTED, f"{BROKE_AT[verdict].value} did not pass"
        elif verdict is V.LOST_TESTS and suite == "integration":
            state, detail = ReportState.TRUNCATED, "8 of 60 collected tests never reported"
        reports.append(
            SuiteReport(suite=suite, required=True, min_tests=10, state=state, detail=detail, counts=Counts.of(mine))
        )
    return tuple(reports)
