"""Receives the reports of nightlies, each from the workflow run of a device, and adds them to the history.

A nightly is published when all its devices have reported, or at its deadline with those that did. Later reports are
added when they arrive. Everything here can be repeated: nothing is added twice.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ootci.adapters.annotation import show_warning
from ootci.adapters.github_artifacts import (
    Artifact,
    ArtifactProblem,
    Limits,
    artifact_file,
    artifact_folder,
    artifacts,
)
from ootci.adapters.github_runs import GithubRuns, Job, WorkflowRun
from ootci.errors import GithubRefused, InputError, OotciError
from ootci.flows.context import CLOCKS, Folders, attempt_number
from ootci.flows.dispatch import DEVICE_RUN, title_of
from ootci.flows.reports import append_workspace, take_in
from ootci.history.store import History
from ootci.model.compat import Compat, SourceCheck
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import parse, write, write_atomic
from ootci.model.relay import RELAY_MINUTES
from ootci.model.run import Run
from ootci.stages.collect import not_started, unreadable
from ootci.stages.compat import unchecked

NIGHTLY = "nightly.yml"
PULL_REQUEST = "pull-request.yml"
DEADLINE = timedelta(hours=4)
"""How long after its plan a nightly waits for devices, and a device for its runner."""
WINDOW = timedelta(days=3)
"""How long after its plan late reports are accepted."""
RELAY = timedelta(minutes=RELAY_MINUTES)
"""How long PyTorch's relay waits for a pull request's result."""
QUEUED = timedelta(hours=1)
"""A pull request's job that waited so long for its runner was not just cancelled by somebody."""
PLAN_LIMITS = Limits(archive=16 << 20, content=32 << 20)
RUN_LIMITS = Limits(archive=256 << 20, entries=20_000, content=32 << 20)
"""A run.json of 20,000 tests has 7 MB; its artifact has every log, too."""
DOCS_LIMITS = Limits(archive=256 << 20, entries=20_000, content=512 << 20)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Received:
    """The devices of a nightly whose runs were added, and whether the nightly was new."""

    plan: Plan
    devices: tuple[str, ...]
    is_new: bool


@dataclass(frozen=True)
class _Night:
    """A nightly to receive.

    Attributes:
        run: its workflow run, where it is not in the history yet.
        legs: the workflow run of each device that is run here; None where there is none.
        sources: the same of each paused device whose source is compiled; they are not waited for.

    """

    plan: Plan
    run: WorkflowRun | None
    legs: Mapping[str, WorkflowRun | None]
    sources: Mapping[str, WorkflowRun | None]

    def is_over(self, now: datetime) -> bool:
        return now >= self.plan.created_at + DEADLINE

    @property
    def missing(self) -> list[str]:
        """The devices that it waits for; runs on other torches are not waited for."""
        also = {run.device for run in self.plan.also}
        legs = ((name, leg) for name, leg in self.legs.items() if name not in also)
        return [name for name, leg in legs if leg is None or not leg.is_over]

    @property
    def is_complete(self) -> bool:
        """Whether all of its reports can be there."""
        return self.run is not None and self.run.is_over and not self.missing


def receive(
    github: GithubRuns, registry: tuple[RegisteredDevice, ...], folders: Folders, now: datetime, say: Say
) -> list[Received]:
    """Add what was reported of nightlies, the oldest first; cancel runs that have waited too long for their runner.

    Those of pull requests, too: a machine that comes back begins with the newest nightly.

    A nightly that is not over delays the later ones, because the history accepts nightlies only in order. Returns those
    to which something was added.

    Raises:
        GithubUnreachable, GithubRefused: see the client.
        HistoryCorrupt, HistoryConflict, Busy: see the history.

    """
    for run in github.of(PULL_REQUEST, now - WINDOW):
        if not run.is_over and now >= run.started_at + RELAY and _waiting_since(github, run):
            _cancel(github, run, say)
    store = History(folders.history)
    device_runs: dict[str, WorkflowRun] = {}
    for run in sorted(github.of(DEVICE_RUN, now - WINDOW), key=lambda run: (run.created_at, run.number)):
        device_runs.setdefault(run.title, run)
    received: list[Received] = []
    known = [plan for plan in store.plans() if plan.created_at > now - WINDOW]
    for night in (_night(plan, None, device_runs, registry) for plan in known):
        received += _added(night, github, registry, folders, now, say)
    for plan, run in _open(github, store, now, say):
        night = _night(plan, run, device_runs, registry)
        if not night.is_over(now) and not night.is_complete:
            waited = ", ".join(night.missing) or "its jobs"
            say(f"{plan.id}: waiting until {plan.created_at + DEADLINE:%H:%M} UTC for {waited}")
            break
        received += _added(night, github, registry, folders, now, say)
    return received


def fetch_documentation(github: GithubRuns, folders: Folders) -> bool:
    """Put the documentation that the newest nightly built into the work folder; false where there is none."""
    folder = folders.work / "docs"
    plans = History(folders.history).plans()
    of_run = re.search(r"/actions/runs/(\d{1,18})$", (plans[-1].trigger.url or "") if plans else "")
    found = _artifacts(github, int(of_run[1]), "docs") if of_run else {}
    if not found:
        shutil.rmtree(folder, ignore_errors=True)
        return False
    try:
        artifact_folder(github.rest, found[max(found)], folder, DOCS_LIMITS)
    except ArtifactProblem:
        return False
    return True


def _artifacts(github: GithubRuns, run: int, name: str) -> dict[int, Artifact]:
    """The artifacts ``name-N`` of a run, by the attempt N that made them."""
    pattern = re.compile(rf"{re.escape(name)}-([1-9]\d{{0,8}})")
    found = ((pattern.fullmatch(item.name), item) for item in artifacts(github.rest, github.repository, run))
    return {int(matched[1]): item for matched, item in found if matched}


def _open(github: GithubRuns, store: History, now: datetime, say: Say) -> list[tuple[Plan, WorkflowRun]]:
    """The nightlies that the history does not have yet, with their workflow runs, the oldest first."""
    plans = store.plans()
    known = {plan.id for plan in (*plans, *(item.plan for item in store.withdrawn()))}
    since = max(plans[-1].created_at - CLOCKS, now - WINDOW) if plans else now - WINDOW
    found = []
    for run in github.of(NIGHTLY, now - WINDOW):
        # Most hourly runs have no plan, because there is no new nightly. A re-run may still add one to an older run.
        if run.started_at < since:
            continue
        for artifact in _artifacts(github, run.number, "plan").values():
            try:
                plan = parse(Plan, artifact_file(github.rest, artifact, Plan.FILE, PLAN_LIMITS), where=artifact.name)
            except (ArtifactProblem, InputError) as problem:
                say(f"the plan of run {run.number} is not taken: {problem}")
                continue
            if plan.id not in known:
                found.append((plan, run))
    return sorted(found, key=lambda item: (item[0].created_at, item[0].id))


def _night(
    plan: Plan,
    run: WorkflowRun | None,
    device_runs: Mapping[str, WorkflowRun],
    registry: tuple[RegisteredDevice, ...],
) -> _Night:
    here = (planned.device for planned in plan.every_run if planned.external is None)

    def legs(devices: Iterable[str]) -> dict[str, WorkflowRun | None]:
        return {device: device_runs.get(title_of(plan.id, device)) for device in devices}

    return _Night(plan, run, legs(here), legs(plan.sources_to_compile(registry)))


def _added(
    night: _Night, github: GithubRuns, registry: tuple[RegisteredDevice, ...], folders: Folders, now: datetime, say: Say
) -> Iterator[Received]:
    """Receive one nightly: into a folder of its own, and from there into the history."""
    plan, store = night.plan, History(folders.history)
    own = replace(folders, work=folders.work / "received")
    shutil.rmtree(own.work, ignore_errors=True)
    write(plan, own.workspace.plan)
    made = [run for planned in plan.every_run for run in _one(night, planned, store, github, own, now, say)]
    made = [run for run in made if not store.holds(run)]
    is_new = night.run is not None
    if night.run is not None:
        take_in(plan, registry, own, say)
        _take_predictions(plan, night.run, github, own, say)
    devices: list[str] = []
    if is_new or made or own.workspace.runs():
        newest = {device: leg.attempt for device, leg in night.legs.items() if leg is not None}
        try:
            devices, _ = append_workspace(
                own.workspace, store, say, attempts=lambda device: newest.get(device, attempt_number()), made=made
            )
        except OotciError as error:
            if not is_new:
                raise
            # An error would delay every later nightly.
            show_warning(f"the nightly {plan.id!a} is not taken", error)
            return
    compiled = _take_sources(night, store, github, say)
    if devices or is_new or compiled:
        yield Received(plan, tuple(dict.fromkeys([*devices, *compiled])), is_new)


def _one(
    night: _Night, planned: PlannedRun, store: History, github: GithubRuns, own: Folders, now: datetime, say: Say
) -> Iterator[Run]:
    """Put a device's reports into the work folder; yields runs in place of missing or unusable reports."""
    plan, device = night.plan, planned.device
    if planned.external is not None:
        return
    leg = night.legs[device]
    there = {key for key in store.run_keys(device) if key.plan_id == plan.id}
    if leg is None:
        if night.run is not None and night.is_over(now):
            yield not_started(plan, planned, 1, "no workflow run was started")
        return
    reports = {key.attempt for key in there if store.stored_run(key).head.is_report}
    if leg.attempt in reports:
        return
    found = _artifacts(github, leg.number, f"run-{device}") if leg.is_over or night.is_over(now) else {}
    for attempt in sorted(found.keys() - reports):
        if attempt > leg.attempt:
            continue
        try:
            content = artifact_file(github.rest, found[attempt], Run.FILE, RUN_LIMITS)
        except ArtifactProblem as problem:
            yield unreadable(plan, planned, attempt, str(problem))
        else:
            write_atomic(own.workspace.run(f"run-{device}-{attempt}").run, content)
    if leg.attempt in found:
        return
    since = _offline_since(leg, night, github, now, say)
    if since is not None and not reports and not found:
        yield _offline(plan, planned, leg.attempt, since)


def _offline(plan: Plan, planned: PlannedRun, attempt: int, since: datetime) -> Run:
    return not_started(plan, planned, attempt, f"runner offline since {since:%Y-%m-%d %H:%M} UTC")


def without_runner(
    github: GithubRuns, number: int, plan: Plan, reported: Container[str], now: datetime
) -> Iterator[Run]:
    """A run for each planned device that has not reported because no runner took its job.

    Args:
        number: the workflow run that tests all devices; the names of a device's jobs begin with the device's.

    """
    missing = [planned for planned in plan.runs if planned.device not in reported]
    jobs = github.jobs(number) if missing else []
    for planned in missing:
        since = _never_began_since(job for job in jobs if job.name.startswith(f"{planned.device} / "))
        if since is not None and now - since >= QUEUED:
            yield _offline(plan, planned, attempt_number(), since)


def _offline_since(leg: WorkflowRun, night: _Night, github: GithubRuns, now: datetime, say: Say) -> datetime | None:
    """Since when a run has waited for a runner beyond the deadline; None if one took it, or may still take it.

    A run that still waits is cancelled, so that a runner that comes back begins with the newest nightly.
    """
    if not leg.is_over and now < max(night.plan.created_at, leg.started_at) + DEADLINE:
        return None
    since = _waiting_since(github, leg)
    if since is not None and not leg.is_over:
        _cancel(github, leg, say)
    return since


def _waiting_since(github: GithubRuns, run: WorkflowRun) -> datetime | None:
    """Since when a run has waited for a runner; None if one took it, or works on another of its jobs."""
    jobs = github.jobs(run.number)
    return None if any(job.is_running for job in jobs) else _never_began_since(jobs)


def _never_began_since(jobs: Iterable[Job]) -> datetime | None:
    return min((job.created_at for job in jobs if job.never_began), default=None)


def _cancel(github: GithubRuns, run: WorkflowRun, say: Say) -> None:
    say(f"{run.title}: no runner took it; it is cancelled")
    try:
        github.cancel(run)
    except GithubRefused as error:
        show_warning(f"{run.title} is not cancelled", error)


def _take_predictions(plan: Plan, run: WorkflowRun, github: GithubRuns, own: Folders, say: Say) -> None:
    """Add the predictions of the nightly's own run, if it has any."""
    for _, artifact in sorted(_artifacts(github, run.number, "compat").items(), reverse=True):
        try:
            content = artifact_file(github.rest, artifact, Compat.FILE, PLAN_LIMITS)
            if parse(Compat, content, where=artifact.name).plan_id == plan.id:
                write_atomic(own.workspace.compat, content)
                return
        except (ArtifactProblem, InputError) as problem:
            say(f"the predictions of {artifact.name} are not taken: {problem}")


def _take_sources(night: _Night, store: History, github: GithubRuns, say: Say) -> list[str]:
    """Add what compiling sources predicted, as soon as each attempt has ended; gives their devices."""
    predicted = store.compat(night.plan.id)
    if predicted is None or not predicted.torches:
        return []
    ended = {
        device: leg
        for device, leg in night.sources.items()
        if leg is not None and leg.is_over and not store.holds_source(night.plan.id, device, leg.attempt)
    }
    for device, leg in ended.items():
        found = _source(device, leg, predicted, github, say)
        store.append_source(night.plan.id, device, leg.attempt, found)
    return list(ended)


def _source(device: str, leg: WorkflowRun, predicted: Compat, github: GithubRuns, say: Say) -> SourceCheck:
    """What compiling a device's source predicted. Vendors' code ran in that job, so nothing else of it is taken."""
    found = _artifacts(github, leg.number, f"compile-{device}")
    for attempt, artifact in sorted(found.items(), reverse=True):
        if attempt > leg.attempt:
            continue
        try:
            content = artifact_file(github.rest, artifact, Compat.FILE, Limits())
            compiled = parse(Compat, content, where=artifact.name)
        except (ArtifactProblem, InputError) as problem:
            say(f"the prediction of {artifact.name} is not taken: {problem}")
            continue
        for item in compiled.predictions:
            of = (compiled.plan_id, item.plugin, item.torch)
            if item.source is not None and of == (predicted.plan_id, device, predicted.torches[0].version):
                return item.source
    return unchecked("its job reported nothing")
