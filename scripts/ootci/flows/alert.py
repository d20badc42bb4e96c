"""Opens, updates and closes issues on GitHub so that they match the verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ootci.adapters.github_issues import GithubIssues
from ootci.errors import GithubRefused
from ootci.flows.context import Folders, clock, run_url
from ootci.model.alert import Alert, Remembered
from ootci.model.record import read
from ootci.model.verdict import Verdicts
from ootci.stages.alert import (
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


@dataclass(frozen=True)
class Subject:
    """What issues are about.

    Attributes:
        alerts: what there is to tell, given what the issues remember.
        texts: writes the issues.
        rules: when they are closed, and how many are made.

    """

    alerts: Callable[[Sequence[Remembered]], tuple[Alert, ...]]
    texts: Writer
    rules: Rules

    def decided(self, issues: GithubIssues | None) -> Decision:
        """What has to be done, with the issues as they are now; without any, as if there were none yet."""
        own = issues.own() if issues else ()
        remembered = [found for issue in own if (found := remembered_in(issue.body))]
        return decide(self.alerts(remembered), own, self.texts, self.rules)


def devices(folders: Folders, rules: Rules, address: str | None, repository: str) -> Subject:
    """Issues of the devices, from verdicts.json."""
    verdicts = read(Verdicts, folders.workspace.verdicts)
    server = os.environ.get("GITHUB_SERVER_URL")
    texts = AlertTexts(
        verdicts,
        folders.registry(),
        good_nights=rules.good_nights,
        reminder_days=REMINDER_DAYS,
        address=site_address(address) if address else None,
        runs_url=f"{server}/{repository}/actions/workflows/nightly.yml" if server and repository else None,
    )
    return Subject(partial(conditions, verdicts), texts, rules)


def deep_test_job(result: str, rules: Rules) -> Subject:
    """The issue of this repository's deep tests, from how their job ended."""
    return Subject(partial(deep_tests, result, clock()), DeepTestTexts(run_url()), rules)


def decided(subject: Subject, issues: GithubIssues | None, note: Callable[[str], None], *, really: bool) -> Decision:
    """What has to be done to the issues, of which there are none where no repository is named.

    Raises:
        GithubRefused: the issues cannot be read, and something was really to be done to them.

    """
    try:
        return subject.decided(issues)
    except GithubRefused as error:
        if really:
            raise
        # A fork has no issues, and its nightly is to run all the same.
        note(f"as if there were no issues yet, since they cannot be read: {error.what}")
        return subject.decided(None)


def do(decision: Decision, subject: Subject, issues: GithubIssues, say: Callable[[str], None]) -> int:
    """Do it, and say so; returns how many things GitHub refused."""
    refused = apply(decision.actions, issues, say)
    if any(action.act is Act.OPEN for action in decision.actions):
        # Another run may have made the same issue meanwhile; of two the older stays.
        again = subject.decided(issues)
        refused += apply(tuple(one for one in again.actions if one.act is Act.DUPLICATE), issues, say)
    _say_rest(decision, say)
    return refused


def dry_run(decision: Decision, say: Callable[[str], None]) -> None:
    """Say what would be done."""
    for action in decision.actions:
        say(f"would {action.sentence}")
    _say_rest(decision, say)
    if not decision.actions:
        say("nothing would be done")


def _say_rest(decision: Decision, say: Callable[[str], None]) -> None:
    for note in decision.notes:
        say(note)
    if decision.left:
        count = f"{len(decision.left)} more issue{'s' if len(decision.left) > 1 else ''}"
        say(f"{count} left for the next run, as one makes no more than its limit: {', '.join(decision.left)}")
