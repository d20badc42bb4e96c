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
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan, PlannedRun, Trigger
from ootci.model.record import read
from ootci.model.review import CheckResult, FileReview, Problem, Review
from ootci.model.run import Run
from ootci.stages import render
from ootci.stages.judge import judge
from ootci.stages.onboard.dry_run import dry_run
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
    device = item.device
    made = plan((item,), chosen=(device.name,), torch=None, now=clock(), trigger=Trigger(event="local"))
    return tuple(line[:2000] for line in dry_run(device, made))


def render_preview(item: RegisteredDevice, output: Path, *, run_file: Path | None, history: Path) -> None:
    """Render a device's row and page with its history, or with one run in its place.

    Raises:
        BadOption: the run is another device's.

    """
    if run_file is None:
        _render(item, History(history), output, clock())
        return
    with tempfile.TemporaryDirectory() as folder:
        finished = _append(item, run_file, History(Path(folder)))
        _render(item, History(Path(folder)), output, finished)


def _append(item: RegisteredDevice, run_file: Path, history: History) -> datetime:
    """Add a run and a nightly that expects it; returns when it finished. Rendering does not need the run in memory."""
    run = read(Run, run_file)
    if run.device != item.device.name:
        raise BadOption(
            f"the run is one of `{run.device}` and not of `{item.device.name}`",
            where=str(run_file),
            fix="name the device's own run.json",
        )
    with history.batch():
        planned = PlannedRun.of(item, run.id, run.torch_request)
        trigger = Trigger(event="local")
        history.append_plan(Plan(id=run.plan_id, created_at=run.started_at, trigger=trigger, runs=(planned,)))
        history.append_run(run)
    return run.finished_at


def _render(item: RegisteredDevice, history: History, output: Path, now: datetime) -> None:
    registry = (item,)
    render.render(registry, history, judge(registry, history, now), output, preview_of=item.path.name)
