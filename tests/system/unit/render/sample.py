"""An invented but plausible registry with two weeks of nights: every verdict, every kind of fact, no real vendor.

Verdicts are written down here and not judged, so that these tests say what the pages make of them and nothing else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from ootci.history.compare import changes_between, new_failures
from ootci.history.store import History
from ootci.model.build import PluginBuild, StageName, StageResult, StageStatus
from ootci.model.device import Device, GitSource, Links, Paused, Plugin, RegisteredDevice, Tier, Torch
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import LeftOut, Plan, PlannedRun, Trigger
from ootci.model.run import Environment, ReportState, Run, SuiteReport
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest
from ootci.model.verdict import DeviceVerdict, Gate, Night, VerdictName, Verdicts

FIRST_NIGHT = datetime(2026, 11, 8, 4, 10, tzinfo=timezone.utc)
NOW = datetime(2026, 11, 21, 5, 2, 30, tzinfo=timezone.utc)
NIGHTS = 14
SHA = "3f9c1d2e4b5a69788796a5b4c3d2e1f00112233a"

V = VerdictName
LETTERS = {
    "o": V.OK,
    "k": V.KNOWN,
    "u": V.UNSTABLE,
    "f": V.FAILING,
    "l": V.LOST_TESTS,
    "r": V.REGRESSED,
    "s": V.SMOKE_BROKEN,
    "m": V.IMPORT_BROKEN,
    "b": V.BUILD_BROKEN,
    "i": V.INFRA,
    "n": V.NO_DATA,
    ".": V.NEVER_RAN,
    "p": V.PAUSED,
    " ": None,
}
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


@dataclass(frozen=True)
class Invented:
    """One device of the sample: who it is, and a letter for each night."""

    name: str
    display_name: str
    vendor: str
    tier: Tier
    nights: str
    reason: str
    more: dict[str, object] = field(default_factory=dict)


DEVICES = (
    Invented("openreg", "OpenReg", "pytorch-integration-tests", Tier.REFERENCE, "oooooooooooooo", "75 of 75 executed tests passed"),
    Invented("borealis", "Borealis B2", "Borealis Compute", Tier.GATING, "oooooooooooour", "2 tests newly failing since the run before"),
    Invented("cobalt", "Cobalt Tensor Card", "Cobalt Semiconductors", Tier.GATING, "ooooiooooooooo", "75 of 75 executed tests passed"),
    Invented("dune", "Dune NPU", "Dune Systems", Tier.GATING, "ooooooooooobbb", "build: ninja ended with exit code 1"),
    Invented("ember", "Ember X1", "Ember AI", Tier.ADVISORY, "ffffooooooooko", "75 of 75 executed tests passed"),
    Invented("fjord", "Fjord 400", "Fjord Accelerators", Tier.ADVISORY, "ooooooooooonnn", "the nightly expected a report and got none"),
    Invented("garnet", "Garnet", "Garnet Labs", Tier.ADVISORY, "ooooooooooiooi", "check: 0 cards found, 4 expected"),
    Invented("halo", "Halo Edge", "Halo", Tier.ADVISORY, "ooofffpppppppp", "The only machine is being moved until March."),
    Invented("indigo", "Indigo Q", "Indigo Devices", Tier.ADVISORY, "            ..", "nightlies expect it, but it has never reported"),
    Invented("jasper", "Jasper DSP", "Jasper Works", Tier.ADVISORY, "ooorffffffffff", "2 tests failing, first integration/test_optimizers.py::test_step[adamw-foreach]"),
    Invented("kestrel", "Kestrel", "Kestrel Microsystems", Tier.ADVISORY, "oooooooooommmm", "import: the plugin's entry point raised ImportError: undefined symbol: _ZN2at6detail20getPrivateUse1HooksEv"),
    Invented("lumen", "Lumen Photonic", "Lumen", Tier.ADVISORY, "kkkkkkkkkkkkkk", "1 known failure, nothing else"),
    Invented("marble", "Marble S", "Marble Silicon", Tier.ADVISORY, "oooooooooosssl", "integration: the report is cut off; 12 of 60 collected tests never reported"),
    Invented("nimbus", "Nimbus", "Nimbus", Tier.ADVISORY, "oouoouoooouoos", "1 test of smoke failed, first smoke/test_tensors.py::test_round_trip[bfloat16]"),
    Invented("opal", "Opal", "Opal Computing", Tier.ADVISORY, "ooooouuoouuouu", "1 test passed in one attempt and failed in the other"),
)  # fmt: skip

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
csrc/Guard.cpp:61:8: error: 'void dune::Guard::synchronizeDevice(c10::DeviceIndex) const' marked 'override', but does not override
   61 |   void synchronizeDevice(c10::DeviceIndex device) const override;
      |        ^~~~~~~~~~~~~~~~~
ninja: build stopped: subcommand failed."""


@dataclass(frozen=True)
class Sample:
    """What the stage render is given."""

    registry: tuple[RegisteredDevice, ...]
    history: History
    verdicts: Verdicts


def sample(folder: Path) -> Sample:
    """The whole sample, with its history in a folder."""
    history = History(folder)
    for number in range(NIGHTS):
        history.append_plan(_plan(number))
    verdicts = []
    for invented in DEVICES:
        runs = {}
        for number, letter in enumerate(invented.nights):
            verdict = LETTERS[letter]
            if verdict in (None, V.NEVER_RAN, V.NO_DATA, V.PAUSED):
                continue
            attempt = 1
            if (invented.name, number) == ("borealis", NIGHTS - 1):
                history.append_run(run(invented.name, number, V.INFRA))
                attempt = 2
            runs[number] = run(invented.name, number, verdict, attempt)
            history.append_run(runs[number])
        verdicts.append(_verdict(invented, runs))
    return Sample(registry(), history, _verdicts(tuple(verdicts)))


def registry() -> tuple[RegisteredDevice, ...]:
    """The invented registry, in registry order."""
    return tuple(registered(_device(invented)) for invented in DEVICES)


def registered(device: Device) -> RegisteredDevice:
    """A device as if it had been read from a file."""
    text = device.model_dump_json().encode()
    return RegisteredDevice(
        device=device, path=Path(f"devices/{device.name}.yaml"), sha256=hashlib.sha256(text).hexdigest()
    )


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
    stages, outcomes = [], []
    broken = False
    for position, name in enumerate(
        (StageName.FETCH, StageName.BUILD, StageName.IMPORT, StageName.CHECK, StageName.SMOKE, StageName.INTEGRATION)
    ):
        if broken:
            stages.append(StageResult(name=name, status=StageStatus.NOT_RUN, reason=f"{broke_at.value} did not pass"))
            continue
        tests = _outcomes(device, name, verdict)
        failed = name is broke_at or any(item.is_failure for item in tests)
        broken = failed and name not in (StageName.SMOKE, StageName.INTEGRATION)
        outcomes += tests
        stages.append(
            StageResult(
                name=name,
                status=StageStatus.FAILED if failed else StageStatus.PASSED,
                started_at=started + timedelta(seconds=40 * position),
                duration=(31.2, 148.0, 4.4, 2.1, 9.7, 84.0)[position],
                reason=_stage_reason(name) if failed else None,
                excerpt=BUILD_LOG if failed and name is StageName.BUILD else None,
                cached=name is StageName.FETCH and number % 3 == 0,
            )
        )
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
        url="https://github.com/example/pytorch-integration-tests/actions/runs/1234567890",
    )


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
            test = f"integration/test_{capability}.py::test_{_TESTS[index]}"
            outcome = _outcome(device, test, "integration", capability, bad)
            if verdict is V.KNOWN and capability == "views" and index == 0:
                outcome = outcome.model_copy(
                    update={"outcome": OutcomeName.XFAILED, "message": "strided copies are not native yet"}
                )
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
    for suite in ("smoke", "integration"):
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


def _device(invented: Invented) -> Device:
    reference = invented.tier is Tier.REFERENCE
    return Device(
        name=invented.name,
        display_name=invented.display_name,
        vendor=invented.vendor,
        description="The reference device, an accelerator simulated on the CPU. When it breaks, PyTorch broke."
        if reference
        else None,
        tier=invented.tier,
        maintainers=(f"@{invented.name}-maintainers",),
        links=Links(
            homepage=f"https://example.com/{invented.name}",
            issues=f"https://github.com/example/torch-{invented.name}/issues",
        ),
        paused=Paused(reason=invented.reason) if invented.nights.endswith("p") else None,
        plugin=Plugin(distribution=f"torch-{invented.name}", path="openreg")
        if reference
        else Plugin(
            distribution=f"torch-{invented.name}",
            git=GitSource(url=f"https://github.com/example/torch-{invented.name}.git", ref="main"),
        ),
        torch=Torch(variant="rocm7.1" if invented.name == "ember" else "cpu"),
    )


def _plan(number: int) -> Plan:
    runs, left_out = [], []
    for item in registry():
        device = item.device
        letter = next(invented.nights[number] for invented in DEVICES if invented.name == device.name)
        if letter == "p":
            left_out.append(LeftOut(device=device.name, reason=device.paused.reason, paused=True))
        elif letter != " ":
            runs.append(
                PlannedRun(
                    run_id=f"{plan_id(number)}-{device.name}",
                    device=device.name,
                    device_sha256=item.sha256,
                    torch=request(device.name, number),
                    runner=device.runner.labels,
                    timeout_minutes=120,
                )
            )
    return Plan(
        id=plan_id(number),
        created_at=FIRST_NIGHT + timedelta(days=number),
        trigger=Trigger(event="schedule"),
        runs=tuple(runs),
        left_out=tuple(left_out),
    )


def _verdict(invented: Invented, runs: dict[int, Run]) -> DeviceVerdict:
    nights = tuple(
        Night(
            plan_id=plan_id(number),
            date=FIRST_NIGHT + timedelta(days=number),
            verdict=LETTERS[letter],
            run_id=runs[number].id if number in runs else None,
        )
        for number, letter in enumerate(invented.nights)
        if LETTERS[letter] is not None
    )
    verdict = nights[-1].verdict
    row = len(nights)
    while row and nights[row - 1].verdict is verdict:
        row -= 1
    last = runs.get(NIGHTS - 1)
    before = next((runs[number] for number in range(NIGHTS - 2, -1, -1) if number in runs), None)
    return DeviceVerdict(
        device=invented.name,
        verdict=verdict,
        reason=invented.reason,
        since=nights[row].date,
        nights=len(nights) - row,
        broke_at=BROKE_AT.get(verdict),
        run_id=last.id if last else None,
        reported_at=last.finished_at if last else None,
        torch_request=last.torch_request if last else None,
        torch=last.torch if last else None,
        counts=last.counts if last else Counts(),
        new_failures=new_failures(before, last) if last else 0,
        changes=changes_between(before, last) if last else (),
        history=nights,
    )


def _verdicts(devices: tuple[DeviceVerdict, ...]) -> Verdicts:
    return Verdicts(
        judged_at=NOW,
        plan_id=plan_id(NIGHTS - 1),
        planned_at=FIRST_NIGHT + timedelta(days=NIGHTS - 1),
        summary=f"Nightly {plan_id(NIGHTS - 1)}: 4 of 14 devices as expected · 3 newly broken · 1 silent · 1 without working infrastructure · 1 never ran · 1 paused.",
        gate=Gate(
            may_merge=False,
            blocking=("borealis", "dune"),
            reason="2 of 4 gating devices not as expected: borealis (REGRESSED), dune (BUILD_BROKEN)",
        ),
        devices=devices,
    )
