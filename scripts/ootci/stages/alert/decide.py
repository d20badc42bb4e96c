"""Decides the changes to issues from the conditions and the existing issues: a pure function.

It is idempotent: once the changes are made, it decides on none.

A comment notifies people, so there is only one: when an issue is closed. Until then only the issue's text changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from pydantic import ValidationError

from ootci.adapters.github_issues import Issue
from ootci.model.alert import GOOD_NIGHTS, REMINDER_DAYS, Alert, Condition, Remembered, Standing
from ootci.model.words import many

from .action import Act, Action, Decision

VERSION = 1
MAX_CHARACTERS = 20_000
"""Longer than a marker with hundreds of devices."""
_MARKER = re.compile(rf"<!-- ootci-alert:{VERSION} (\{{[^\n]*\}}) -->(?:\n|$)")


def marked_body(remembered: Remembered, text: str) -> str:
    """The body of an issue: the marker and the text."""
    # Only the end of an HTML comment has to be escaped.
    kept = remembered.model_dump_json(exclude_defaults=True).replace(">", "\\u003e")
    return f"<!-- ootci-alert:{VERSION} {kept} -->\n{text}".rstrip("\n")


def remembered_in(body: str) -> Remembered | None:
    """The content of the marker in an issue's body; None if its first line is no marker of ours."""
    found = _MARKER.match(body[:MAX_CHARACTERS])
    if found is None:
        return None
    try:
        return Remembered.model_validate_json(found[1])
    except ValidationError:
        return None


NEW_ISSUES = 5
"""New issues per run; the others wait for the next run."""


class Writer(Protocol):
    """Writes the texts of issues."""

    def title(self, alert: Alert) -> str:
        """Title of an issue."""

    def body(self, alert: Alert, good: int) -> str:
        """Text of an issue, after so many good nights."""

    def comment(self, alert: Alert, why: str) -> str:
        """Comment on an issue that is closed."""


def decide(
    alerts: Sequence[Alert], issues: Sequence[Issue], writer: Writer, good_nights: int = GOOD_NIGHTS
) -> Decision:
    """The changes to our issues, closed ones too, for all ``conditions``."""
    kept: dict[str, list[_Kept]] = {}
    # Of several with one key the open one counts; the others were closed when an earlier failure was over.
    for issue in sorted(issues, key=lambda item: (not item.is_open, item.number)):
        remembered = remembered_in(issue.body)
        if remembered is not None and remembered.duplicate_of is None:
            kept.setdefault(remembered.key, []).append(_Kept(issue, remembered))
    actions, left, notes = _duplicates(kept), [], []
    made = 0
    for alert in alerts:
        oldest = kept.get(alert.key, [None])[0]
        if alert.condition is Condition.UPSTREAM and alert.standing is Standing.PRESENT and _is_over(oldest):
            oldest = _of_one_device(alert, alerts, kept) or oldest
        if oldest is not None:
            found = _for_issue(alert, oldest, writer, good_nights)
            actions += [found] if isinstance(found, Action) else []
            notes += [found] if isinstance(found, str) else []
        elif alert.standing is Standing.PRESENT and made >= NEW_ISSUES:
            left.append(alert.key)
        elif alert.standing is Standing.PRESENT:
            made += 1
            actions.append(_new(alert, writer))
    return Decision(tuple(actions), tuple(left), tuple(notes))


@dataclass(frozen=True)
class _Kept:
    issue: Issue
    remembered: Remembered


def _is_over(kept: _Kept | None) -> bool:
    """Whether there is no issue, or one that we closed."""
    return kept is None or (kept.remembered.closed and not kept.issue.is_open)


def _of_one_device(alert: Alert, alerts: Sequence[Alert], kept: dict[str, list[_Kept]]) -> _Kept | None:
    """The open issue of the device that failed first; it becomes the issue of all devices with the failure."""
    for one in alerts:
        mine = one.condition is Condition.BROKEN and one.standing is Standing.WAITING and one.subject in alert.devices
        if not mine or one.key not in kept:
            continue
        issue = kept[one.key][0]
        # An issue that waits for passing nights is about an earlier failure.
        fails_still = issue.issue.is_open and issue.remembered.seen >= one.began
        if fails_still and not set(issue.remembered.tests).isdisjoint(alert.tests):
            return kept.pop(one.key)[0]
    return None


def _duplicates(kept: dict[str, list[_Kept]]) -> list[Action]:
    """Close duplicates, which two concurrent runs may have opened; the oldest stays."""
    actions = []
    for key, (oldest, *others) in kept.items():
        for item in others:
            remembered = item.remembered.model_copy(update={"duplicate_of": oldest.issue.number, "closed": True})
            why = f"it is the same as #{oldest.issue.number}"
            body = marked_body(remembered, f"This is the same as #{oldest.issue.number}, which is older.")
            if item.issue.is_open:
                actions.append(Action(Act.DUPLICATE, key, item.issue.title, body, why, item.issue.number))
    return actions


def _new(alert: Alert, writer: Writer) -> Action:
    body = marked_body(_remembered(alert), writer.body(alert, 0))
    return Action(Act.OPEN, alert.key, writer.title(alert), body, alert.reason, labels=(alert.condition.value,))


def _remembered(alert: Alert) -> Remembered:
    """The content of the marker for an alert."""
    seen = max(alert.date, alert.began)
    return Remembered(
        key=alert.key,
        plan_id=alert.plan_id,
        seen=seen,
        began=alert.began,
        kind=alert.kind,
        devices=alert.devices,
        tests=alert.tests,
    )


def _for_issue(alert: Alert, kept: _Kept, writer: Writer, good_nights: int) -> Action | str | None:
    """The change to an existing issue, a note, or nothing."""
    if alert.standing is Standing.UNKNOWN:
        return None
    if alert.standing in (Standing.ABSENT, Standing.GONE):
        return _better(alert, kept, writer, good_nights) if kept.issue.is_open else None
    news = _news(alert, kept.remembered)
    if kept.issue.is_open:
        return _rewritten(alert, kept, writer, news)
    if kept.remembered.closed:
        return _reopened(alert, kept, writer, "it is back") if alert.standing is Standing.PRESENT else None
    return _closed_by_hand(alert, kept, writer, news)


def _news(alert: Alert, remembered: Remembered) -> str | None:
    """The news since the issue was written; None if there are none."""
    if alert.kind != remembered.kind:
        return "it fails in another way"
    joined = sorted(set(alert.devices) - set(remembered.devices))
    if joined:
        return f"new with {', '.join(joined)}"
    if alert.began > remembered.seen:
        return "it is back"
    if alert.is_new and alert.plan_id != remembered.plan_id:
        return "something fails that did not before"
    return None


def _rewritten(alert: Alert, kept: _Kept, writer: Writer, news: str | None) -> Action | None:
    told = _remembered(alert)
    # Without results in the newest nightly, the known failing tests stay.
    told = told if told.tests else told.model_copy(update={"tests": kept.remembered.tests})
    title, body = writer.title(alert), marked_body(told, writer.body(alert, 0))
    if (kept.issue.title, kept.issue.body.rstrip()) == (title, body):
        return None
    return Action(Act.REWRITE, alert.key, title, body, news or "it is still so", kept.issue.number)


def _reopened(alert: Alert, kept: _Kept, writer: Writer, why: str) -> Action:
    body = marked_body(_remembered(alert), writer.body(alert, 0))
    return Action(Act.REOPEN, alert.key, writer.title(alert), body, why, kept.issue.number)


def _closed_by_hand(alert: Alert, kept: _Kept, writer: Writer, news: str | None) -> Action | str | None:
    if alert.standing is not Standing.PRESENT:
        return None
    if news is not None:
        return _reopened(alert, kept, writer, news)
    since = kept.remembered.dismissed
    if since is None:
        # Only the invisible marker changes.
        remembered = kept.remembered.model_copy(update={"dismissed": alert.date})
        body = marked_body(remembered, kept.issue.body.partition("\n")[2])
        why = f"it was closed by hand: it stays closed until something new fails or {REMINDER_DAYS} days are over"
        return Action(Act.REWRITE, alert.key, kept.issue.title, body, why, kept.issue.number)
    if alert.date - since >= timedelta(days=REMINDER_DAYS):
        why = f"it was closed by hand {REMINDER_DAYS} days ago and is still so"
        return _reopened(alert, kept, writer, why)
    return f"#{kept.issue.number}, {alert.key}, stays closed: it was closed by hand, and nothing new fails"


def _better(alert: Alert, kept: _Kept, writer: Writer, good_nights: int) -> Action | str | None:
    if kept.remembered.closed:
        return f"#{kept.issue.number}, {alert.key}, stays open: it was opened again by hand"
    gone = alert.standing is Standing.GONE
    good = sum(date > kept.remembered.seen for date in alert.good)
    over = gone or good >= good_nights
    remembered = kept.remembered.model_copy(update={"closed": over, "dismissed": None})
    # The title stays, because the failure may no longer be known.
    body = marked_body(remembered, writer.body(alert, good))
    if not over:
        why = f"{good} of {good_nights} good nights"
        unchanged = kept.issue.body.rstrip() == body
        return None if unchanged else Action(Act.REWRITE, alert.key, kept.issue.title, body, why, kept.issue.number)
    why = "its device is not registered any more" if gone else f"{many(good_nights, 'good night')} in a row"
    said = None if kept.issue.locked else writer.comment(alert, why)
    return Action(Act.CLOSE, alert.key, kept.issue.title, body, why, kept.issue.number, said)
