"""The stages import, check and the suites of one device run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from ootci.adapters.process import Finished, run
from ootci.adapters.python_env import device_environment
from ootci.adapters.terminal import Progress, plain
from ootci.errors import HostFailure, ToolMissing
from ootci.model.build import Build, StageName, StageResult, StageStatus
from ootci.model.device import Device, Suite
from ootci.model.event import StageEnd, StageStart, append_event
from ootci.model.plan import PlannedRun
from ootci.model.probe import read_probe
from ootci.model.workspace import RunFolder

from .again import SecondAttempts
from .junit import write_junit
from .suite_run import SuiteRun
from .supervisor import Supervisor

PROBE_NO_TORCH, PROBE_UNKNOWN, PROBE_UNAVAILABLE = 10, 11, 12
"""Exit codes of ``tests/device/probe.py``."""
EXCERPT_CHARACTERS = 4_000


@dataclass(frozen=True)
class _Verdict:
    status: StageStatus
    reason: str | None = None
    excerpt: str | None = None
    log: str | None = None
    only_tests: bool = False


_PASSED = _Verdict(StageStatus.PASSED)


@dataclass(frozen=True)
class _Stages:
    device: Device
    python: str
    folder: RunFolder
    suites: Path
    variables: Mapping[str, str]
    clock: Callable[[], datetime]
    progress: Progress
    is_expected: Callable[[str], bool]
    options: Mapping[str, tuple[str, ...]]
    choice: tuple[str, ...]

    def stage(self, name: StageName, work: Callable[[], _Verdict]) -> StageResult:
        """Run one stage and tell the event log."""
        started_at, started = self.clock(), time.monotonic()
        append_event(self.folder.events, StageStart(stage=name), started_at)
        try:
            with self.progress.step(f"{self.device.name}: {name.value}"):
                verdict = work()
        except ToolMissing as error:
            verdict = _Verdict(StageStatus.FAILED, f"{error.what} ({error.where})")
        except OSError as error:
            # A full disk is not the plugin's fault, so it must not become a failed stage.
            raise HostFailure(
                f"the machine refused: {error.strerror or error}",
                where=f"{self.device.name}, stage {name.value}: {error.filename or self.folder.path}",
                fix="check the disk space and the permissions of the work folder, and run it again",
            ) from error
        seconds = round(time.monotonic() - started, 3)
        end = StageEnd(
            stage=name,
            status=verdict.status,
            duration=seconds,
            reason=verdict.reason,
            excerpt=verdict.excerpt,
            log=verdict.log,
            only_tests=verdict.only_tests,
        )
        append_event(self.folder.events, end, self.clock())
        return StageResult(
            name=name,
            status=verdict.status,
            started_at=started_at,
            duration=seconds,
            reason=verdict.reason,
            excerpt=verdict.excerpt,
            log=verdict.log,
            only_tests=verdict.only_tests,
        )

    def probe(self) -> tuple[_Verdict, _Verdict]:
        """Import torch in a process of its own; what that says of the stages import and check."""
        command = [self.python, str(self.suites / "probe.py"), "--device", self.device.name]
        command += ["--out", str(self.folder.env), "--expect-devices", str(self.device.check.devices)]
        done = self._run(command, "import.log")
        if done.ok:
            return _PASSED, _PASSED
        error = _said(self.folder.env) or _last_line(done)
        if done.exit_code == PROBE_UNAVAILABLE and not done.timed_out:
            return _PASSED, _Verdict(StageStatus.FAILED, error, None, "import.log")
        failed = _Verdict(_status(done), _import_failure(done, error), _excerpt(done), "import.log")
        return failed, _Verdict(StageStatus.NOT_RUN, "import did not pass")

    def answer(self) -> str | None:
        """Why the device does not answer, asked in a process of its own; None when it computes."""
        said = self.folder.scratch / "answer.json"
        said.unlink(missing_ok=True)
        command = [self.python, str(self.suites / "probe.py"), "--device", self.device.name, "--compute"]
        done = self._run([*command, "--out", str(said)], "answer.log")
        return None if done.ok else f"{_said(said) or _last_line(done)} ({done.ending})"

    def hardware(self) -> _Verdict:
        """Run the device file's check command, if there is one."""
        command = self.device.check.command
        if command is None:
            return _PASSED
        done = self._run(list(command), "check.log")
        if done.ok:
            return _PASSED
        reason = f"the check command `{' '.join(command)}` failed: {done.ending}"
        return _Verdict(_status(done), reason, _excerpt(done), "check.log")

    def suite(self, suite: Suite) -> _Verdict:
        """Run one suite under supervision."""
        limits, scratch = self.device.limits, self.folder.scratch / suite.name
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        run = SuiteRun(
            suite=suite.name,
            device=self.device.name,
            python=self.python,
            suites=self.suites,
            variables=self.variables,
            events=self.folder.events,
            logs=self.folder.logs,
            scratch=scratch,
            suite_seconds=limits.suite_minutes * 60,
            test_seconds=limits.test_seconds,
            deaths_in_a_row=limits.deaths_in_a_row,
            options=self._options(suite),
            choice=self.choice,
        )
        supervisor = Supervisor(run, clock=self.clock, progress=self.progress, ask_device=self.answer)
        end = supervisor.supervise()
        flaky = 0
        if end.reason is None:
            again = SecondAttempts(
                run,
                is_expected=self.is_expected,
                deadline=supervisor.deadline,
                clock=self.clock,
                progress=self.progress,
                say=supervisor.say,
            )
            flaky = len(again.make(end))
        write_junit(self.folder.events, self.folder.junit)
        log = f"{suite.name}.log"
        if end.timed_out:
            return _Verdict(StageStatus.TIMED_OUT, end.reason, _cut(end.tail), log)
        if end.reason is not None:
            status = StageStatus.FAILED if end.watch.exit_status is not None else StageStatus.CRASHED
            return _Verdict(status, end.reason, _cut(end.tail), log)
        if not end.watch.collected:
            return _Verdict(StageStatus.FAILED, "no tests were collected", _cut(end.tail), log)
        if end.failed:
            reason = f"{len(end.failed)} of {len(end.watch.collected)} tests failed"
            reason += f", {flaky} of them passed when run again" if flaky else ""
            return _Verdict(StageStatus.FAILED, reason, None, log, only_tests=True)
        return _Verdict(StageStatus.PASSED, log=log)

    def _options(self, suite: Suite) -> tuple[str, ...]:
        """What the device file asks of pytest, and where things lie."""
        claims = (
            f"--declared-unsupported={claim.capability.value}={claim.reason}" for claim in self.device.unsupported
        )
        dtypes = () if suite.dtypes is None else (f"--ops-dtypes={','.join(suite.dtypes)}",)
        return (*claims, *dtypes, *self.options.get(suite.name, ()))

    def _run(self, command: list[str], log: str) -> Finished:
        timeout = float(self.device.check.timeout_seconds)
        return run(
            command,
            cwd=self.folder.scratch,
            env=self.variables,
            log_file=self.folder.logs / log,
            timeout=timeout,
            on_line=self.progress.update,
        )


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
    stages = _Stages(device, build.python, folder, suites, variables, clock, progress, expected, options or {}, choice)
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
    seen: list[_Verdict] = []

    def importing() -> _Verdict:
        imported, available = stages.probe()
        seen.append(available)
        return imported

    def checking() -> _Verdict:
        hardware = stages.hardware()
        return hardware if hardware.status is not StageStatus.PASSED or not seen else seen[0]

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


def _status(done: Finished) -> StageStatus:
    if done.timed_out:
        return StageStatus.TIMED_OUT
    return StageStatus.CRASHED if done.exit_code < 0 else StageStatus.FAILED


def _import_failure(done: Finished, error: str) -> str:
    if done.exit_code in (PROBE_NO_TORCH, PROBE_UNKNOWN) and not done.timed_out:
        return error
    # The probe died inside `import torch`, so that it could not say why; the last line of output may.
    return f"`import torch` did not survive: {done.ending}; {error}"


def _said(env_file: Path) -> str | None:
    error = read_probe(env_file).error
    return plain(error).strip()[:500] if error else None


def _last_line(done: Finished) -> str:
    lines = [line for line in plain(done.tail).splitlines() if line.strip()]
    return lines[-1].strip()[:500] if lines else "nothing was printed"


def _excerpt(done: Finished) -> str:
    return _cut(plain(done.tail))


def _cut(text: str) -> str:
    cut = len(text) - EXCERPT_CHARACTERS
    return text if cut <= 0 else f"[{cut} characters cut]\n{text[-EXCERPT_CHARACTERS:]}"
