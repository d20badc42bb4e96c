"""Changes to issues: as sentences, and applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ootci.adapters.github_issues import GithubIssues
from ootci.errors import GithubRefused


class Act(str, Enum):
    """A kind of change to an issue."""

    OPEN = "open"
    REWRITE = "rewrite"
    REOPEN = "reopen"
    CLOSE = "close"
    DUPLICATE = "duplicate"


_STATES: dict[Act, dict[str, str]] = {
    Act.REWRITE: {},
    Act.REOPEN: {"state": "open", "state_reason": "reopened"},
    Act.CLOSE: {"state": "closed", "state_reason": "completed"},
    Act.DUPLICATE: {"state": "closed", "state_reason": "duplicate"},
}


@dataclass(frozen=True)
class Action:
    """One change.

    Attributes:
        key: of the alert that it is for.
        title: the issue's title from then on.
        body: its text from then on.
        number: the issue; None for a new one.
        comment: text of a comment; None for no comment.
        labels: of a new issue, in addition to the label of all alerts.

    """

    act: Act
    key: str
    title: str
    body: str
    why: str
    number: int | None = None
    comment: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The change in words."""
        if self.number is None:
            return f"open an issue for {self.key}, “{self.title}”: {self.why}"
        word = "close" if self.act is Act.DUPLICATE else self.act.value
        said = "comment on and " if self.comment is not None else ""
        return f"{said}{word} #{self.number}, {self.key}: {self.why}"


@dataclass(frozen=True)
class Decision:
    """The changes to make, and notes on changes that one might expect and that are not made.

    ``left`` are the keys of alerts whose new issues have to wait for the next run.
    """

    actions: tuple[Action, ...] = ()
    left: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def apply(actions: tuple[Action, ...], issues: GithubIssues, say: Callable[[str], None]) -> int:
    """Make the changes; a refusal by GitHub does not stop the others.

    Args:
        say: called with each change that was made or refused.

    Returns:
        How many were refused.

    Raises:
        GithubUnreachable: GitHub does not answer any more.

    """
    refused = 0
    for action in actions:
        try:
            number = _apply(action, issues)
        except GithubRefused as error:
            refused += 1
            say(f"refused, {error.what} ({error.where}): {action.sentence}")
        else:
            say(f"#{number}: {action.sentence}" if action.number is None else action.sentence)
    return refused


def _apply(action: Action, issues: GithubIssues) -> int:
    if action.number is None:
        return issues.create(action.title, action.body, action.labels).number
    if action.comment is not None:
        # Before the body, which records the comment: a duplicate comment is better than none.
        issues.comment(action.number, action.comment)
    issues.change(action.number, title=action.title, body=action.body, **_STATES[action.act])
    return action.number
