"""``ootci alert`` and ``ootci watch``: issues for broken devices, and the check that nightlies run."""

from __future__ import annotations

from pathlib import Path

import click

from ootci.adapters.github_issues import ACTIONS_BOT, GithubIssues
from ootci.adapters.github_rest import GithubRest
from ootci.cli.home import decided, named_repository, token_to_write
from ootci.cli.options import folder_options, format_option, github_output_option
from ootci.cli.show import append, note, one_line, show, show_text
from ootci.errors import EXIT_INFRASTRUCTURE, NightlyStale
from ootci.flows import alert as flow
from ootci.flows.context import Folders
from ootci.model.record import read
from ootci.model.verdict import Verdicts

LABEL = "ootci-alert"


@click.command("alert", short_help="Open, update and close GitHub issues.")
@click.option(
    "--apply/--dry-run",
    "wanted",
    default=None,
    help="Change issues, or only print the changes. Default: --apply on the default branch, in no fork.",
)
@click.option("--repository", metavar="OWNER/NAME", help="Repository of the issues. Default: GITHUB_REPOSITORY.")
@click.option("--author", default=ACTIONS_BOT, show_default=True, help="Login of the token's owner.")
@click.option("--address", metavar="URL", help="Address of the published site, for links to devices' pages.")
@click.option(
    "--deep-tests",
    "tested",
    type=click.Choice(["success", "failure", "cancelled", "skipped"]),
    help="Update only the issue for this repository's deep tests, by this result of their job.",
)
@format_option
@folder_options("devices", "work")
def alert(
    wanted: bool | None,
    repository: str | None,
    author: str,
    address: str | None,
    tested: str | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Open, update and close GitHub issues for the verdicts in verdicts.json.

    There is one issue per device and condition (broken, infrastructure, no report), one per failure on several devices
    whose likely cause is PyTorch, and one for a nightly that does not run. With --deep-tests, only the issue for this
    repository's deep tests is updated; the first run that passes closes it. An issue's text is updated every night. It
    is closed with a comment after three good nights in a row and reopened if the failure returns. It mentions the
    device's maintainers. At most five issues are opened; the rest wait for the next run.

    By default, issues are only changed on the default branch, and in no fork. GITHUB_TOKEN needs permission to write
    issues.
    """
    name = named_repository(repository)
    really, why = decided(wanted, name)
    token = token_to_write(really, name, "issues")
    issues = GithubIssues(GithubRest(token), name, LABEL, author) if name else None
    subject = flow.devices(folders, address, name) if tested is None else flow.deep_test_job(tested)
    decision = flow.decided(subject, issues, lambda text: note(one_line(text)), really=really)
    lines: list[str] = []

    def say(text: str) -> None:
        lines.append(one_line(text))
        if output_format != "json":
            show_text(lines[-1])

    say(f"{'changing' if really else 'dry run, nothing is changed on'} {name or 'no repository'}: {why}")
    refused = 0
    if really and issues is not None:
        refused = flow.do(decision, subject, issues, say)
    else:
        flow.dry_run(decision, say)
    if output_format == "json":
        facts = {"changed": really, "repository": name or None, "refused": refused, "said": lines}
        show(facts, output_format, "")
    if refused:
        raise click.exceptions.Exit(EXIT_INFRASTRUCTURE)


@click.command("watch", short_help="Check whether the nightly still runs.")
@github_output_option("Append `nightly=fresh`, `stale` or `never` to this file.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even if the nightly is stale.")
@format_option
@folder_options("work")
def watch(github_output: Path | None, exit_zero: bool, output_format: str, folders: Folders) -> None:
    """Check in verdicts.json whether the newest nightly is recent.

    Exit code 3 if it is stale, 0 before the first nightly.

    Run it in a separate workflow: a nightly that does not run cannot report that.
    """
    verdicts = read(Verdicts, folders.workspace.verdicts)
    state = "never" if verdicts.plan_id is None else "stale" if verdicts.stale_reason else "fresh"
    append(f"nightly={state}\n", github_output)
    reason = verdicts.stale_reason if state == "stale" else None
    text = {
        "never": "there has been no nightly yet: the history holds none",
        "stale": f"the nightly does not run: {reason}",
        "fresh": f"the nightly runs: the newest is {verdicts.plan_id}",
    }[state]
    show({"nightly": state, "plan_id": verdicts.plan_id, "reason": reason}, output_format, one_line(text))
    if reason is not None and not exit_zero:
        raise NightlyStale(
            reason,
            where=verdicts.plan_id or "the history",
            fix="look at the last runs of nightly.yml: whether it is switched off, waits for a runner, or fails",
        )
