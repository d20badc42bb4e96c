"""The stages import, check and the suites of one device run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from ootci.adapters.python_env import device_environment
from ootci.adapters.terminal import Progress
from ootci.errors import HostFailure, ToolMissing
from ootci.model.build import NOTHING_COLLECTED, Build, StageName, StageResult, StageStatus
from ootci.model.device import Device, Suite
from ootci.model.event import StageEnd, StageStart, append_event
from ootci.model.plan import PlannedRun
from ootci.model.workspace import RunFolder

from .again import SecondAttempts
from .finish import Finish, cut
from .junit import write_junit
from .questions import Questions
from .suite_run import CPUS, SuiteRun
from .supervisor import Supervisor, supervise

WORKERS = min(CPUS, 8)
"""How many workers a device file's ``auto`` means here: each holds torch in memory."""


@dataclass(frozen=True)
class _Stages:
    questions: Questions
    clock: Callable[[], datetime]
    is_expected: Callable[[str], bool]
    options: Mapping[str, tuple[str, ...]]
    choice: tuple[str, ...]

    def stage(self, name: StageName, work: Callable[[], Finish]) -> StageResult:
        """Run one stage and tell the event log."""
        device, folder = self.questions.device.name, self.questions.folder
        started_at, started = self.clock(), time.monotonic()
        append_event(folder.events, StageStart(stage=name), started_at)
        try:
            with self.questions.progress.step(f"{device}: {name.value}"):
                finish = work()
        except ToolMissing as error:
            finish = Finish(StageStatus.FAILED, f"{error.what} ({error.where})")
        except OSError as error:
            # A full disk is not the plugin's fault, so it must not become a failed stage.
            raise HostFailure(
                f"the machine refused: {error.strerror or error}",
                where=f"{device}, stage {name.value}: {error.filename or folder.path}",
                fix="check the disk space and the permissions of the work folder, and run it again",
            ) from error
        seconds = round(time.monotonic() - started, 3)
        end = StageEnd(
            stage=name,
            status=finish.status,
            duration=seconds,
            reason=finish.reason,
            excerpt=finish.excerpt,
            log=finish.log,
            only_tests=finish.only_tests,
            facts=dict(finish.facts),
        )
        append_event(folder.events, end, self.clock())
        return StageResult(
            name=name,
            status=finish.status,
            started_at=started_at,
            duration=seconds,
            reason=finish.reason,
            excerpt=finish.excerpt,
            log=finish.log,
            only_tests=finish.only_tests,
        )

    def suite(self, suite: Suite) -> Finish:
        """Run one suite under supervision."""
        asked, folder, limits = self.questions, self.questions.folder, self.questions.device.limits
        scratch = folder.scratch / suite.name
        shutil.rmtree(scratch, ignore_errors=True)
        run = SuiteRun(
            suite=suite.name,
            device=asked.device.torch_name,
            python=asked.python,
            suites=asked.suites,
            variables=asked.variables,
            events=folder.events,
            logs=folder.logs,
            scratch=scratch,
            suite_seconds=limits.suite_minutes * 60,
            test_seconds=limits.test_seconds,
            deaths_in_a_row=limits.deaths_in_a_row,
            options=self._options(suite),
            choice=self.choice,
        )
        parts = run.side_by_side(WORKERS if limits.workers == "auto" else limits.workers)
        for part in parts:
            part.scratch.mkdir(parents=True)
        supervisors = [Supervisor(part, clock=self.clock, ask_device=asked.answer) for part in parts]
        end = supervise(supervisors, asked.progress)
        flaky = 0
        if end.reason is None:
            again = SecondAttempts(
                run,
                is_expected=self.is_expected,
                deadline=supervisors[0].deadline,
                clock=self.clock,
                progress=asked.progress,
                say=supervisors[0].say,
            )
            flaky = len(again.make(end))
        write_junit(folder.events, folder.junit)
        if end.timed_out:
            return Finish(StageStatus.TIMED_OUT, end.reason, cut(end.tail), end.log)
        if end.reason is not None:
            status = StageStatus.FAILED if end.orderly else StageStatus.CRASHED
            return Finish(status, end.reason, cut(end.tail), end.log)
        if not end.collected:
            return Finish(StageStatus.FAILED, NOTHING_COLLECTED, cut(end.tail), end.log)
        if end.failed:
            reason = f"{len(end.failed)} of {len(end.collected)} tests failed"
            reason += f", {flaky} of them passed when run again" if flaky else ""
            return Finish(StageStatus.FAILED, reason, None, end.log, only_tests=True)
        return Finish(StageStatus.PASSED, log=end.log)

    def _options(self, suite: Suite) -> tuple[str, ...]:
        """What the device file asks of pytest, and where things lie."""
        claims = (
            f"--declared-unsupported={claim.capability.value}={claim.reason}"
            for claim in self.questions.device.unsupported
        )
        dtypes = () if suite.dtypes is None else (f"--ops-dtypes={','.join(suite.dtypes)}",)
        return (*claims, *dtypes, *self.options.get(suite.name, ()))


def test(
    device: Device,
    build: Build,
    folder: RunFolder,
    suites: Path,
    *,
    clock: Callable[[], datetime],
    progress: Progress,
    planned: PlannedRun | None,
    options: Mapping[str, tuple[str, ...]] | None = None,  # noqa: PT028 (this is no test of pytest)
    choice: tuple[str, ...] = (),  # noqa: PT028
) -> tuple[StageResult, ...]:
    """Run import, check and the suites on the device; write junit.xml, events.jsonl and env.json.

    Does nothing but say so when the build did not pass. A failure is a result, not an exception.

    Args:
        device: the device.
        build: what the stage build wrote.
        folder: the run's folder.
        suites: the suites folder.
        clock: gives the aware current time.
        progress: told what is going on.
        planned: what the nightly expects of the run; without it every failing test is a new one.
        options: further options of the suites, by suite.
        choice: options of the suites that choose tests.

    Returns:
        The results of import, check and each suite, in order.

    """
    names = [StageName.IMPORT, StageName.CHECK, *(StageName(suite.name) for suite in device.suites)]
    for path in (folder.junit, folder.events, folder.env):
        path.unlink(missing_ok=True)
    folder.scratch.mkdir(parents=True, exist_ok=True)
    folder.logs.mkdir(parents=True, exist_ok=True)
    bad = next((stage for stage in build.stages if stage.status is not StageStatus.PASSED), None)
    if bad is not None or build.python is None:
        return _not_run(names, f"{bad.name.value if bad else 'build'} did not pass")
    environment = Path(build.python).parent.parent
    variables = device_environment(environment, {**device.environment, "PYTHONDONTWRITEBYTECODE": "1"})
    expected = _expected(planned, build, clock)
    questions = Questions(device, build.python, folder, suites, variables, progress)
    stages = _Stages(questions, clock, expected, options or {}, choice)
    return _run_all(stages, device, names)


def _expected(planned: PlannedRun | None, build: Build, clock: Callable[[], datetime]) -> Callable[[str], bool]:
    """Says whether a test's failure is no news, so that running it again would teach nothing."""
    if planned is None:
        return lambda _: False
    before = frozenset(planned.failing_before or ())
    today, version = clock().astimezone(timezone.utc).date(), build.torch.version if build.torch else None
    known = [item for item in planned.known_failures if not item.expired(today) and item.is_about(version)]
    return lambda test: test in before or any(item.matches(test) for item in known)


def _run_all(stages: _Stages, device: Device, names: list[StageName]) -> tuple[StageResult, ...]:
    seen: list[Finish] = []

    def importing() -> Finish:
        imported, available = stages.questions.probe()
        seen.append(available)
        return imported

    def checking() -> Finish:
        hardware = stages.questions.hardware()
        return replace(
            hardware if not seen or hardware.status is not StageStatus.PASSED else seen[0], facts=hardware.facts
        )

    results = [stages.stage(StageName.IMPORT, importing)]
    if results[0].status is StageStatus.PASSED or device.check.command is not None:
        # Also when the import failed: a missing card explains a failed import, and then the plugin is not to blame.
        results.append(stages.stage(StageName.CHECK, checking))
    for suite in device.suites[: len(device.suites) if _all_passed(results) else 0]:
        results.append(stages.stage(StageName(suite.name), lambda suite=suite: stages.suite(suite)))  # type: ignore[misc]
    first_bad = next((result.name.value for result in results if result.status is not StageStatus.PASSED), "a stage")
    return (*results, *_not_run(names[len(results) :], f"{first_bad} did not pass"))


def _all_passed(results: list[StageResult]) -> bool:
    return len(results) > 1 and all(result.status is StageStatus.PASSED for result in results)


def _not_run(names: list[StageName], reason: str) -> tuple[StageResult, ...]:
    return tuple(StageResult(name=name, status=StageStatus.NOT_RUN, reason=reason) for name in names)
