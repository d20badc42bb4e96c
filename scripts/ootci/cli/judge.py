"""``ootci judge`` and ``ootci gate``: the verdicts, and whether merging is allowed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from ootci.adapters.annotation import show_warning
from ootci.adapters.github_rest import GithubRest
from ootci.adapters.github_runs import GithubRuns
from ootci.cli.home import TOKEN_VARIABLE, named_repository
from ootci.cli.options import folder_options, format_option, github_output_option, path_option
from ootci.cli.show import append, note, one_line, show, table
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, BadOption, GithubRefused, GithubUnreachable
from ootci.flows.context import Folders, clock
from ootci.flows.receive import without_runner
from ootci.flows.reports import reported_runs
from ootci.flows.shares import share_alone
from ootci.history.store import History
from ootci.model.device import find_device, name_of
from ootci.model.plan import Plan
from ootci.model.pull_request import PullRequestGate
from ootci.model.record import read, write
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict, Gate, VerdictName, Verdicts
from ootci.stages.judge import decide, expected_to_gate, judge, judge_pull_request
from ootci.stages.render import nightly_answer, pull_request_answer, site_address, spoken


@click.command("judge", short_help="Derive the verdicts.")
@github_output_option(
    "Append `gating=N` to this file: how many gating devices the newest nightly tests, or have a result of that day."
)
@format_option
@folder_options("devices", "work", "history")
def judge_command(github_output: Path | None, output_format: str, folders: Folders) -> None:
    """Derive every device's verdicts from the history; writes verdicts.json."""
    registry, history = folders.registry(), History(folders.history)
    verdicts = judge(registry, history, clock())
    write(verdicts, folders.workspace.verdicts)
    newest = history.plan(verdicts.plan_id) if verdicts.plan_id else None
    append(f"gating={len(expected_to_gate(registry, verdicts.gate, newest))}\n", github_output)
    show(verdicts, output_format, lambda markdown: _verdicts_text(verdicts, markdown))


def _verdicts_text(verdicts: Verdicts, markdown: bool) -> str:
    if markdown:
        rows = [(item.device, item.verdict.value, item.reason) for item in verdicts.devices]
        return f"{table(('device', 'verdict', 'reason'), rows, markdown=True)}\n\n{one_line(verdicts.summary)}"
    lines = [f"{item.device}: {item.verdict.value}: {one_line(item.reason)}" for item in verdicts.devices]
    return "\n".join([*lines, one_line(verdicts.summary)])


@click.command("gate", short_help="Check whether merging is allowed.")
@click.option(
    "--pull-request",
    is_flag=True,
    help="Compare the work folder's runs of a pull request with each device's newest nightly.",
)
@click.option(
    "--device",
    "only",
    multiple=True,
    metavar="DEVICE",
    help="Check only this device, whatever its tier; a name or a device file. Repeatable.",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="With --pull-request and --device: answer for this share of the tests alone, before `ootci collect`.",
)
@click.option(
    "--run-id",
    type=int,
    metavar="N",
    help="With --pull-request: the workflow run whose jobs test its devices. A device whose job no runner took "
    "in an hour is INFRA. GITHUB_TOKEN needs `actions: read`.",
)
@click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="DEVICE=REASON",
    help="Leave this device out; the answer shows the reason. Repeatable.",
)
@path_option("--summary", text="Append the answer as Markdown to FILE, such as a step summary.")
@github_output_option("Append `answer` and, with --device, `verdict` to this file.")
@click.option(
    "--address", metavar="URL", help="Address of the published site, for links to devices' pages in Markdown."
)
@click.option(
    "--torch",
    metavar="VERSION",
    help="The torch to answer for: a version or commit, or its beginning. cannot_say if another was tested.",
)
@click.option(
    "--cancelled",
    is_flag=True,
    help="The job of --device was cancelled or ran out of time: cannot_say without a report.",
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 for every answer.")
@format_option
@folder_options("devices", "work", "history")
def gate(
    pull_request: bool,
    only: tuple[str, ...],
    shard: str | None,
    run_id: int | None,
    overrides: tuple[str, ...],
    summary: Path | None,
    github_output: Path | None,
    address: str | None,
    torch: str | None,
    cancelled: bool,
    exit_zero: bool,
    output_format: str,
    folders: Folders,
) -> None:
    """Check whether merging is allowed: yes (exit code 0), no (1) or cannot_say (3).

    The answer is no if a gating device is broken on the newest nightly (verdicts.json), or, with --pull-request, if one
    is newly broken. Known and flaky failures do not count.

    A gating device without a result does not block; the answer names it. The answer is cannot_say if fewer than half of
    the gating devices or no reference device has a result, or if the newest nightly is stale, dated in the future, or
    of another torch than --torch.

    \b
    Examples:
      ootci gate
      ootci gate --device mydevice --torch 2.15.0
    """
    wanted = _parsed(overrides)
    if torch and pull_request:
        raise BadOption(
            "a pull request is of one torch", where="--torch", fix="leave it out: the runs that are judged name theirs"
        )
    if shard and not (pull_request and len(only) == 1):
        raise BadOption(
            "a share is of one device's run", where="--shard", fix="give --pull-request and one --device with it"
        )
    folders, only = folders.among(only)
    decision, tested = (
        _of_runs(folders, only, wanted, shard, run_id)
        if pull_request
        else _of_nightly(folders, only, wanted, torch, cancelled=cancelled)
    )
    verdicts = {name: item.verdict.value for name, item in tested.items() if isinstance(item, DeviceVerdict)}
    outputs = [f"answer={decision.answer}\n", *(f"verdict={verdicts.get(name, '')}\n" for name in only[:1])]
    append("".join(outputs), github_output)
    for name in sorted(set(wanted) - set(decision.overridden)):
        note(f"--override {name}: it has a result and does not block, so there is nothing to override")
    if summary is not None:
        append(_text(decision, tested, folders, address, markdown=True), summary)
    show(decision, output_format, lambda markdown: _text(decision, tested, folders, address, markdown=markdown))
    sys.exit(EXIT_FINE if exit_zero else EXITS[decision.answer])


def _text(
    decision: Gate | PullRequestGate,
    tested: Mapping[str, DeviceVerdict | Run],
    folders: Folders,
    address: str | None,
    *,
    markdown: bool,
) -> str:
    if markdown:
        address = site_address(address) if address else None
        if isinstance(decision, PullRequestGate):
            return pull_request_answer(decision, folders.registry(), tested, address)
        return nightly_answer(decision, folders.registry(), tested, address)
    lines = _pull_request_lines(decision) if isinstance(decision, PullRequestGate) else _gate_lines(decision)
    return "\n".join([f"may one merge: {spoken(decision.answer)} ({one_line(decision.reason)})", *lines])


EXITS = {"yes": EXIT_FINE, "no": EXIT_DEVICE, "cannot_say": EXIT_INFRASTRUCTURE}
"""The exit code of each answer."""


def _parsed(overrides: tuple[str, ...]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for text in overrides:
        name, _, reason = text.partition("=")
        if not name.strip() or not reason.strip():
            raise BadOption(
                f"`{text}` names no device or gives no reason",
                where="--override",
                fix='write the device and why it shall not block: --override openreg="broken by #12345, see there"',
            )
        parsed[name_of(name.strip())] = reason.strip()
    return parsed


_SILENT = (VerdictName.NO_DATA, VerdictName.NEVER_RAN)


def _of_nightly(
    folders: Folders, only: tuple[str, ...], overrides: dict[str, str], torch: str | None, *, cancelled: bool
) -> tuple[Gate, dict[str, DeviceVerdict]]:
    """The answer, and the verdict of each device."""
    for name in only:
        find_device(folders.registry(), name)
    verdicts = read(Verdicts, folders.workspace.verdicts)
    gate, found = verdicts.gate, {item.device: item for item in verdicts.devices}
    doubt = gate.doubt
    if doubt is None and verdicts.stale_at is not None and clock() > verdicts.stale_at:
        doubt = f"the newest nightly was to be followed by another before {verdicts.stale_at:%Y-%m-%d %H:%M} UTC"
    if cancelled and only and all(name in found and found[name].verdict in _SILENT for name in only):
        doubt = "the device's job was cancelled, or ran out of time"
    if only or overrides or torch or doubt:
        gate = decide(
            folders.registry(),
            verdicts.devices,
            verdicts.clusters,
            planned_at=verdicts.planned_at,
            doubt=doubt,
            only=only,
            alone=gate.alone,
            overrides=overrides,
            torch=torch,
            predicted=gate.predicted,
        )
    return gate, found


def _of_runs(
    folders: Folders, only: tuple[str, ...], overrides: dict[str, str], shard: str | None, run_id: int | None
) -> tuple[PullRequestGate, dict[str, Run]]:
    """The answer, and the run of each device."""
    plan = read(Plan, folders.workspace.plan)
    for name in only:
        plan.run_of(name)  # an error where the plan has no such device
    if shard is None:
        runs = reported_runs(folders.workspace, plan, note)
        runs |= {run.device: run for run in _without_runner(run_id, plan, runs)}
    else:
        plan, run = share_alone(folders, plan, only[0], shard)
        runs = {only[0]: run}
    # With a single device file its device counts, whatever its tier.
    one = folders.devices.is_file()
    history = History(folders.history)
    return judge_pull_request(folders.registry(), plan, runs, history, overrides, only=only, any_tier=one), runs


def _without_runner(run_id: int | None, plan: Plan, runs: Mapping[str, Run]) -> Sequence[Run]:
    if run_id is None:
        return ()
    repository, token = named_repository(None), os.environ.get(TOKEN_VARIABLE)
    if not repository or not token:
        note("--run-id: without GITHUB_REPOSITORY and GITHUB_TOKEN the jobs are not looked up")
        return ()
    try:
        return tuple(without_runner(GithubRuns(GithubRest(token), repository, ""), run_id, plan, runs, clock()))
    except (GithubUnreachable, GithubRefused) as error:
        # A device that has not reported has no result then, as without the option.
        show_warning("it is not known whether a runner took each device's job", error)
        return ()


def _gate_lines(gate: Gate) -> list[str]:
    """The failure of each blocking device, and the options that override it."""
    lines = []
    for item in gate.blockers:
        since = f"since {item.broken_since:%Y-%m-%d}" if item.broken_since else ""
        since = "new tonight" if item.is_new else since
        lines.append(f"- {item.device}: {item.verdict.value}{', ' + since if since else ''}: {one_line(item.reason)}")
        lines += _named(item.first, item.new_failures)
        if item.cause_reason is not None:
            lines.append(f"    {one_line(item.cause_reason)}")
    return lines + _overrides(gate.blocking, gate.overridden)


def _pull_request_lines(gate: PullRequestGate) -> list[str]:
    """The effect of a pull request on each device, and the options that override it."""
    lines = []
    for item in gate.devices:
        apart = [(item.still_failing, "failing as before"), (item.known, "known"), (item.flaky, "flaky")]
        counts = "".join(f", {number} {word}" for number, word in apart if number)
        base = f"; compared with {item.base}, torch {item.base_torch or 'unknown'}" if item.base else ""
        word = item.effect.value.replace("_", " ") + ("" if item.gates else ", advisory")
        lines.append(f"- {item.device}: {word}{counts}: {one_line(item.reason + base)}")
        lines += _named(item.first, item.newly_failing)
    lines += _overrides(gate.blocking, gate.overridden)
    return [*lines, f"torch: {one_line(gate.torch)}"] if gate.torch else lines


def _named(first: Sequence[str], total: int) -> list[str]:
    more = [f"    and {total - len(first)} more"] if total > len(first) else []
    return [f"    {one_line(test_id)}" for test_id in first] + more


def _overrides(blocking: Sequence[str], overridden: Mapping[str, str]) -> list[str]:
    lines = [f"- {name} is not asked, overridden: {one_line(reason)}" for name, reason in overridden.items()]
    if blocking:
        lines.append(f"to continue nevertheless: {' '.join(f'--override {name}=REASON' for name in blocking)}")
    return lines
