"""The stages import, check and the suites of one device run."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from ootci.adapters.progress import Progress
from ootci.adapters.python_env import device_environment
from ootci.errors import HostFailure, ToolMissing
from ootci.model.build import NOTHING_COLLECTED, Build, StageName, StageResult, StageStatus
from ootci.model.device import UPSTREAM, UPSTREAM_CONFIG, Device, Suite
from ootci.model.event import Declarations, DeclarationTried, StageEnd, StageStart, append_event
from ootci.model.outcome import OutcomeName
from ootci.model.plan import PlannedRun
from ootci.model.workspace import RunFolder

from .again import LaterAttempts
from .finish import Finish, cut
from .own_suite import run_own_suite
from .questions import Questions
from .suite_run import COLLECT_SECONDS, CPUS, SuiteRun
from .supervisor import Supervisor, supervise

WORKERS = min(CPUS, 8)
"""How many workers a device file's ``auto`` means here: each holds torch in memory."""


@dataclass(frozen=True)
class _Stages:
    questions: Questions
    clock: Callable[[], datetime]
    is_expected: Callable[[str], bool]
    not_retried: Callable[[str], bool]
    options: Mapping[str, tuple[str, ...]]
    choice: tuple[str, ...]

    def stage(self, name: str, work: Callable[[], Finish]) -> StageResult:
        """Run one stage and tell the event log."""
        device, folder = self.questions.device.name, self.questions.folder
        started_at, started = self.clock(), time.monotonic()
        append_event(folder.events, StageStart(stage=name), started_at)
        try:
            with self.questions.progress.step(f"{device}: {name}"):
                finish = work()
        except ToolMissing as error:
            finish = Finish(StageStatus.FAILED, f"{error.what} ({error.where})")
        except OSError as error:
            # A full disk is not the plugin's fault, so it is not a failed stage.
            raise HostFailure(
                f"the machine refused: {error.strerror or error}",
                where=f"{device}, stage {name}: {error.filename or folder.path}",
                fix="check the disk space and the permissions of the work folder, and run it again",
            ) from error
        end = StageEnd(stage=name, duration=round(time.monotonic() - started, 3), **vars(finish))
        append_event(folder.events, end, self.clock())
        return end.result(started_at)

    def suite(self, suite: Suite) -> Finish:
        """Run one suite under supervision."""
        asked, folder, limits = self.questions, self.questions.folder, self.questions.device.limits
        scratch = folder.scratch / suite.name
        shutil.rmtree(scratch, ignore_errors=True)
        if not suite.is_ours:
            scratch.mkdir(parents=True)
            return run_own_suite(suite, self.options[suite.name], asked, scratch, self.clock)
        run = self._suite_run(suite, folder.events, scratch, limits.suite_minutes * 60)
        supervisors = self._supervisors(run)
        end = supervise(supervisors, asked.progress)
        flaky = 0
        if end.reason is None:
            again = LaterAttempts(
                run,
                is_expected=self.is_expected,
                not_retried=self.not_retried,
                deadline=supervisors[0].deadline,
                clock=self.clock,
                progress=asked.progress,
                say=supervisors[0].say,
            )
            flaky = len(again.make(end))
        if end.timed_out:
            return Finish(StageStatus.TIMED_OUT, end.reason, cut(end.tail), end.log)
        if end.reason is not None:
            status = StageStatus.FAILED if end.orderly else StageStatus.CRASHED
            return Finish(status, end.reason, cut(end.tail), end.log)
        if not end.collected:
            return Finish(StageStatus.FAILED, NOTHING_COLLECTED, cut(end.tail), end.log)
        if end.failed:
            reason = f"{len(end.failed)} of {len(end.collected)} tests failed"
            reason += f", {flaky} of them passed on retry" if flaky else ""
            return Finish(StageStatus.FAILED, reason, None, end.log, only_tests=True)
        return Finish(StageStatus.PASSED, log=end.log)

    def declarations(self, suite: Suite, seconds: float) -> None:
        """Run the tests that PyTorch does not make because of a suite's declarations, and tell the outcome of each.

        Their own events are no part of the run's: no outcome and no verdict rests on them. A declaration of which some
        tests did not run in time has not passed.
        """
        folder = self.questions.folder
        scratch = folder.scratch / "declarations"
        shutil.rmtree(scratch, ignore_errors=True)
        run = self._suite_run(suite, scratch / "events.jsonl", scratch, seconds, "--upstream-declared")
        with self.questions.progress.step(f"{self.questions.device.name}: declarations of {suite.name}"):
            end = supervise(self._supervisors(run), self.questions.progress)
        tried: dict[str, DeclarationTried] = {}
        for test_id, test in end.collected.items():
            outcome = end.ended.get(test_id, OutcomeName.NOT_RUN)
            if test.declaration is None or outcome in (OutcomeName.SKIPPED, OutcomeName.XFAILED):
                continue
            before = tried.get(test.declaration, DeclarationTried())
            passed = before.passed + (outcome is OutcomeName.PASSED)
            tried[test.declaration] = DeclarationTried(passed=passed, seen=before.seen + 1)
        append_event(folder.events, Declarations(tried=tried), self.clock())

    def _suite_run(self, suite: Suite, events: Path, scratch: Path, seconds: float, *options: str) -> SuiteRun:
        asked, limits = self.questions, self.questions.device.limits
        return SuiteRun(
            suite=suite.name,
            device=asked.device.torch_name,
            python=asked.python,
            suites=asked.suites,
            variables=asked.variables,
            events=events,
            logs=asked.folder.logs,
            scratch=scratch,
            suite_seconds=seconds,
            test_seconds=limits.test_seconds,
            collect_seconds=max(COLLECT_SECONDS, limits.test_seconds),
            deaths_in_a_row=limits.deaths_in_a_row,
            options=(*self._options(suite), *options),
            choice=self.choice,
        )

    def _supervisors(self, run: SuiteRun) -> list[Supervisor]:
        workers = self.questions.device.limits.workers
        parts = run.side_by_side(WORKERS if workers == "auto" else workers)
        for part in parts:
            part.scratch.mkdir(parents=True)
        left_out, answer = set[str](), self.questions.answer
        return [Supervisor(part, clock=self.clock, ask_device=answer, left_out=left_out) for part in parts]

    def _options(self, suite: Suite) -> tuple[str, ...]:
        """Options for pytest from the device file, and the paths that a suite needs.

        The configuration of PyTorch's tests is passed in a file, because it may be longer than a command line.
        """
        claims = (
            f"--declared-unsupported={claim.capability.value}={claim.reason}"
            for claim in self.questions.device.unsupported
        )
        dtypes = () if suite.dtypes is None else (f"--ops-dtypes={','.join(suite.dtypes)}",)
        files = () if suite.files is None else (f"--upstream-files={','.join(suite.files)}",)
        config = suite.model_dump_json(include=set(UPSTREAM_CONFIG), exclude_none=True)
        if config != "{}":
            path = self.questions.folder.logs / "upstream.config.json"
            path.write_text(config, encoding="utf-8")
            files = (*files, f"--upstream-config={path.resolve()}")
        return (*claims, *dtypes, *files, *self.options.get(suite.name, ()))


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
    """Run import, check and the suites on the device; write events.jsonl and env.json.

    When the build did not pass, every stage is ``not_run``. A failure is a result, not an exception.

    Args:
        planned: what the nightly expects of the run; without it every failing test is a new one.
        options: further options of the suites, by suite; of a suite that the vendor brings its command.
        choice: options of the suites that choose tests. Of a run in shares the first runs the suites that the vendor
            brings, because they cannot be divided.

    Returns:
        The results of import, check and each suite, in order.

    """
    suites_here = [suite for suite in device.suites if suite.is_ours or _is_first(choice)]
    names = [StageName.IMPORT.value, StageName.CHECK.value, *(suite.name for suite in suites_here)]
    for path in (folder.events, folder.env):
        path.unlink(missing_ok=True)
    folder.scratch.mkdir(parents=True, exist_ok=True)
    folder.logs.mkdir(parents=True, exist_ok=True)
    bad = next((stage for stage in build.stages if stage.status is not StageStatus.PASSED), None)
    if bad is not None or build.python is None:
        return _not_run(names, f"{bad.name if bad else 'build'} did not pass")
    environment = Path(build.python).parent.parent
    # pip does not compile torch (adapters/python_env.py), so the first process that imports it keeps the bytecode. The
    # device's variables forbid that for an environment that was given.
    variables = device_environment(environment, {"PYTHONDONTWRITEBYTECODE": "", **device.environment})
    known, before = _known(planned, build, clock), frozenset(planned.failing_before or () if planned else ())
    not_retried = frozenset(planned.not_retried if planned else ())
    questions = Questions(device, build.python, folder, suites, variables, progress)
    stages = _Stages(
        questions,
        clock,
        lambda test: test in before or known(test),
        lambda test: test in not_retried and not known(test),
        options or {},
        choice,
    )
    results = _run_all(stages, suites_here, names)
    if planned is not None and planned.tries_declarations:
        _try_declarations(stages, suites_here, {result.name: result for result in results})
    return results


def _known(planned: PlannedRun | None, build: Build, clock: Callable[[], datetime]) -> Callable[[str], bool]:
    """Whether a test's failure is known to the vendor, so that it is not retried."""
    if planned is None:
        return lambda _: False
    today, version = clock().astimezone(timezone.utc).date(), build.torch.version if build.torch else None
    known = [item for item in planned.known_failures if not item.expired(today) and item.is_about(version)]
    return lambda test: any(item.matches(test) for item in known)


def _is_first(choice: Sequence[str]) -> bool:
    shards = [option for option in choice if option.startswith("--shard=")]
    return all(option.startswith("--shard=1/") for option in shards)


def _run_all(stages: _Stages, suites: Sequence[Suite], names: list[str]) -> tuple[StageResult, ...]:
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
    if results[0].status is StageStatus.PASSED or stages.questions.device.check.command is not None:
        # Also if the import failed, because a missing card may be the reason.
        results.append(stages.stage(StageName.CHECK, checking))
    for suite in suites if _all_passed(results) else ():
        results.append(stages.stage(suite.name, lambda suite=suite: stages.suite(suite)))  # type: ignore[misc]
    first_bad = next((result.name for result in results if result.status is not StageStatus.PASSED), "a stage")
    return (*results, *_not_run(names[len(results) :], f"{first_bad} did not pass"))


def _try_declarations(stages: _Stages, suites: Sequence[Suite], results: Mapping[str, StageResult]) -> None:
    """Try the declarations of the suite ``upstream`` in the time that the suite has left, after all others have run."""
    for suite in suites:
        result = results[suite.name]
        left = stages.questions.device.limits.suite_minutes * 60 - result.duration
        has_run = result.status is StageStatus.PASSED or result.only_tests
        if suite.name == UPSTREAM and suite.declares and has_run and left > 0:
            # What cannot be tried tonight is tried next week; the run is what it is.
            with contextlib.suppress(ToolMissing, OSError):
                stages.declarations(suite, left)


def _all_passed(results: list[StageResult]) -> bool:
    return len(results) > 1 and all(result.status is StageStatus.PASSED for result in results)


def _not_run(names: Sequence[str], reason: str) -> tuple[StageResult, ...]:
    return tuple(StageResult(name=name, status=StageStatus.NOT_RUN, reason=reason) for name in names)
