"""The review of a pull request to the registry: its device files are checked, planned and rendered, never run."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

from ootci.adapters.git import changed_files
from ootci.adapters.github_rest import GithubRest
from ootci.errors import BadOption
from ootci.flows.check import checked
from ootci.flows.context import clock
from ootci.history.store import History
from ootci.model.device import Cadence, Device, Plugin, RegisteredDevice, variants_of
from ootci.model.plan import Plan, PlannedRun, Trigger
from ootci.model.record import read
from ootci.model.review import CheckResult, FileReview, Problem, Review
from ootci.model.run import Run
from ootci.stages import render
from ootci.stages.judge import judge
from ootci.stages.onboard.checks import HOSTED
from ootci.stages.onboard.online import PATIENCE_SECONDS
from ootci.stages.onboard.proposal import Proposed, proposed_devices
from ootci.stages.plan import plan

PREVIEW = "preview"
NO_HISTORY = Path("no-history")
"""A folder that never exists: the preview of a proposal has no history."""


def review_proposal(folder: Path, output: Path, *, online: bool) -> Review:
    """Review what a checkout proposes for the registry.

    Args:
        folder: the checkout, at the commit of the merge, fetched with its parents.
        output: where the previews go.
        online: ask for links and for the maintainers on GitHub, too.

    """
    files, notes = proposed_devices(changed_files(folder), folder)
    rest = GithubRest(None, patience=PATIENCE_SECONDS) if online else None
    return Review(files=tuple(_file(item, folder, output, rest) for item in files), notes=notes)


def _file(item: Proposed, folder: Path, output: Path, rest: GithubRest | None) -> FileReview:
    told = FileReview(path=item.path[-500:], change=item.change, notes=item.notes)
    if not item.is_there:
        return told
    review, found = checked(folder / item.path, rest)
    update: dict[str, object] = {"checks": _here(review.checks, folder), "device": review.device}
    # A file whose name is not its device's is not registered.
    if found is not None and found.registered is not None and found.is_named_right:
        update["dry_run"] = _dry_run(found.registered)
        name = found.registered.device.name
        render_preview(found.registered, output / PREVIEW / name, run_file=None, history=output / NO_HISTORY)
        update["preview"] = f"{PREVIEW}/{name}"
    return told.model_copy(update=update)


def _here(results: tuple[CheckResult, ...], folder: Path) -> tuple[CheckResult, ...]:
    """Results with paths relative to the repository instead of the checkout."""
    top = f"{folder.as_posix()}/"

    def here(problem: Problem) -> Problem:
        texts = {key: getattr(problem, key).replace(top, "") for key in ("what", "where", "fix")}
        return problem.model_copy(update=texts)

    return tuple(item.model_copy(update={"problems": tuple(map(here, item.problems))}) for item in results)


def _dry_run(item: RegisteredDevice) -> tuple[str, ...]:
    """What a nightly would run where."""
    device = item.device
    made = plan((item,), chosen=(device.name,), torch=None, now=clock(), trigger=Trigger(event="local"))
    run = made.run_of(device.name)
    request = run.torch
    torch = f"torch {request.version} ({request.channel.value})" if request.version else "no torch"
    why = request.unavailable_reason or request.fallback_reason
    suites = ", ".join(suite.name + ("" if suite.required else " (advisory)") for suite in run.suites)
    lines = [
        f"{torch}; wanted is {request.wanted}" + (f": {why}" if why else ""),
        f"the plugin {_source(device.plugin)}",
        _place(device),
        f"the suites {suites}, within {device.limits.suite_minutes} minutes each",
    ]
    if device.python is not None:
        lines.append(f"on Python {device.python}")
    if device.torch.also:
        lines.append(f"on Sundays (UTC) on torch {' and '.join(other.value for other in device.torch.also)}, too")
    for variant in variants_of(device):
        python = f", Python {variant.python}" if variant.python else ""
        lines.append(f"beside it the variant {variant.name}: {_place(variant)}{python}")
    if device.external is not None:
        lines = [f"nothing: what was reported elsewhere is imported from {device.external.run}"]
    if device.paused is not None:
        lines.insert(0, f"nothing for the time being, because it is paused: {device.paused.reason}")
    elif device.cadence is Cadence.WEEKLY:
        lines.insert(0, "only on Sundays (UTC), because its cadence is weekly")
    return tuple(line[:2000] for line in lines)


def render_preview(item: RegisteredDevice, output: Path, *, run_file: Path | None, history: Path) -> None:
    """Render a device's row and page with its history, or with one run in its place.

    Raises:
        BadOption: the run is another device's.

    """
    if run_file is None:
        _render(item, History(history), output, clock())
        return
    run = read(Run, run_file)
    if run.device != item.device.name:
        raise BadOption(
            f"the run is one of `{run.device}` and not of `{item.device.name}`",
            where=str(run_file),
            fix="name the device's own run.json",
        )
    with tempfile.TemporaryDirectory() as folder:
        store = History(Path(folder))
        with store.batch():
            planned = PlannedRun.of(item, run.id, run.torch_request)
            trigger = Trigger(event="local")
            store.append_plan(Plan(id=run.plan_id, created_at=run.started_at, trigger=trigger, runs=(planned,)))
            store.append_run(run)
        _render(item, History(Path(folder)), output, run.finished_at)


def _render(item: RegisteredDevice, history: History, output: Path, now: datetime) -> None:
    registry = (item,)
    render.render(registry, history, judge(registry, history, now), output, preview_of=item.path.name)


def _source(plugin: Plugin) -> str:
    if plugin.git is not None:
        return f"{plugin.distribution}, built from {plugin.git.ref} of {plugin.git.url}"
    if plugin.path is not None:
        return f"{plugin.distribution}, built from {plugin.path}"
    return f"{plugin.package}, from {plugin.index_url or 'the package index'}"


def _place(device: Device) -> str:
    runner, limits = device.runner, device.limits
    hosted = len(runner.labels) == 1 and HOSTED.fullmatch(runner.labels[0]) is not None
    where = "GitHub's own machine" if hosted else "a machine that has to be registered with the labels"
    jobs = f"{runner.shares} jobs" if runner.shares > 1 else "1 job"
    inside = f", in the container {runner.container.image}" if runner.container else ""
    return f"{jobs} on {where} {', '.join(runner.labels)}{inside}, at most {limits.job_minutes} minutes"
