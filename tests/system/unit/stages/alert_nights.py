"""Verdicts from a letter a night, and issues as GitHub would keep them: what deciding is tested on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from unit.samples import VERDICTS

from ootci.adapters.github_issues import Issue
from ootci.model.alert import Alert
from ootci.model.cluster import Cause, Cluster, ClusterDevice, Mark, Signature
from ootci.model.verdict import DeviceVerdict, Gate, Night, VerdictName, Verdicts
from ootci.stages.alert import Act, Action, Decision, conditions, decide, remembered_in

FIRST = datetime(2026, 11, 1, 4, 10, tzinfo=timezone.utc)


def day(number: int) -> datetime:
    return FIRST + timedelta(days=number)


def verdicts(
    nights: Mapping[str, str], *, stale: str | None = None, clusters: Sequence[Cluster] = (), hours: float = 1
) -> Verdicts:
    """The verdicts after as many nights as there are letters."""
    count = max(map(len, nights.values()), default=0)
    return Verdicts(
        judged_at=day(max(count, 1) - 1) + timedelta(hours=hours),
        plan_id=f"night{count - 1}" if count else None,
        planned_at=day(count - 1) if count else None,
        stale_reason=stale,
        summary="",
        gate=Gate(answer="yes", reason=""),
        clusters=tuple(clusters),
        devices=tuple(_device(name, letters) for name, letters in nights.items()),
    )


def _device(name: str, letters: str) -> DeviceVerdict:
    history = tuple(
        Night(plan_id=f"night{number}", date=day(number), verdict=VERDICTS[letter])
        for number, letter in enumerate(letters)
    )
    newest = history[-1].verdict if history else VerdictName.NEVER_RAN
    row = len(letters) - len(letters.rstrip(letters[-1:])) if letters else 0
    return DeviceVerdict(
        device=name,
        verdict=newest,
        reason=f"{name} is {newest.value}",
        nights=row,
        new_failures=1 if newest is VerdictName.REGRESSED else 0,
        history=history,
    )


def cluster(
    text: str, cause: Cause, count: int, *devices: str, began: int | None = None, test: str = "smoke/test_x.py::test"
) -> Cluster:
    """Failures of the last of so many nights that began on that one, or on another."""
    since = count - 1 if began is None else began
    mark, before = (Mark(plan_id=f"night{number}", date=day(number)) for number in (since, since - 1))
    parts = [
        ClusterDevice(
            device=name,
            is_reference=False,
            tests=1,
            new=int(since == count - 1),
            first=(test,),
            plugin_changed=None,
            since=mark,
            last_passed=before,
        )
        for name in devices
    ]
    return Cluster(
        signature=Signature.of(text),
        plan_id=f"night{count - 1}",
        cause=cause,
        reason="alike",
        devices=tuple(parts),
        since=mark,
        last_passed=before,
    )


class Plainly:
    """Writes as little as can be told apart."""

    def title(self, alert: Alert) -> str:
        return alert.key

    def body(self, alert: Alert, good: int) -> str:
        return f"{alert.standing.value} {good}"

    def comment(self, alert: Alert, why: str) -> str:
        return why


def decided(found: Verdicts, issues: Sequence[Issue]) -> Decision:
    remembered = [item for issue in issues if (item := remembered_in(issue.body))]
    return decide(conditions(found, remembered), issues, Plainly())


def done(issues: Sequence[Issue], actions: Sequence[Action]) -> tuple[Issue, ...]:
    """The issues after that was done."""
    now = {issue.number: issue for issue in issues}
    for action in actions:
        if action.number is None:
            number = max(now, default=0) + 1
            now[number] = Issue(number, action.title, action.body)
            continue
        issue = replace(now[action.number], title=action.title, body=action.body)
        state = {Act.REOPEN: True, Act.CLOSE: False, Act.DUPLICATE: False}.get(action.act, issue.is_open)
        now[action.number] = replace(issue, is_open=state)
    return tuple(now.values())
