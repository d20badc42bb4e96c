"""``ootci gate``."""

from __future__ import annotations

import sys

import click

from ootci.cli.context import Folders, folder_options, format_option
from ootci.cli.report import gate_lines, one_line, pull_request_lines
from ootci.errors import EXIT_DEVICE, EXIT_FINE, BadOption, OotciError
from ootci.history.store import History
from ootci.model.plan import Plan
from ootci.model.pull_request import PullRequestGate
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.verdict import Gate, Verdicts
from ootci.stages.judge import judge_pull_request, override


@click.command("gate", short_help="Say whether one may merge.")
@click.option(
    "--pull-request",
    is_flag=True,
    help="Hold the work folder's runs, which tested a pull request, against each device's newest nightly.",
)
@click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="DEVICE=REASON",
    help="Let a device not block, for a reason that is told with the answer; may be given more than once.",
)
@format_option
@folder_options("devices", "work", "history")
def gate(pull_request: bool, overrides: tuple[str, ...], output_format: str, folders: Folders) -> None:
    """Say whether one may merge. Exit code 1 when one may not.

    Without --pull-request it reads verdicts.json: every gating device has to be as expected. With it, no gating device
    may be newly broken, other than by tests that its vendor knows to fail, or that passed when they were run again.

    It fails closed: a gating device of which nothing is known blocks, and so does broken infrastructure.
    """
    wanted = _parsed(overrides)
    decision = _of_runs(folders, wanted) if pull_request else override(_of_nightly(folders), wanted)
    unknown = sorted(set(wanted) - set(decision.overridden))
    for name in unknown:
        click.echo(f"--override {name}: it does not block, so there is nothing to override", err=True)
    if output_format == "json":
        click.echo(decision.model_dump_json(indent=1))
    else:
        markdown = output_format == "markdown"
        word = "yes" if decision.may_merge else "no"
        reason = one_line(decision.reason)
        text = f"**May one merge? {word.capitalize()}**: {reason}" if markdown else f"may one merge: {word} ({reason})"
        click.echo(text)
        lines = pull_request_lines(decision) if isinstance(decision, PullRequestGate) else gate_lines(decision)
        for line in lines:
            click.echo(f"\n{line}" if markdown and not line.startswith(("-", " ")) else line)
    sys.exit(EXIT_FINE if decision.may_merge else EXIT_DEVICE)


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
        parsed[name.strip()] = reason.strip()
    return parsed


def _of_nightly(folders: Folders) -> Gate:
    return read(Verdicts, folders.workspace.verdicts).gate


def _of_runs(folders: Folders, overrides: dict[str, str]) -> PullRequestGate:
    plan = read(Plan, folders.workspace.plan)
    runs: dict[str, Run] = {}
    for planned in plan.runs:
        try:
            run = read(Run, folders.workspace.run(planned.device).run)
        except OotciError as error:
            # It comes from a job that ran vendor code: a bad one is as good as none, and keeps no other out.
            click.echo(f"{planned.device}: {error.what}", err=True)
            continue
        if (run.id, run.device) == (planned.run_id, planned.device):
            runs[planned.device] = run
    return judge_pull_request(folders.registry(), plan, runs, History(folders.history), overrides)
