"""The search for the nightly that broke a test: the stages of a device run, with that one test, on nightlies."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from ootci.adapters import git
from ootci.adapters.progress import Progress
from ootci.errors import BadOption, BisectionChanged, DeviceAbsent, IndexUnreachable, TorchMissing
from ootci.flows.context import clock
from ootci.flows.held_plugin import holding_commit, holding_plugin
from ootci.flows.nightly_index import NightlyIndex, require_nightly
from ootci.history.bisection import commit_to_hold, conclude, ends_of, next_nightly, run_id, steps_left
from ootci.history.store import History
from ootci.model.bisection import Bisection, Step, StepResult
from ootci.model.build import Build, PluginBuild, StageName, StageResult, StageStatus
from ootci.model.cluster import Mark
from ootci.model.device import RegisteredDevice
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, OutcomeName
from ootci.model.plan import Plan, Trigger
from ootci.model.record import read, write
from ootci.model.run import Run
from ootci.model.workspace import Workspace
from ootci.stages.build import NewEnvironment, build
from ootci.stages.collect import collect
from ootci.stages.plan import plan, with_sources
from ootci.stages.test import suite_options, test


@dataclass
class Search:
    """A search and its progress.

    Attributes:
        state: the nightlies, the steps so far, and the conclusion.
        item: the device, with the suite of the test only.
        folder: the files of the steps; they share one environment, which is rebuilt for each.

    """

    state: Bisection
    item: RegisteredDevice
    folder: Path
    suites: Path
    progress: Progress

    def run(self) -> None:
        """Test nightlies until nothing is left to test; the state is written after each.

        Raises:
            BisectionChanged, DeviceAbsent, IndexUnreachable, HostFailure: see :meth:`step`.

        """
        say = self.progress.say
        while (nightly := next_nightly(self.state)) is not None:
            say(f"bisect: torch {nightly} ({steps_left(self.state)} to go, unless some cannot be tested)")
            step, plugin = self.step(nightly)
            state = self.state.model_copy(update={"steps": (*self.state.steps, step), "plugin": plugin})
            self.state = state.model_copy(update={"conclusion": conclude(state)})
            write(self.state, self.folder / Bisection.FILE)
            say(f"bisect: torch {nightly} is {step.result.value}")
        for name in ("envs", "building"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def step(self, nightly: str) -> tuple[Step, PluginBuild | None]:
        """Test one nightly; returns the step, and the plugin that all steps test, None until one was built.

        Raises:
            BisectionChanged: the plugin's sources are not those of the steps before.
            DeviceAbsent: the device is not there.
            IndexUnreachable: the package index does not answer.
            HostFailure: the machine refused something.

        """
        started_at, started, held = clock(), time.monotonic(), self.state.plugin
        self._check_sources(held)
        item = holding_plugin(self.item, held) if held else self.item
        workspace = Workspace(self.folder)
        shutil.rmtree(workspace.building(item.device.name), ignore_errors=True)
        built: Build | None = None
        runs: list[Run] = []
        reason: str | None
        try:
            planned = self._plan(item, nightly)
        except (TorchMissing, IndexUnreachable) as problem:
            NightlyIndex.of(item.device)
            result, reason = StepResult.UNTESTABLE, problem.what
        else:
            write(planned, workspace.plan)
            environment = NewEnvironment(item, planned.runs[0], workspace, self.suites)
            built = build(environment, clock=clock, progress=self.progress)
            if built.stages[0].status is not StageStatus.PASSED:
                # Without a network every nightly would count as untestable.
                NightlyIndex.of(item.device)
            if _broken(built.stages) is None:
                runs = self._runs(item, planned, built, workspace)
            result, reason = self._result(built, runs)
            self._keep(workspace.run(item.device.name).path, nightly)
            if held is None and built.plugin is not None and built.plugin.version is not None:
                held = built.plugin
        torch = planned.runs[0].torch.told(built.torch) if built else None
        step = Step(
            nightly=nightly,
            git_version=torch.git_version if torch else None,
            made_of=torch.made_of if torch else None,
            result=result,
            outcomes=tuple(found for run in runs if (found := self._outcome(run))),
            reason=reason,
            started_at=started_at,
            duration=round(time.monotonic() - started, 3),
        )
        return step, held

    def _plan(self, item: RegisteredDevice, nightly: str) -> Plan:
        found = plan((item,), chosen=[item.device.name], torch=nightly, now=clock(), trigger=Trigger(event="bisect"))
        # The stage test would retry a new failure by itself; here --repeat decides.
        runs = [run.model_copy(update={"failing_before": (self.state.test,)}) for run in found.runs]
        return with_sources(found.model_copy(update={"runs": tuple(runs)}), ())

    def _runs(self, item: RegisteredDevice, planned: Plan, built: Build, workspace: Workspace) -> list[Run]:
        """The test, ``--repeat`` times at most, until it does not pass."""
        folder = workspace.run(item.device.name)
        runs: list[Run] = []
        while len(runs) < self.state.repeat:
            test(
                item.device,
                built,
                folder,
                self.suites,
                clock=clock,
                progress=self.progress,
                planned=planned.runs[0],
                options=suite_options(item, built, workspace),
                choice=(f"--id={self.state.test}",),
            )
            runs.append(collect(item.device, planned, folder, now=clock()))
            if self._outcome(runs[-1]) not in AS_THEY_SHOULD:
                break
        return runs

    def _outcome(self, run: Run) -> OutcomeName | None:
        return next((item.outcome for item in run.outcomes if item.id == self.state.test), None)

    def _result(self, built: Build, runs: Sequence[Run]) -> tuple[StepResult, str | None]:
        last = runs[-1] if runs else None
        stages = last.stages if last else built.stages
        check = next((stage for stage in stages if stage.name == StageName.CHECK), None)
        if check is not None and check.status not in (StageStatus.PASSED, StageStatus.NOT_RUN):
            raise DeviceAbsent(
                f"the device is not there: {check.reason or check.status.value}",
                where=f"{self.item.device.name}, stage check",
                fix="see to the device, and run the same command again: it goes on where it stopped",
            )
        outcome = self._outcome(last) if last else None
        if last is None or outcome is None:
            broken = _broken(stages)
            said = f"{broken.name}: {broken.reason or broken.status.value}" if broken else "it did not run"
            return StepResult.UNTESTABLE, said
        message = next((item.message for item in last.outcomes if item.id == self.state.test), None)
        if outcome in FAILURES:
            return StepResult.BAD, message
        if outcome in AS_THEY_SHOULD:
            return StepResult.GOOD, None
        return StepResult.UNTESTABLE, f"{outcome.value}: {message}" if message else outcome.value

    def _check_sources(self, held: PluginBuild | None) -> None:
        """Sources next to the device file can change between steps, so they are compared with those that were built."""
        path = self.item.device.plugin.path
        if path is None or held is None:
            return
        folder = self.item.path.resolve().parent / path
        if not folder.is_dir() or git.source_digest(folder) != held.sources_sha256:
            raise BisectionChanged(
                "the plugin's sources have changed since the bisection began",
                where=str(folder),
                fix="put them back as they were, or begin again with --restart",
            )

    def _keep(self, run: Path, nightly: str) -> None:
        kept = self.folder / "steps" / str(Version(nightly))
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        run.rename(kept)


def begin(
    item: RegisteredDevice,
    test_id: str,
    good: str | None,
    bad: str | None,
    repeat: int,
    history: History,
    searches: Path,
    suites: Path,
    progress: Progress,
) -> Search:
    """Begin a search between two nightlies, as they are given or else as the history knows them.

    Raises:
        BadOption: the device runs no suite of that test, or a nightly is none.
        IndexUnreachable, NightlyMissing: see :class:`NightlyIndex`.
        NothingToBisect: the history does not say which nightlies are the ends.

    """
    item = with_one_suite(item, test_id)
    for text, option in ((good, "--good"), (bad, "--bad")):
        if text:
            require_nightly(text, option)
    index = NightlyIndex.of(item.device)
    first = index.find(good, "--good") if good else None
    last = index.find(bad, "--bad") if bad else None
    ends: list[Mark] = []
    if first is None or last is None:
        passed, failed = ends_of(history, item.device.name, test_id, good=first, bad=last)
        ends = [mark for mark in (passed, failed) if mark is not None]
        first = first or index.find((passed and passed.torch_version) or "", "--good")
        last = last or index.find((failed and failed.torch_version) or "", "--bad")
        if failed is not None and (commit := commit_to_hold(failed)):
            item = holding_commit(item, commit)
    begun = Bisection(
        device=item.device.name,
        device_sha256=item.sha256,
        test=test_id,
        repeat=repeat,
        nightlies=index.between(first, last),
        from_history=tuple(run_id(mark, item.device.name) for mark in ends),
    )
    return Search(begun, item, searches / begun.identity, suites, progress)


def resume(search: Search, *, retry: bool) -> None:
    """Go on where an earlier call left the same search, if there was one; with ``retry`` test the untestable again.

    Raises:
        BisectionChanged: the device file is another one than that call had.

    """
    file = search.folder / Bisection.FILE
    if not file.exists():
        return
    state = read(Bisection, file)
    if state.device_sha256 != search.state.device_sha256:
        raise BisectionChanged(
            "the device file has changed since the bisection began",
            where=str(file),
            fix="put it back as it was, or begin again with --restart",
        )
    if retry:
        kept = tuple(step for step in state.steps if step.result is not StepResult.UNTESTABLE)
        state = state.model_copy(update={"steps": kept})
        state = state.model_copy(update={"conclusion": conclude(state)})
    search.progress.say(f"bisect: {len(state.steps)} nightlies were tested by an earlier call")
    search.state = state


def with_one_suite(item: RegisteredDevice, test_id: str) -> RegisteredDevice:
    """The device with the test's suite only.

    Raises:
        BadOption: the device runs no such suite.

    """
    suite = test_id.partition("/")[0]
    suites = tuple(found for found in item.device.suites if found.name == suite)
    if not suites:
        names = ", ".join(found.name for found in item.device.suites)
        raise BadOption(
            f"`{item.device.name}` runs no suite `{suite}`",
            where=f"TEST {test_id}",
            fix=f"write a test's whole id, which begins with one of its suites: {names}",
        )
    limits = item.device.limits.model_copy(update={"workers": 1})
    return item.model_copy(update={"device": item.device.model_copy(update={"suites": suites, "limits": limits})})


def _broken(stages: tuple[StageResult, ...]) -> StageResult | None:
    return next((stage for stage in stages if stage.status is not StageStatus.PASSED), None)
