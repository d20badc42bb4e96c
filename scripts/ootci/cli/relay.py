"""``ootci relay``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from pydantic import ValidationError

from ootci.adapters.crcr import Relay
from ootci.cli.annotation import show_warning
from ootci.cli.context import Folders, attempt_number, clock, folder_options, format_option
from ootci.cli.proposal import delivered, payload_option
from ootci.cli.reported import reported_runs
from ootci.errors import BadOption, OotciError, RelayOutOfOrder
from ootci.history.store import History
from ootci.model.commit import full_commit
from ootci.model.delivery import Delivery
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.relay import Conclusion, RelayReport, Status, concluded, concluded_of_change
from ootci.model.verdict import Verdicts
from ootci.stages.judge import judge_pull_request
from ootci.stages.relay import Origin, completed, in_progress, nightly

PATIENCE = 120


@click.group("relay")
def relay() -> None:
    """PyTorch's cross-repository CI relay."""


@relay.command(short_help="Report the plan's devices.")
@click.argument("devices_chosen", nargs=-1, metavar="[DEVICE]...")
@click.option(
    "--status", type=click.Choice([status.value for status in Status]), required=True, help="How far they have come."
)
@click.option("--nightly", "of_nightly", is_flag=True, help="Report a nightly, which no delivery asked for.")
@payload_option
@click.option("--relay", "address", envvar="OOTCI_RELAY_URL", metavar="URL", help="Where to; OOTCI_RELAY_URL.")
@click.option("--workflow", envvar="GITHUB_WORKFLOW", metavar="NAME", help="Name of the workflow; GITHUB_WORKFLOW.")
@click.option("--run-id", envvar="GITHUB_RUN_ID", metavar="N", help="Number of the workflow's run; GITHUB_RUN_ID.")
@click.option("--url", metavar="URL", help="Page of the workflow's run; made from GitHub's variables when absent.")
@click.option(
    "--check-run-id", metavar="ID", help="Identity of the check; made of the run and its attempt when absent."
)
@click.option("--artifacts", metavar="URL", help="Where reports and logs are; on GitHub Actions, on the run's page.")
@click.option(
    "--patience",
    type=click.IntRange(1, 3600),
    default=PATIENCE,
    envvar="OOTCI_RELAY_PATIENCE",
    show_default=True,
    metavar="SECONDS",
    help="Nothing is tried again after that, for all devices together.",
)
@click.option("--cancelled", is_flag=True, help="Whoever did not report was cancelled.")
@click.option("--strict", is_flag=True, help="Fail when a report was not taken, instead of warning.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent.")
@format_option
@folder_options("devices", "work", "history")
def report(
    devices_chosen: tuple[str, ...],
    status: str,
    of_nightly: bool,
    payload: Path | None,
    address: str | None,
    workflow: str | None,
    run_id: str | None,
    url: str | None,
    check_run_id: str | None,
    artifacts: str | None,
    patience: int,
    cancelled: bool,
    strict: bool,
    dry_run: bool,
    output_format: str,
    folders: Folders,
) -> None:
    """Report the runs of the plan's devices, or of the DEVICEs named, to PyTorch's cross-repository CI relay.

    A device that is run elsewhere is left out unless it is named: whoever runs it reports it.

    A report of a pull request or a push answers a delivery: `in_progress` first, then `completed` with what `ootci
    gate --pull-request` says of the device. A nightly is reported once, as `completed`, with its verdict.

    The relay wants to know who reports: a job on GitHub Actions needs `permissions: id-token: write`; elsewhere the
    token is in OOTCI_RELAY_TOKEN. A relay that is down or refuses is a warning, because that is not the device's fault.
    """
    plan = read(Plan, folders.workspace.plan)
    names = [plan.run_of(name).device for name in devices_chosen] or [
        run.device for run in plan.runs if run.external is None
    ]
    origin = _origin(workflow, run_id, url, check_run_id, artifacts)
    try:
        if of_nightly:
            reports = list(_of_nightly(Status(status), plan, names, origin, folders))
        else:
            reports = list(_of_change(Status(status), delivered(payload), plan, names, origin, folders, cancelled))
    except ValidationError as error:
        raise _unfit(error) from error
    if dry_run:
        if output_format == "json":
            click.echo(json.dumps([item.model_dump(mode="json") for item in reports], indent=1))
            return
        for item in reports:
            click.echo(item.model_dump_json(indent=1))
        return
    _hand_in(reports, Relay(_required(address, "--relay"), patience, os.environ), strict, output_format)


def _hand_in(reports: Sequence[RelayReport], to: Relay, strict: bool, output_format: str) -> None:
    failed: OotciError | None = None
    taken: list[dict[str, str | None]] = []
    for item in reports:
        name = item.workflow.job_name
        try:
            said = _one(item, to)
        except OotciError as error:
            failed = failed or error
            show_warning(f"{name} is not reported", error)
        else:
            status, end = item.workflow.status.value, item.workflow.conclusion
            taken.append({"device": name, "status": status, "conclusion": end.value if end else None, "answer": said})
            if output_format != "json":
                click.echo(f"{name}: reported {status}{f', {end.value}' if end else ''}; {said}")
    if output_format == "json":
        click.echo(json.dumps(taken, indent=1))
    if failed is not None and strict:
        raise failed


def _one(item: RelayReport, to: Relay) -> str:
    try:
        return to.report(item.model_dump_json().encode())
    except RelayOutOfOrder:
        work = item.workflow
        if item.event_type == "nightly" or work.status is not Status.COMPLETED:
            raise
    # Nobody said that the run is in progress: the relay was down then, or only failed jobs are run again.
    begun = work.model_copy(
        update={"status": Status.IN_PROGRESS, "conclusion": None, "completed_at": None, "test_results": None}
    )
    to.report(item.model_copy(update={"workflow": begun}).model_dump_json().encode())
    return to.report(item.model_dump_json().encode())


def _of_change(
    status: Status,
    delivery: Delivery,
    plan: Plan,
    names: Sequence[str],
    origin: Origin,
    folders: Folders,
    cancelled: bool,
) -> Iterator[RelayReport]:
    if status is Status.IN_PROGRESS:
        yield from (in_progress(delivery, name, origin, clock()) for name in names)
        return
    runs = reported_runs(folders.workspace, plan)
    judged = judge_pull_request(folders.registry(), plan, runs, History(folders.history), {})
    effects = {effect.device: effect for effect in judged.devices}
    for name in names:
        conclusion = concluded_of_change(effects[name])
        if cancelled and name not in runs:
            conclusion = Conclusion.CANCELLED
        yield completed(delivery, name, origin, clock(), runs.get(name), conclusion)


def _of_nightly(
    status: Status, plan: Plan, names: Sequence[str], origin: Origin, folders: Folders
) -> Iterator[RelayReport]:
    if status is not Status.COMPLETED:
        raise BadOption("a nightly is reported when it is over", where="--nightly", fix="say --status completed")
    runs = reported_runs(folders.workspace, plan)
    verdicts = {item.device: item for item in read(Verdicts, folders.workspace.verdicts).devices}
    tested = {name: full_commit(run.torch.git_version) for name, run in runs.items() if run.torch}
    # Every device of a nightly tests the same torch: one that did not report was to test it, too.
    planned = {run.torch.version: tested[run.device] for run in plan.runs if tested.get(run.device)}
    for name in names:
        commit = tested.get(name) or planned.get(plan.run_of(name).torch.version)
        if commit is None:
            click.echo(f"{name}: not reported, no run says which commit of PyTorch was tested", err=True)
            continue
        verdict = verdicts.get(name)
        current = verdict is not None and verdict.run_id == plan.run_of(name).run_id
        conclusion = concluded(verdict.verdict) if verdict and current else Conclusion.NEUTRAL
        yield nightly(commit, name, origin, clock(), runs.get(name) if current else None, conclusion)


def _origin(
    workflow: str | None, run_id: str | None, url: str | None, check_run_id: str | None, artifacts: str | None
) -> Origin:
    number = _required(run_id, "--run-id")
    if url is None and os.environ.get("GITHUB_ACTIONS") == "true":
        server, repository = (os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY"))
        url = f"{server}/{repository}/actions/runs/{number}"
        artifacts = artifacts or f"{url}#artifacts"
    return Origin(
        name=_required(workflow, "--workflow"),
        url=_required(url, "--url"),
        run_id=number,
        attempt=attempt_number(),
        check_run_id=check_run_id,
        artifact_url=artifacts,
    )


def _required(value: str | None, option: str) -> str:
    if not value:
        raise BadOption(
            "it is needed and not there", where=option, fix="give the option; on GitHub Actions, only --relay is needed"
        )
    return value


def _unfit(error: ValidationError) -> BadOption:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return BadOption(
        f"the report would not be valid: {place}: {first['msg']}",
        where="--workflow, --run-id, --url, --check-run-id, --artifacts",
        fix="give values as GitHub Actions has them",
    )
