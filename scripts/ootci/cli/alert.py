"""``ootci alert`` and ``ootci watch``: who has to know, and whether there is anything to know."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click

from ootci.adapters.github_issues import ACTIONS_BOT, GithubIssues
from ootci.adapters.github_rest import GithubRest
from ootci.cli.context import Folders, clock, folder_options, format_option
from ootci.cli.home import decided, named_repository, token_to_write
from ootci.cli.report import one_line, told
from ootci.errors import EXIT_INFRASTRUCTURE, GithubRefused, NightlyStale
from ootci.model.alert import Alert, Remembered
from ootci.model.device import RegisteredDevice
from ootci.model.record import read
from ootci.model.verdict import Verdicts
from ootci.stages.alert import (
    GOOD_NIGHTS,
    NEW_ISSUES,
    REMINDER_DAYS,
    Act,
    Decision,
    Rules,
    Writer,
    apply,
    conditions,
    decide,
    deep_tests,
    remembered_in,
)
from ootci.stages.render import AlertTexts, DeepTestTexts, site_address

LABEL = "ootci-alert"


@click.command("alert", short_help="Open, rewrite and close issues.")
@click.option(
    "--apply/--dry-run",
    "wanted",
    default=None,
    help="Do it, or only say what would be done. Default: do it on the main branch of the home repository.",
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
    An issue is written anew every night, commented on when something new fails, closed after some good nights, and
    opened again when it comes back. It mentions the maintainers whom the device file names.

    Nothing is changed outside the main branch of the home repository, unless --apply is given. The home repository is
    the one that OOTCI_HOME names. GITHUB_TOKEN has to be allowed to write issues.
    """
    name = named_repository(repository)
    really, why = decided(wanted, name)
    token = token_to_write(really, name, "issues")
    issues = GithubIssues(GithubRest(token), name, LABEL, author) if name else None
    if tested is None:
        verdicts, registry = read(Verdicts, folders.workspace.verdicts), folders.registry()
        rules = Rules(good_nights=good_nights, new_issues=limit)
        decided_now = partial(
            _decided, partial(conditions, verdicts), _texts(verdicts, registry, rules, address, name), rules
        )
    else:
        rules = Rules(good_nights=1, new_issues=limit)
        decided_now = partial(_decided, partial(deep_tests, tested, clock()), DeepTestTexts(_run_url(name)), rules)
    try:
        decision = decided_now(issues)
    except GithubRefused as error:
        if really:
            raise
        # A fork has no issues, and its nightly is to run all the same.
        click.echo(f"as if there were no issues yet, since they cannot be read: {one_line(error.what)}", err=True)
        decision = decided_now(None)
    say = _Said(output_format)
    say(f"{'changing' if really else 'dry run, nothing is changed on'} {name or 'no repository'}: {why}")
    refused = 0
    if not really or issues is None:
        _say(decision, "would ", say)
    else:
        refused = apply(decision.actions, issues, say)
        if any(action.act is Act.OPEN for action in decision.actions):
            # Another run may have made the same issue meanwhile; of two the older stays.
            again = decided_now(issues)
            refused += apply(tuple(one for one in again.actions if one.act is Act.DUPLICATE), issues, say)
        _say(Decision((), decision.left, decision.notes), "", say)
    say.end({"changed": really, "repository": name or None, "refused": refused})
    if refused:
        raise click.exceptions.Exit(EXIT_INFRASTRUCTURE)


class _Said:
    """What is said of what is done: at once for people, together at the end for machines."""

    def __init__(self, output_format: str) -> None:
        self._format = output_format
        self._lines: list[str] = []

    def __call__(self, text: str) -> None:
        self._lines.append(one_line(text))
        if self._format != "json":
            click.echo(self._lines[-1])

    def end(self, facts: dict[str, object]) -> None:
        if self._format == "json":
            click.echo(told("", {**facts, "said": self._lines}, self._format))


def _texts(
    verdicts: Verdicts, registry: tuple[RegisteredDevice, ...], rules: Rules, address: str | None, name: str
) -> AlertTexts:
    server = os.environ.get("GITHUB_SERVER_URL")
    return AlertTexts(
        verdicts,
        registry,
        good_nights=rules.good_nights,
        reminder_days=REMINDER_DAYS,
        address=site_address(address) if address else None,
        runs_url=f"{server}/{name}/actions/workflows/nightly.yml" if server and name else None,
    )


def _run_url(name: str) -> str | None:
    server, run = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_RUN_ID")
    return f"{server}/{name}/actions/runs/{run}" if server and name and run else None


def _decided(
    alerts: Callable[[Sequence[Remembered]], tuple[Alert, ...]],
    texts: Writer,
    rules: Rules,
    issues: GithubIssues | None,
) -> Decision:
    own = issues.own() if issues else ()
    remembered = [found for issue in own if (found := remembered_in(issue.body))]
    return decide(alerts(remembered), own, texts, rules)


def _say(decision: Decision, would: str, say: Callable[[str], None]) -> None:
    for action in decision.actions:
        say(would + action.sentence)
    for note in decision.notes:
        say(note)
    if decision.left:
        count = f"{len(decision.left)} more issue{'s' if len(decision.left) > 1 else ''}"
        say(f"{count} left for the next run, as one makes no more than its limit: {', '.join(decision.left)}")
    if would and not decision.actions:
        say("nothing would be done")


@click.command("watch", short_help="Say whether the nightly still runs.")
@click.option(
    "--github-output", type=click.Path(path_type=Path), help="Append `nightly`: fresh, stale or never, to this file."
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 also when it does not.")
@format_option
@folder_options("work")
def watch(github_output: Path | None, exit_zero: bool, output_format: str, folders: Folders) -> None:
    """Say whether the newest nightly is young enough, as verdicts.json says. Exit code 3 when it is not.

    It is for a workflow of its own, at another time than the nightly: who does not run cannot say so.
    """
    verdicts = read(Verdicts, folders.workspace.verdicts)
    state = "never" if verdicts.plan_id is None else "stale" if verdicts.stale_reason else "fresh"
    if github_output is not None:
        with github_output.open("a", encoding="utf-8") as stream:
            stream.write(f"nightly={state}\n")
    reason = None if state == "fresh" else verdicts.stale_reason or "the history holds no nightly at all"
    text = f"the nightly does not run: {reason}" if reason else f"the nightly runs: the newest is {verdicts.plan_id}"
    click.echo(told(text, {"nightly": state, "plan_id": verdicts.plan_id, "reason": reason}, output_format))
    if reason is None:
        return
    if not exit_zero:
        raise NightlyStale(
            reason,
            where=verdicts.plan_id or "the history",
            fix="look at the last runs of nightly.yml: whether it is switched off, waits for a runner, or fails",
        )
