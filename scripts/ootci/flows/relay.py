"""The reports of a plan's devices to PyTorch's cross-repository CI relay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ootci.adapters.crcr import Relay
from ootci.errors import BadOption, RelayOutOfOrder
from ootci.flows.context import Folders, clock
from ootci.flows.reports import reported_runs
from ootci.history.store import History
from ootci.model.delivery import Delivery
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.relay import Conclusion, RelayReport, Status, concluded, concluded_of_change
from ootci.model.torch_build import Channel, full_commit
from ootci.model.verdict import Verdicts
from ootci.stages.judge import judge_pull_request
from ootci.stages.relay import Origin, report_of, report_of_nightly

Say = Callable[[str], None]


def reports_of_change(
    status: Status,
    delivery: Delivery,
    plan: Plan,
    names: Sequence[str],
    origin: Origin,
    folders: Folders,
    say: Say,
    *,
    cancelled: bool,
) -> Iterator[RelayReport]:
    """A report for each device named, of the pull request or push that was delivered.

    Raises:
        pydantic.ValidationError: the origin is not as the relay wants it.

    """
    if status is Status.IN_PROGRESS:
        yield from (report_of(delivery, origin.begun(name, clock())) for name in names)
        return
    runs = reported_runs(folders.workspace, plan, say)
    judged = judge_pull_request(folders.registry(), plan, runs, History(folders.history), {})
    effects = {effect.device: effect for effect in judged.devices}
    for name in names:
        conclusion = concluded_of_change(effects[name])
        if cancelled and name not in runs:
            conclusion = Conclusion.CANCELLED
        ended = origin.ended(name, clock(), runs.get(name), conclusion, planned_at=plan.created_at)
        yield report_of(delivery, ended)


def reports_of_nightly(
    status: Status, plan: Plan, names: Sequence[str], origin: Origin, folders: Folders, say: Say
) -> Iterator[RelayReport]:
    """A report for each device named, of the nightly.

    Raises:
        BadOption: the nightly is not over.
        pydantic.ValidationError: the origin is not as the relay wants it.

    """
    if status is not Status.COMPLETED:
        raise BadOption("a nightly is reported when it is over", where="--nightly", fix="say --status completed")
    verdicts = {item.device: item for item in read(Verdicts, folders.workspace.verdicts).devices}
    history = History(folders.history)
    found = {name: history.counting_run(name, plan.id) for name in (run.device for run in plan.runs)}
    runs = {name: history.whole(run) for name, run in found.items() if run is not None}
    tested = {name: full_commit(run.torch.git_version) for name, run in runs.items() if run.torch}
    # All devices of a nightly were to test the same torch, including those that did not report.
    planned = {run.torch.version: tested[run.device] for run in plan.runs if tested.get(run.device)}
    for name in names:
        commit = tested.get(name) or planned.get(plan.run_of(name).torch.version)
        if commit is None:
            say(f"{name}: not reported, no run has the commit of PyTorch that was tested")
            continue
        verdict = verdicts.get(name)
        current = verdict is not None and verdict.run_id == plan.run_of(name).run_id
        run = runs.get(name) if current else None
        # A release that replaced a nightly tells nothing of the nightly.
        is_nightly = run is None or run.torch_request.channel is Channel.NIGHTLY
        conclusion = concluded(verdict.verdict) if verdict and current and is_nightly else Conclusion.NEUTRAL
        ended = origin.ended(name, clock(), run, conclusion, planned_at=plan.created_at)
        yield report_of_nightly(commit, ended)


def hand_in(report: RelayReport, to: Relay) -> str:
    """Send a report, preceded by `in_progress` if the relay lacks it; returns the relay's answer."""
    try:
        return to.report(report.model_dump_json().encode())
    except RelayOutOfOrder:
        work = report.workflow
        if report.event_type == "nightly" or work.status is not Status.COMPLETED:
            raise
    # `in_progress` is missing: the relay was down, or only failed jobs were re-run.
    begun = work.model_copy(
        update={"status": Status.IN_PROGRESS, "conclusion": None, "completed_at": None, "test_results": None}
    )
    to.report(report.model_copy(update={"workflow": begun}).model_dump_json().encode())
    return to.report(report.model_dump_json().encode())
