"""What holds whatever happens: night after night, with people who close, open, lock and copy issues in between."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
from hypothesis import given, settings
from unit.samples import VERDICTS
from unit.stages.alert_nights import cluster, decided, done, verdicts

from ootci.adapters.github_issues import Issue
from ootci.model.cluster import Cause
from ootci.stages.alert import Act, remembered_in
from ootci.stages.alert.decide import NEW_ISSUES

NAMES = ("a", "b", "c")
LETTER = st.sampled_from("".join(VERDICTS))
HAND = st.sampled_from(["", "", "close", "open", "lock", "copy", "spoil"])
NIGHT = st.fixed_dictionaries(
    {
        "letters": st.tuples(*[LETTER for _ in NAMES]),
        "hand": HAND,
        "stale": st.booleans(),
        "cause": st.sampled_from([None, None, Cause.UPSTREAM, Cause.KNOWN, Cause.PLUGIN]),
    }
)


def _by_hand(issues: tuple[Issue, ...], hand: str) -> tuple[Issue, ...]:
    if not issues or not hand:
        return issues
    first, *rest = issues
    if hand == "copy":
        return (*issues, replace(first, number=max(item.number for item in issues) + 1, is_open=True))
    changed = {
        "close": replace(first, is_open=False),
        "open": replace(first, is_open=True),
        "lock": replace(first, locked=True),
        "spoil": replace(first, body="somebody wrote over it"),
    }
    return (changed[hand], *rest)


@settings(max_examples=300)
@given(st.lists(NIGHT, min_size=1, max_size=12))
def test_laws(nights: list[dict[str, object]]) -> None:
    issues: tuple[Issue, ...] = ()
    past = dict.fromkeys(NAMES, "")
    for number, night in enumerate(nights):
        for name, letter in zip(NAMES, night["letters"], strict=True):  # type: ignore[call-overload]
            past[name] += letter
        cause = night["cause"]
        clusters = [cluster("x", cause, number + 1, "a", "b")] if isinstance(cause, Cause) else []
        found = verdicts(
            past, stale="old" if night["stale"] else None, clusters=clusters, hours=40 if night["stale"] else 1
        )
        issues = _by_hand(issues, str(night["hand"]))
        before = {issue.number: issue for issue in issues}
        decision = decided(found, issues)
        issues = done(issues, decision.actions)

        # Done once, nothing is left to do, but for what had to wait.
        again = decided(found, issues)
        assert [one for one in again.actions if one.key not in decision.left] == []
        assert sum(one.act is Act.OPEN for one in decision.actions) <= NEW_ISSUES
        # An issue is touched once a run, and a locked one is not commented on.
        touched = [one.number for one in decision.actions if one.number is not None]
        assert len(touched) == len(set(touched))
        assert not [one for one in decision.actions if one.comment and one.number and before[one.number].locked]
        # There is at most one open issue of a kind.
        open_keys = [kept.key for issue in issues if issue.is_open and (kept := remembered_in(issue.body))]
        assert len(open_keys) == len(set(open_keys))
        # Nobody is told of a device for a nightly that did not run.
        if night["stale"]:
            assert {one.key for one in decision.actions if one.act is not Act.DUPLICATE} <= {"nightly-stale/nightly"}
