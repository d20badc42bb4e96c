"""An invented but plausible registry with two weeks of nights: every verdict, every kind of fact, no real vendor.

Verdicts are written down here and not judged, so that these tests say what the pages make of them and nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from unit.render.sample_clusters import CLUSTERS, with_spells
from unit.render.sample_operators import DEVICES as TESTED
from unit.render.sample_predicted import COMPAT, PREDICTED
from unit.render.sample_runs import BROKE_AT, FIRST_NIGHT, NIGHTS, SHA, plan_id, request, run
from unit.samples import VERDICTS

from ootci.history.difference import changes_between, newly_failing
from ootci.history.expectations import review_known, review_unsupported
from ootci.history.store import History
from ootci.history.stored import stored
from ootci.history.tables import TestTable
from ootci.model.capability import Capability
from ootci.model.device import (
    BadRange,
    Device,
    GitSource,
    KnownFailure,
    Links,
    Paused,
    Plugin,
    RegisteredDevice,
    Tier,
    Torch,
    Unsupported,
)
from ootci.model.outcome import Counts
from ootci.model.plan import LeftOut, Plan, PlannedRun, PlannedSuite, Trigger
from ootci.model.run import Run
from ootci.model.verdict import (
    AS_EXPECTED,
    BROKEN,
    DeviceVerdict,
    ExpectationReview,
    ExpectationState,
    Gate,
    Night,
    VerdictName,
    Verdicts,
)

NOW = datetime(2026, 11, 21, 5, 2, 30, tzinfo=timezone.utc)
ADDRESS = "https://example.github.io/tests/"
STALE_AT = datetime(2026, 11, 22, 16, 10, tzinfo=timezone.utc)

V = VerdictName
LETTERS = {**VERDICTS, " ": None}


@dataclass(frozen=True)
class Invented:
    """One device of the sample: who it is, and a letter for each night."""

    name: str
    display_name: str
    vendor: str
    tier: Tier
    nights: str


DEVICES = (
    Invented("openreg", "OpenReg", "pytorch-integration-tests", Tier.REFERENCE, "oooooooooooooo"),
    Invented("borealis", "Borealis B2", "Borealis Compute", Tier.GATING, "oooooooooooour"),
    Invented("cobalt", "Cobalt Tensor Card", "Cobalt Semiconductors", Tier.GATING, "ooooiooooooooo"),
    Invented("dune", "Dune NPU", "Dune Systems", Tier.GATING, "ooooooooooobbb"),
    Invented("ember", "Ember X1", "Ember AI", Tier.ADVISORY, "ffffooooooooko"),
    Invented("fjord", "Fjord 400", "Fjord Accelerators", Tier.ADVISORY, "ooooooooooonnn"),
    Invented("garnet", "Garnet", "Garnet Labs", Tier.ADVISORY, "ooooooooooiooi"),
    Invented("halo", "Halo Edge", "Halo", Tier.ADVISORY, "ooofffpppppppp"),
    Invented("indigo", "Indigo Q", "Indigo Devices", Tier.ADVISORY, "            .."),
    Invented("jasper", "Jasper DSP", "Jasper Works", Tier.ADVISORY, "ooorffffffffff"),
    Invented("kestrel", "Kestrel", "Kestrel Microsystems", Tier.ADVISORY, "oooooooooommmm"),
    Invented("lumen", "Lumen Photonic", "Lumen", Tier.ADVISORY, "kkkkkkkkkkkkkk"),
    Invented("marble", "Marble S", "Marble Silicon", Tier.ADVISORY, "oooooooooosssl"),
    Invented("nimbus", "Nimbus", "Nimbus", Tier.ADVISORY, "oouoouoooouoos"),
    Invented("opal", "Opal", "Opal Computing", Tier.ADVISORY, "ooooouuoouuouu"),
)
REASONS = {
    V.PAUSED: "The only machine is being moved until March; `ootci nightly` runs it there.",
    V.NEVER_RAN: "has never reported",
    V.NO_DATA: "no report received",
    V.INFRA: "check: 0 cards found, 2 expected",
    V.BUILD_BROKEN: "build: ninja ended with exit code 1",
    V.IMPORT_BROKEN: "import: the plugin's entry point raised ImportError: undefined symbol: _ZN2at6detail5hooksEv",
    V.SMOKE_BROKEN: "1 test of smoke failed, first smoke/test_tensors.py::test_round_trip[bfloat16]",
    V.REGRESSED: "2 tests started failing",
    V.LOST_TESTS: "integration: 8 of 60 collected tests never reported",
    V.FAILING: "2 tests failing, first integration/test_views.py::test_slice_writes_through",
    V.UNSTABLE: "1 test passed in one attempt and failed in the other",
    V.KNOWN: "1 known failure, nothing else",
}

BAD_RANGE = BadRange(
    first=FIRST_NIGHT.date() + timedelta(days=4),
    last=FIRST_NIGHT.date() + timedelta(days=4),
    reason="The runners had no network.",
    link="https://example.com/incidents/7",
)


def _known(test: str, reason: str, issue: int, expires: str, torch: str | None = None) -> KnownFailure:
    return KnownFailure.model_validate(
        {
            "id": f"integration/test_{test}",
            "reason": reason,
            "issue": f"https://github.com/example/torch-lumen/issues/{issue}",
            "added": "2026-10-01",
            "expires": expires,
            "torch": torch,
        }
    )


KNOWN_FAILURES = (
    _known("views.py::test_c*", "Strided stores are being written.", 31, "2027-01-31"),
    _known("serialization.py::test_transpose", "Strided stores are being written.", 31, "2027-01-31", ">=2.14"),
    _known("views.py::test_gone[*]", "The kernel is slow.", 8, "2027-02-28"),
    _known("optimizers.py::*", "No fused kernels yet.", 12, "2026-11-01"),
    _known("autograd.py::*", "A defect of an old torch.", 3, "2027-01-31", "<2.14"),
)
UNSUPPORTED = (
    Unsupported(capability=Capability.QUANTIZATION, reason="The card has no integer matrix units."),
    Unsupported(capability=Capability.STREAMS_EVENTS, reason="One queue only."),
)
DECLARED = tuple(
    ExpectationReview(declared=name, state=ExpectationState.WORKS, passing=3, seen=3)
    for name in ("exclusions: TestFFT.test_fft_round_trip", "operators: mul")
)


@dataclass(frozen=True)
class Sample:
    """What the stage render is given."""

    registry: tuple[RegisteredDevice, ...]
    history: History
    verdicts: Verdicts


def sample(folder: Path, planned: Callable[[Plan], Plan] = lambda plan: plan) -> Sample:
    """The whole sample, with its history in a folder; ``planned`` may change each plan."""
    history = History(folder)
    for number in range(NIGHTS):
        history.append_plan(planned(_plan(number)))
    for compat in COMPAT:
        history.append_compat(compat)
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
        verdict_of_it = _verdict(invented, runs)
        verdicts.append(with_spells(verdict_of_it) if invented.name == "borealis" else verdict_of_it)
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
        paused=Paused(reason=REASONS[V.PAUSED]) if invented.nights.endswith("p") else None,
        plugin=Plugin(distribution=f"torch-{invented.name}", path="openreg")
        if reference
        else Plugin(
            distribution=f"torch-{invented.name}",
            git=GitSource(url=f"https://github.com/example/torch-{invented.name}.git", ref="main"),
        ),
        bad_ranges=(BAD_RANGE,) if invented.name == "cobalt" else (),
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
                    suites=tuple(
                        PlannedSuite.model_validate({"name": name})
                        for name in ("smoke", "integration", *(["ops"] if device.name in TESTED else []))
                    ),
                    runner=device.runner.labels,
                    timeout_minutes=120,
                    known_failures=KNOWN_FAILURES if device.name == "lumen" else (),
                    unsupported=UNSUPPORTED if device.name == "lumen" else (),
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
            reason=None if LETTERS[letter] in AS_EXPECTED else f"what the judge found on night {number}",
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
    earlier = next((runs[number] for number in range(NIGHTS - 2, -1, -1) if number in runs), None)
    table = TestTable()
    before, now = (stored(item, table) if item else None for item in (earlier, last))
    return DeviceVerdict(
        device=invented.name,
        verdict=verdict,
        reason=REASONS.get(verdict) or f"{last.counts.passed} of {last.counts.executed} tests passed",
        verdict_since=nights[row].date,
        broken_since=None if verdict is V.PAUSED else _broken_since(nights),
        nights=len(nights) - row,
        broke_at=BROKE_AT.get(verdict),
        run_id=last.id if last else None,
        reported_at=last.finished_at if last else None,
        torch_request=last.torch_request if last else None,
        torch=last.torch if last else None,
        plugin=last.plugin if last else None,
        counts=last.counts if last else Counts(),
        new_failures=len(newly_failing(before, now)) if last and last.channel and now else 0,
        changes=changes_between(before, now) if last and last.channel and now else (),
        known_failures=review_known(_plan(NIGHTS - 1), invented.name, now),
        unsupported=review_unsupported(_plan(NIGHTS - 1), invented.name, now)
        + (DECLARED if invented.name == "lumen" else ()),
        history=nights,
    )


def _broken_since(nights: tuple[Night, ...]) -> datetime | None:
    first = None
    for night in reversed(nights):
        if night.verdict in AS_EXPECTED:
            break
        first = night.date if night.verdict in BROKEN else first
    return first


def _verdicts(devices: tuple[DeviceVerdict, ...]) -> Verdicts:
    return Verdicts(
        judged_at=NOW,
        stale_at=STALE_AT,
        plan_id=plan_id(NIGHTS - 1),
        planned_at=FIRST_NIGHT + timedelta(days=NIGHTS - 1),
        summary=f"Nightly {NOW:%Y-%m-%d} on torch 2.15.0.dev20261120+cpu ({SHA[:7]}): 4 of 14 devices as expected"
        " · 3 newly broken · 1 no report · 1 infrastructure · 1 never reported · 1 paused.",
        gate=Gate(
            answer="no",
            blocking=("borealis", "dune"),
            reason="blocked by 2 of 4 gating devices: Borealis B2 (REGRESSED), Dune NPU (BUILD_BROKEN)",
        ),
        clusters=CLUSTERS,
        devices=devices,
        predicted=PREDICTED,
    )
