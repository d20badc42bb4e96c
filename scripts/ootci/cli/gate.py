"""``ootci gate``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ootci.cli.context import Folders, folder_options, format_option
from ootci.cli.report import gate_lines, one_line, pull_request_lines
from ootci.cli.reported import reported_runs
from ootci.errors import EXIT_DEVICE, EXIT_FINE, BadOption
from ootci.history.store import History
from ootci.model.device import find_device
from ootci.model.plan import Plan
from ootci.model.pull_request import PullRequestGate
from ootci.model.record import read
from ootci.model.verdict import Gate, Verdicts
from ootci.stages.judge import decide, judge_pull_request, override
from ootci.stages.render import nightly_answer, pull_request_answer, site_address


@click.command("gate", short_help="Say whether one may merge.")
@click.option(
    "--pull-request",
    is_flag=True,
    help="Hold the work folder's runs, which tested a pull request, against each device's newest nightly.",
)
@click.option(
    "--device",
    "only",
    multiple=True,
    metavar="NAME",
    help="Ask for this device only, whatever its tier is; may be given more than once.",
)
@click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="DEVICE=REASON",
    help="Let a device not block, for a reason that is told with the answer; may be given more than once.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Append the answer in markdown to FILE: a step's summary, or the text of a comment.",
)
@click.option(
    "--github-output",
    type=click.Path(path_type=Path),
    help="Append the answer to this file: may-merge, and the verdict of a single device that was asked for.",
)
@click.option("--address", metavar="URL", help="Where the site is published: in markdown, devices link to their pages.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 also when one may not merge: the answer that is given says so.")
@format_option
@folder_options("devices", "work", "history")
def gate(
    pull_request: bool,
    only: tuple[str, ...],
    overrides: tuple[str, ...],
    summary: Path | None,
    github_output: Path | None,
    address: str | None,
    exit_zero: bool,
    output_format: str,
    folders: Folders,
) -> None:
    """Say whether one may merge. Exit code 1 when one may not.

    Without --pull-request it reads verdicts.json: every gating device has to be as expected, or those that are asked
    for, which may also not be paused. With it, no gating device that takes part
    may be newly broken, other than by tests that its vendor knows to fail, or that passed when they were run again.

    It fails closed: a gating device of which nothing is known blocks, and so does broken infrastructure.
    """
    wanted = _parsed(overrides)
    if only and pull_request:
        raise BadOption(
            "a pull request is not asked for single devices", where="--device", fix="plan it with the devices you want"
        )
    decision, verdicts = (_of_runs(folders, wanted), {}) if pull_request else _of_nightly(folders, only, wanted)
    if github_output is not None:
        with github_output.open("a", encoding="utf-8") as stream:
            stream.write(f"may-merge={str(decision.may_merge).lower()}\n")
            stream.writelines(f"verdict={verdicts.get(name, '')}\n" for name in only[:1])
    unknown = sorted(set(wanted) - set(decision.overridden))
    for name in unknown:
        click.echo(f"--override {name}: it does not block, so there is nothing to override", err=True)
    if summary is not None:
        with summary.open("a", encoding="utf-8") as stream:
            stream.write(_markdown(decision, folders, address))
    if output_format == "json":
        click.echo(decision.model_dump_json(indent=1))
    elif output_format == "markdown":
        click.echo(_markdown(decision, folders, address), nl=False)
    else:
        word = "yes" if decision.may_merge else "no"
        click.echo(f"may one merge: {word} ({one_line(decision.reason)})")
        lines = pull_request_lines(decision) if isinstance(decision, PullRequestGate) else gate_lines(decision)
        click.echo("\n".join(lines), nl=bool(lines))
    sys.exit(EXIT_FINE if decision.may_merge or exit_zero else EXIT_DEVICE)


def _markdown(decision: Gate | PullRequestGate, folders: Folders, address: str | None) -> str:
    address = site_address(address) if address else None
    if isinstance(decision, PullRequestGate):
        return pull_request_answer(decision, folders.registry(), address)
    return nightly_answer(decision, folders.registry(), address)


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


def _of_nightly(folders: Folders, only: tuple[str, ...], overrides: dict[str, str]) -> tuple[Gate, dict[str, str]]:
    """The answer, and the verdict of each device."""
    verdicts = read(Verdicts, folders.workspace.verdicts)
    gate, found = verdicts.gate, {item.device: item.verdict.value for item in verdicts.devices}
    if only:
        registry = folders.registry()
        for name in only:
            find_device(registry, name)
        gate = decide(registry, verdicts.devices, verdicts.clusters, only)
    return override(gate, overrides), found


def _of_runs(folders: Folders, overrides: dict[str, str]) -> PullRequestGate:
    plan = read(Plan, folders.workspace.plan)
    runs = reported_runs(folders.workspace, plan)
    # Who names one file asks for its device, whatever its tier is.
    one = folders.devices.is_file()
    return judge_pull_request(folders.registry(), plan, runs, History(folders.history), overrides, any_tier=one)
