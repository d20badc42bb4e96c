"""Small valid records, for tests that care about one thing in them only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from ootci.history.store import History
from ootci.model.build import Build, StageName, StageResult, StageStatus
from ootci.model.device import Device, RegisteredDevice
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import LeftOut, Plan, PlannedRun, PlannedSuite, Trigger
from ootci.model.run import ReportState, Run, SuiteReport
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest

FIRST_NIGHT = datetime(2026, 11, 1, 4, 0, tzinfo=timezone.utc)

DEVICE_YAML = """name: {name}
display_name: A device
vendor: A vendor
maintainers: ["@somebody"]
plugin:
  distribution: torch-{name}
  path: {name}
"""


def register(folder: Path, name: str = "dev", extra: str = "") -> Path:
    """Write the file of a device below ``devices/``, with further lines."""
    path = folder / "devices" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{DEVICE_YAML.format(name=name)}{extra}", encoding="utf-8")
    return path


def night(number: int) -> datetime:
    """When the nightly of that number was planned."""
    return FIRST_NIGHT + timedelta(days=number)


def device(name: str = "dev", **values: object) -> RegisteredDevice:
    """A registered device that gates."""
    fields: dict[str, object] = {
        "name": name,
        "display_name": name.capitalize(),
        "vendor": "A vendor",
        "tier": "gating",
        "maintainers": ["@somebody"],
        "plugin": {"distribution": f"torch-{name}", "path": name},
        **values,
    }
    return RegisteredDevice(device=Device.model_validate(fields), path=Path(f"devices/{name}.yaml"), sha256="0" * 64)


def request() -> TorchRequest:
    """A nightly that was wanted and got."""
    return TorchRequest(
        wanted="nightly", wanted_channel=Channel.NIGHTLY, channel=Channel.NIGHTLY, version="2.14.0.dev20261101+cpu"
    )


SUITES = (PlannedSuite(name="smoke"), PlannedSuite(name="integration"))


def plan(
    number: int = 0,
    names: Sequence[str] = ("dev",),
    paused: Mapping[str, str] | None = None,
    suites: tuple[PlannedSuite, ...] = SUITES,
) -> Plan:
    """The plan of a night; ``paused`` gives reasons by device."""
    runs = [
        PlannedRun(
            run_id=f"night{number:03d}-{name}",
            device=name,
            device_sha256="0" * 64,
            torch=request(),
            suites=suites,
            runner=("ubuntu-latest",),
            timeout_minutes=120,
        )
        for name in names
    ]
    left = [LeftOut(device=name, reason=reason, paused=True) for name, reason in (paused or {}).items()]
    return Plan(
        id=f"night{number:03d}",
        created_at=night(number),
        trigger=Trigger(event="local"),
        runs=tuple(runs),
        left_out=tuple(left),
    )


def outcomes(suite: str, **by_name: str) -> tuple[Outcome, ...]:
    """Outcomes of a suite by the test's name: ``outcomes("smoke", one="passed")``."""
    return tuple(
        Outcome(id=f"{suite}/test_x.py::{name}", suite=suite, outcome=OutcomeName(value))
        for name, value in by_name.items()
    )


def run(
    number: int = 0,
    name: str = "dev",
    *,
    smoke: Mapping[str, str] | None = None,
    integration: Mapping[str, str] | None = None,
    stages: Mapping[str, str] | None = None,
    reports: Mapping[str, Mapping[str, object]] | None = None,
    attempt: int = 1,
) -> Run:
    """A run of a night, all well unless told otherwise.

    Args:
        number: the night.
        name: the device.
        smoke: outcomes of the suite smoke, by test.
        integration: outcomes of the suite integration, by test.
        stages: statuses that are not ``passed``.
        reports: fields of a suite's report that are not as its outcomes say.
        attempt: number of the attempt.

    """
    found = {
        "smoke": outcomes("smoke", **({"one": "passed"} if smoke is None else dict(smoke))),
        "integration": outcomes("integration", **({"two": "passed"} if integration is None else dict(integration))),
    }
    suites = []
    for suite, items in found.items():
        fields: dict[str, object] = {"suite": suite, "required": True, "state": ReportState.COMPLETE}
        suites.append(
            SuiteReport.model_validate({**fields, "counts": Counts.of(items), **(reports or {}).get(suite, {})})
        )
    statuses = {stage.value: "passed" for stage in StageName} | dict(stages or {})
    results = [
        StageResult(
            name=StageName(stage),
            status=StageStatus(status),
            started_at=None if status == "not_run" else night(number),
            reason=None if status == "passed" else f"{stage} {status}",
        )
        for stage, status in statuses.items()
    ]
    return Run(
        id=f"night{number:03d}-{name}",
        plan_id=f"night{number:03d}",
        device=name,
        attempt=attempt,
        started_at=night(number),
        finished_at=night(number) + timedelta(minutes=5),
        torch_request=request(),
        torch=TorchBuild(version="2.14.0.dev20261101+cpu"),
        stages=tuple(results),
        suites=tuple(suites),
        outcomes=found["smoke"] + found["integration"],
    )


def build(number: int = 0, name: str = "dev", python: str | None = None) -> Build:
    """A build that passed."""
    stages = [
        StageResult(name=stage, status=StageStatus.PASSED, started_at=night(number), duration=1.0)
        for stage in (StageName.FETCH, StageName.BUILD)
    ]
    return Build(
        run_id=f"night{number:03d}-{name}",
        device=name,
        stages=tuple(stages),
        torch_request=request(),
        torch=TorchBuild(version="2.14.0.dev20261101+cpu"),
        python=python,
        python_version="3.11.0",
    )


def stored(folder: Path, *records: Plan | Run) -> History:
    """A history to which these plans and runs are added."""
    history = History(folder)
    for record in records:
        if isinstance(record, Plan):
            history.append_plan(record)
        else:
            history.append_run(record)
    return history


def whole_runs(history: History, device: str) -> tuple[Run, ...]:
    """Every attempt of a device, oldest first, with the details that are still kept."""
    return tuple(map(history.whole, history.stored_runs(device)))


def detailed_run(number: int, device: str = "dev", attempt: int = 1) -> Run:
    """A run with a failure that has a message, and with durations."""
    plain = run(number, device, smoke={"one": "failed", "two": "passed"}, attempt=attempt)
    return plain.model_copy(
        update={
            "outcomes": tuple(
                item.model_copy(update={"duration": 1.0, "message": "no" if item.is_failure else None})
                for item in plain.outcomes
            )
        }
    )


def four_nights(folder: Path) -> Path:
    """The history of four nights of one device and one of another."""
    plans = (plan(number, ("dev", "other")) for number in range(4))
    stored(folder, *plans, *(detailed_run(number) for number in range(4)), run(3, "other"))
    return folder
