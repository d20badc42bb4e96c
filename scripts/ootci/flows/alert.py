"""Opens, updates and closes issues on GitHub so that they match the verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ootci.adapters.github_issues import GithubIssues
from ootci.errors import GithubRefused
from ootci.flows.context import Folders, clock, run_url
from ootci.model.alert import GOOD_NIGHTS, Alert, Remembered
from ootci.model.record import read
from ootci.model.verdict import Verdicts
from ootci.model.words import many
from ootci.stages.alert import (
    Act,
    Decision,
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
    """A subject of issues.

    Attributes:
        alerts: makes the alerts, given what the issues remember.
        texts: writes the issues.
        good_nights: good nights in a row after which an issue is closed.

    """

    alerts: Callable[[Sequence[Remembered]], tuple[Alert, ...]]
    texts: Writer
    good_nights: int = GOOD_NIGHTS

    def decided(self, issues: GithubIssues | None) -> Decision:
        """The actions for the present issues; without a client, as if there were none yet."""
        own = issues.own() if issues else ()
        remembered = [found for issue in own if (found := remembered_in(issue.body))]
        return decide(self.alerts(remembered), own, self.texts, self.good_nights)


def devices(folders: Folders, address: str | None, repository: str) -> Subject:
    """Issues of the devices, from verdicts.json."""
    verdicts = read(Verdicts, folders.workspace.verdicts)
    server = os.environ.get("GITHUB_SERVER_URL")
    texts = AlertTexts(
        verdicts,
        folders.registry(),
        address=site_address(address) if address else None,
        runs_url=f"{server}/{repository}/actions/workflows/nightly.yml" if server and repository else None,
    )
    return Subject(partial(conditions, verdicts), texts)


def deep_test_job(result: str) -> Subject:
    """The issue of this repository's deep tests, from how their job ended."""
    return Subject(partial(deep_tests, result, clock()), DeepTestTexts(run_url()), good_nights=1)


def decided(subject: Subject, issues: GithubIssues | None, note: Callable[[str], None], *, really: bool) -> Decision:
    """The actions for the issues; without a repository there are none yet.

    Raises:
        GithubRefused: the issues cannot be read, and they were to be changed.

    """
    try:
        return subject.decided(issues)
    except GithubRefused as error:
        if really:
            raise
        # A fork has no issues, and its nightly must not fail for that.
        note(f"as if there were no issues yet, since they cannot be read: {error.what}")
        return subject.decided(None)


def do(decision: Decision, subject: Subject, issues: GithubIssues, say: Callable[[str], None]) -> int:
    """Change the issues, and report each change; returns how many changes GitHub refused."""
    refused = apply(decision.actions, issues, say)
    if any(action.act is Act.OPEN for action in decision.actions):
        # A concurrent run may have opened the same issue; the older one stays.
        again = subject.decided(issues)
        refused += apply(tuple(one for one in again.actions if one.act is Act.DUPLICATE), issues, say)
    _say_rest(decision, say)
    return refused


def dry_run(decision: Decision, say: Callable[[str], None]) -> None:
    """Report the changes that would be made."""
    for action in decision.actions:
        say(f"would {action.sentence}")
    _say_rest(decision, say)
    if not decision.actions:
        say("nothing would be done")


def _say_rest(decision: Decision, say: Callable[[str], None]) -> None:
    for note in decision.notes:
        say(note)
    if decision.left:
        left = many(len(decision.left), "more issue")
        say(f"{left} left for the next run, as one makes no more than its limit: {', '.join(decision.left)}")
