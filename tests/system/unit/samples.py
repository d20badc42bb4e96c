"""Small valid records, for tests that care about one thing in them only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from operator import attrgetter
from pathlib import Path

from ootci.history.states import OUTCOME_LETTERS
from ootci.history.store import History
from ootci.model.build import Build, StageName, StageResult, StageStatus
from ootci.model.device import Device, RegisteredDevice
from ootci.model.outcome import Attempt, Counts, Outcome, OutcomeName
from ootci.model.plan import LeftOut, Plan, PlannedRun, PlannedSuite, Trigger
from ootci.model.run import ReportState, Run, SuiteReport
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest
from ootci.model.verdict import VerdictName

FIRST_NIGHT = datetime(2026, 11, 1, 4, 0, tzinfo=timezone.utc)
NIGHTLY = "2.14.0.dev20261101+cpu"

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
    return TorchRequest(wanted="nightly", wanted_channel=Channel.NIGHTLY, channel=Channel.NIGHTLY, version=NIGHTLY)


VERDICTS = {
    "o": VerdictName.OK,
    "k": VerdictName.KNOWN,
    "u": VerdictName.UNSTABLE,
    "f": VerdictName.FAILING,
    "l": VerdictName.LOST_TESTS,
    "r": VerdictName.REGRESSED,
    "s": VerdictName.SMOKE_BROKEN,
    "m": VerdictName.IMPORT_BROKEN,
    "b": VerdictName.BUILD_BROKEN,
    "i": VerdictName.INFRA,
    "n": VerdictName.NO_DATA,
    ".": VerdictName.NEVER_RAN,
    "p": VerdictName.PAUSED,
}
"""A letter for each verdict, by which nights are written."""
OUTCOMES = {letter: name.value for name, letter in OUTCOME_LETTERS.items()} | {"a": "failed"}
"""A letter for each outcome; ``a`` is a failure that passed when it was run again."""
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


def with_runs(made: Plan, **values: object) -> Plan:
    """The plan with other values in each of its runs."""
    return made.model_copy(update={"runs": tuple(item.model_copy(update=values) for item in made.runs)})


def outcomes(suite: str, **by_name: str) -> tuple[Outcome, ...]:
    """Outcomes of a suite by the test's name: ``outcomes("smoke", one="passed")``."""
    return tuple(
        Outcome(id=f"{suite}/{name if '::' in name else f'test_x.py::{name}'}", suite=suite, outcome=OutcomeName(value))
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
    suite: str = "integration",
) -> Run:
    """A run of a night, all well unless told otherwise.

    Args:
        number: the night.
        name: the device.
        smoke: outcomes of the suite smoke, by test.
        integration: outcomes of the suite integration, or of the one in its place, by test.
        stages: statuses that do not follow from the outcomes.
        reports: fields of a suite's report that are not as its outcomes say.
        attempt: number of the attempt.
        suite: the suite that is run in place of integration.

    """
    found = {
        "smoke": outcomes("smoke", **({"one": "passed"} if smoke is None else dict(smoke))),
        suite: outcomes(suite, **({"two": "passed"} if integration is None else dict(integration))),
    }
    suites = []
    for each, items in found.items():
        fields: dict[str, object] = {"suite": each, "required": True, "state": ReportState.COMPLETE}
        suites.append(
            SuiteReport.model_validate({**fields, "counts": Counts.of(items), **(reports or {}).get(each, {})})
        )
    failing = {item.suite for items in found.values() for item in items if item.is_failure} - set(stages or {})
    names = [suite if stage is StageName.INTEGRATION else stage.value for stage in StageName]
    statuses = {stage: "failed" if stage in failing else "passed" for stage in names} | dict(stages or {})
    results = [
        StageResult(
            name=stage,
            status=StageStatus(status),
            started_at=None if status == "not_run" else night(number),
            reason=None if status == "passed" else f"{stage} {status}",
            only_tests=stage in failing,
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
        torch=TorchBuild(version=NIGHTLY),
        stages=tuple(results),
        suites=tuple(suites),
        outcomes=found["smoke"] + found[suite],
    )


def changed(record: Run, where: Callable[[Outcome], bool] = attrgetter("is_failure"), **values: object) -> Run:
    """The run with other values in some of its outcomes: the failures, unless told otherwise."""
    items = (item.model_copy(update=values) if where(item) else item for item in record.outcomes)
    return record.model_copy(update={"outcomes": tuple(items)})


def retries(*names: str) -> tuple[Attempt, ...]:
    """Later attempts of a test, by their outcomes."""
    return tuple(Attempt(outcome=OutcomeName(name)) for name in names)


def on_torch(record: Run, version: str, commit: str | None = None, **wanted: object) -> Run:
    """The run on another torch; ``wanted`` are the fields of its request that differ."""
    asked = record.torch_request.model_copy(update={"version": version, **wanted})
    return record.model_copy(update={"torch_request": asked, "torch": TorchBuild(version=version, git_version=commit)})


def on_release(record: Run, version: str = "2.13.0+cpu") -> Run:
    """The run on a release that stood in for the nightly."""
    return on_torch(record, version, channel=Channel.RELEASE, fallback_reason="no index")


def nights(*runs: Run | None) -> list[Plan | Run]:
    """A plan for each night, each with the run that was reported, if any."""
    return [record for number, made in enumerate(runs) for record in (plan(number), made) if record is not None]


def lettered(number: int, letter: str) -> Run:
    """A run in which the test `two` has the outcome of a letter; ``.`` is a run without it, ``a`` passed again."""
    made = run(number, integration={} if letter == "." else {"two": OUTCOMES[letter]})
    return changed(made, attempts=retries("passed") if letter == "a" else ())


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
        torch=TorchBuild(version=NIGHTLY),
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
    return changed(changed(plain, message="no"), lambda _: True, duration=1.0)


def four_nights(folder: Path) -> Path:
    """The history of four nights of one device and one of another."""
    plans = (plan(number, ("dev", "other")) for number in range(4))
    stored(folder, *plans, *(detailed_run(number) for number in range(4)), run(3, "other"))
    return folder
