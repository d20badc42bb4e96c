"""``ootci alert`` and ``ootci watch``: who has to know, and whether there is anything to know."""

from __future__ import annotations

from pathlib import Path

import click

from ootci.adapters.github_issues import ACTIONS_BOT, GithubIssues
from ootci.adapters.github_rest import GithubRest
from ootci.cli.home import decided, named_repository, token_to_write
from ootci.cli.options import folder_options, format_option
from ootci.cli.show import append, note, one_line, show, show_text
from ootci.errors import EXIT_INFRASTRUCTURE, NightlyStale
from ootci.flows import alert as flow
from ootci.flows.context import Folders
from ootci.model.record import read
from ootci.model.verdict import Verdicts
from ootci.stages.alert import GOOD_NIGHTS, NEW_ISSUES, Rules

LABEL = "ootci-alert"


@click.command("alert", short_help="Open, rewrite and close issues.")
@click.option(
    "--apply/--dry-run",
    "wanted",
    default=None,
    help="Do it, or only say what would be done. Default: do it on the default branch, in no fork.",
)
@click.option("--repository", metavar="OWNER/NAME", help="Whose issues; GITHUB_REPOSITORY when absent.")
@click.option("--author", default=ACTIONS_BOT, show_default=True, help="Login that the token speaks for.")
@click.option(
    "--good-nights",
    type=click.IntRange(1, 90),
    default=GOOD_NIGHTS,
    show_default=True,
    help="Good nights in a row after which an issue is closed.",
)
@click.option(
    "--limit",
    type=click.IntRange(0, 100),
    default=NEW_ISSUES,
    show_default=True,
    help="New issues at most; the rest wait for the next run.",
)
@click.option("--address", metavar="URL", help="Where the site is published: issues link to the devices' pages.")
@click.option(
    "--deep-tests",
    "tested",
    type=click.Choice(["success", "failure", "cancelled", "skipped"]),
    help="Look at nothing but how the job of this repository's deep tests ended; verdicts.json is not read.",
)
@format_option
@folder_options("devices", "work")
def alert(
    wanted: bool | None,
    repository: str | None,
    author: str,
    good_nights: int,
    limit: int,
    address: str | None,
    tested: str | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Make GitHub's issues say what verdicts.json says.

    There is one issue for each condition of each device: it is broken, its machine does not work, it does not report.
    One more is for failures of several devices that are probably PyTorch's, and one for a nightly that does not run.
    With --deep-tests it is the one issue for this repository's own deep tests, closed by the first run that passes.
    An issue is written anew every night, closed with the only comment after some good nights, and opened again when it
    comes back. It mentions the maintainers whom the device file names.

    Nothing is changed in a fork or on another branch than the default one, unless --apply is given. GITHUB_TOKEN has to
    be allowed to write issues.
    """
    name = named_repository(repository)
    really, why = decided(wanted, name)
    token = token_to_write(really, name, "issues")
    issues = GithubIssues(GithubRest(token), name, LABEL, author) if name else None
    if tested is None:
        subject = flow.devices(folders, Rules(good_nights=good_nights, new_issues=limit), address, name)
    else:
        subject = flow.deep_test_job(tested, Rules(good_nights=1, new_issues=limit), name)
    decision = flow.decided(subject, issues, lambda text: note(one_line(text)), really=really)
    say = _Said(output_format)
    say(f"{'changing' if really else 'dry run, nothing is changed on'} {name or 'no repository'}: {why}")
    refused = 0
    if really and issues is not None:
        refused = flow.do(decision, subject, issues, say)
    else:
        flow.dry_run(decision, say)
    if output_format == "json":
        facts = {"changed": really, "repository": name or None, "refused": refused, "said": say.lines}
        show(facts, output_format, "")
    if refused:
        raise click.exceptions.Exit(EXIT_INFRASTRUCTURE)


class _Said:
    """What is said of what is done: at once for people, together at the end for machines."""

    def __init__(self, output_format: str) -> None:
        self._at_once = output_format != "json"
        self.lines: list[str] = []

    def __call__(self, text: str) -> None:
        self.lines.append(one_line(text))
        if self._at_once:
            show_text(self.lines[-1])


@click.command("watch", short_help="Say whether the nightly still runs.")
@click.option(
    "--github-output", type=click.Path(path_type=Path), help="Append `nightly`: fresh, stale or never, to this file."
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 also when it does not.")
@format_option
@folder_options("work")
def watch(github_output: Path | None, exit_zero: bool, output_format: str, folders: Folders) -> None:
    """Say whether the newest nightly is young enough, as verdicts.json says. Exit code 3 when it is not.

    Before the first nightly there is nothing to be late, and the exit code is 0.

    It is for a workflow of its own, at another time than the nightly: who does not run cannot say so.
    """
    verdicts = read(Verdicts, folders.workspace.verdicts)
    state = "never" if verdicts.plan_id is None else "stale" if verdicts.stale_reason else "fresh"
    if github_output is not None:
        append(f"nightly={state}\n", github_output)
    reason = verdicts.stale_reason if state == "stale" else None
    text = {
        "never": "there has been no nightly yet: the history holds none",
        "stale": f"the nightly does not run: {reason}",
        "fresh": f"the nightly runs: the newest is {verdicts.plan_id}",
    }[state]
    show({"nightly": state, "plan_id": verdicts.plan_id, "reason": reason}, output_format, one_line(text))
    if reason is None:
        return
    if not exit_zero:
        raise NightlyStale(
            reason,
            where=verdicts.plan_id or "the history",
            fix="look at the last runs of nightly.yml: whether it is switched off, waits for a runner, or fails",
        )
