"""``ootci relay``: reports to PyTorch's CI relay, and the criteria of its level L3."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click
from pydantic import ValidationError

from ootci.adapters.annotation import show_notice, show_warning
from ootci.adapters.crcr import Relay
from ootci.cli.options import folder_options, format_option, payload_option
from ootci.cli.show import note, one_line, show, show_text, table
from ootci.errors import BadOption, OotciError
from ootci.flows.context import Folders, attempt_number, run_url
from ootci.flows.proposal import delivered
from ootci.flows.relay import hand_in, reports_of_change, reports_of_nightly
from ootci.history.readiness import Readiness, readiness
from ootci.history.store import History
from ootci.model.device import find_device, name_of
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.relay import RelayReport, Status
from ootci.model.verdict import Verdicts
from ootci.model.words import many
from ootci.stages.relay import Origin

PATIENCE = 120


@click.command(short_help="Report the plan's devices to the relay.")
@click.argument("devices_chosen", nargs=-1, metavar="[DEVICE]...")
@click.option(
    "--status", type=click.Choice([status.value for status in Status]), required=True, help="Status to report."
)
@click.option(
    "--nightly", "of_nightly", is_flag=True, help="Report a nightly instead of a delivered pull request or push."
)
@payload_option
@click.option(
    "--relay",
    "address",
    envvar="OOTCI_RELAY_URL",
    metavar="URL",
    help="Address of the relay. Default: OOTCI_RELAY_URL.",
)
@click.option(
    "--workflow", envvar="GITHUB_WORKFLOW", metavar="NAME", help="Name of the workflow. Default: GITHUB_WORKFLOW."
)
@click.option("--run-id", envvar="GITHUB_RUN_ID", metavar="N", help="Id of the workflow run. Default: GITHUB_RUN_ID.")
@click.option("--url", metavar="URL", help="Page of the workflow run. Default: from GitHub's variables.")
@click.option("--check-run-id", metavar="ID", help="Id of the check. Default: from the run and its attempt.")
@click.option(
    "--patience",
    type=click.IntRange(1, 3600),
    default=PATIENCE,
    envvar="OOTCI_RELAY_PATIENCE",
    show_default=True,
    metavar="SECONDS",
    help="Stop retrying after this time, for all devices together.",
)
@click.option("--cancelled", is_flag=True, help="Report devices without a run as cancelled.")
@click.option("--strict", is_flag=True, help="Fail, instead of warning, if a report is refused or no relay is named.")
@click.option("--dry-run", is_flag=True, help="Print the reports without sending them.")
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
    patience: int,
    cancelled: bool,
    strict: bool,
    dry_run: bool,
    output_format: str,
    folders: Folders,
) -> None:
    """Report the runs of the plan's devices, or of the DEVICEs named, to PyTorch's cross-repository CI relay.

    Devices that are run elsewhere are only reported if named.

    A delivered pull request or push is reported twice: `in_progress`, then `completed` with the device's result of
    `ootci gate --pull-request`. The newest nightly of the history is reported once, as `completed`, with its verdict.

    The relay needs a token: on GitHub Actions set `permissions: id-token: write`, elsewhere OOTCI_RELAY_TOKEN. A relay
    that is down or refuses a report is only a warning, and without a relay nothing is reported.
    """
    plan = _judged(folders) if of_nightly else read(Plan, folders.workspace.plan)
    names = [plan.run_of(name_of(name)).device for name in devices_chosen] or [
        run.device for run in plan.runs if run.external is None
    ]
    origin = _origin(workflow, run_id, url, check_run_id)
    try:
        if of_nightly:
            reports = list(reports_of_nightly(Status(status), plan, names, origin, folders, note))
        else:
            delivery = delivered(payload)
            reports = list(
                reports_of_change(Status(status), delivery, plan, names, origin, folders, note, cancelled=cancelled)
            )
    except ValidationError as error:
        raise _unfit(error) from error
    if dry_run:
        texts = "\n".join(item.model_dump_json(indent=1) for item in reports)
        show([item.model_dump(mode="json") for item in reports], output_format, texts)
        return
    if not address and not strict:
        show_notice("not reported", "no relay is named, by OOTCI_RELAY_URL or --relay")
        if output_format == "json":
            show([], output_format, "")
        return
    _hand_all_in(reports, Relay(_required(address, "--relay"), patience, os.environ), strict, output_format)


def _judged(folders: Folders) -> Plan:
    """The nightly that verdicts.json is about."""
    newest = read(Verdicts, folders.workspace.verdicts).plan_id
    if newest is None:
        raise BadOption("there has been no nightly yet", where="--nightly", fix="report it when there was one")
    history = History(folders.history)
    history.night(newest, newest)  # an error where the history lacks it
    return history.plan(newest)


def _hand_all_in(reports: Sequence[RelayReport], to: Relay, strict: bool, output_format: str) -> None:
    failed: OotciError | None = None
    taken: list[dict[str, str | None]] = []
    for item in reports:
        name = item.workflow.job_name
        try:
            said = hand_in(item, to)
        except OotciError as error:
            failed = failed or error
            show_warning(f"{name} is not reported", error)
        else:
            status, end = item.workflow.status.value, item.workflow.conclusion
            taken.append({"device": name, "status": status, "conclusion": end.value if end else None, "answer": said})
            if output_format != "json":
                show_text(one_line(f"{name}: reported {status}{f', {end.value}' if end else ''}; {said}"))
    if output_format == "json":
        show(taken, output_format, "")
    if failed is not None and strict:
        raise failed


def _origin(workflow: str | None, run_id: str | None, url: str | None, check_run_id: str | None) -> Origin:
    number, attempt, artifacts = _required(run_id, "--run-id"), attempt_number(), None
    if url is None and os.environ.get("GITHUB_ACTIONS") == "true":
        url = run_url(number)
        artifacts = f"{url}#artifacts"
    return Origin(
        name=_required(workflow, "--workflow"),
        url=_required(url, "--url"),
        run_id=number,
        run_attempt=str(attempt),
        check_run_id=check_run_id or f"{number}-{attempt}",
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
        where="--workflow, --run-id, --url, --check-run-id",
        fix="give values as GitHub Actions has them",
    )


@click.command("readiness", short_help="Check the criteria for level L3.")
@click.argument("devices_chosen", nargs=-1, metavar="[DEVICE]...")
@format_option
@folder_options("devices", "work", "history")
def readiness_command(devices_chosen: tuple[str, ...], output_format: str, folders: Folders) -> None:
    """Hold the nightlies of all devices, or of the DEVICEs named, against the relay's criteria for level L3.

    The last 14 days count. A criterion is met, not met, or there is not enough data. Needs verdicts.json.
    """
    folders, chosen = folders.among(devices_chosen)
    registry = folders.registry()
    for name in chosen:
        find_device(registry, name)
    history = History(folders.history)
    found = [
        readiness(item, {run.head.plan_id: run.head for run, *_ in history.attempts_by_nightly(item.device)})
        for item in read(Verdicts, folders.workspace.verdicts).devices
        if not chosen or item.device in chosen
    ]
    show([item.model_dump(mode="json") for item in found], output_format, lambda markdown: _tables(found, markdown))


def _tables(found: Sequence[Readiness], markdown: bool) -> str:
    parts = []
    for item in found:
        dates = f", {item.first:%Y-%m-%d} to {item.last:%Y-%m-%d}" if item.first and item.last else ""
        parts.append(f"{item.device}: {many(item.nights, 'nightly', 'nightlies')}{dates}")
        rows = [(one.name, one.value or "-", one.goal, one.word) for one in item.criteria]
        parts.append(table(("criterion", "value", "goal", ""), rows, markdown=markdown) + "\n")
    return "\n".join(parts)
