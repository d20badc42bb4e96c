"""alert: issues of failures that several devices share, and of one device beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from unit.stages.alert_nights import cluster, decided, done, verdicts

from ootci.adapters.github_issues import Issue
from ootci.model.cluster import Cause, Cluster
from ootci.model.outcome import OutcomeName
from ootci.model.verdict import Change, ChangeName
from ootci.stages.alert import Act, remembered_in

UPSTREAM = "RuntimeError: a kernel is gone"
FAILED = OutcomeName.FAILED


def _opened(**letters: str) -> tuple[Issue, ...]:
    """The issue of what two devices show alike on the second night."""
    found = verdicts({"a": "or", "b": "or", **letters}, clusters=[cluster(UPSTREAM, Cause.UPSTREAM, 2, "a", "b")])
    return done((), decided(found, ()).actions)


def test_what_is_probably_upstream_has_one_issue_for_all_its_devices() -> None:
    found = verdicts({"a": "or", "b": "or"}, clusters=[cluster(UPSTREAM, Cause.UPSTREAM, 2, "a", "b")])
    (action,) = decided(found, ()).actions
    assert (action.act, action.labels) == (Act.OPEN, ("probably-upstream",))
    issues = done((), [action])
    more = verdicts(
        {"a": "orf", "b": "orf", "c": "oor"}, clusters=[cluster(UPSTREAM, Cause.UPSTREAM, 3, "a", "b", "c", began=1)]
    )
    (again,) = decided(more, issues).actions
    assert (again.act, again.why, again.comment) == (Act.REWRITE, "new with c", None)


def test_what_one_device_showed_first_is_the_issue_of_all_that_show_it_later() -> None:
    alone = cluster(UPSTREAM, Cause.SUSPECTED_UPSTREAM, 2, "a")
    issues = done((), decided(verdicts({"a": "or", "b": "on"}, clusters=[alone]), ()).actions)
    assert [remembered_in(issue.body).key for issue in issues] == ["device-broken/a", "device-silent/b"]  # type: ignore[union-attr]
    together = cluster(UPSTREAM, Cause.UPSTREAM, 3, "a", "b", began=1)
    found = verdicts({"a": "orf", "b": "onr"}, clusters=[together])
    actions = decided(found, issues).actions
    assert [(one.act.value, one.number, one.key.partition("/")[0]) for one in actions] == [
        ("rewrite", 1, "probably-upstream"),
        ("rewrite", 2, "device-silent"),
    ]
    assert decided(found, done(issues, actions)).actions == ()


def test_the_issue_of_the_device_that_showed_it_first_counts_before_a_closed_one_of_that_name() -> None:
    """An error can come back months later; the issue that is open tonight goes on, and is the only one."""
    closed = _opened()
    for letters in ("oro", "oroo", "orooo"):
        closed = done(closed, decided(verdicts({"a": letters, "b": letters}), closed).actions)
    alone = cluster(UPSTREAM, Cause.SUSPECTED_UPSTREAM, 6, "a")
    issues = done(closed, decided(verdicts({"a": "orooor", "b": "oroooo"}, clusters=[alone]), closed).actions)
    assert [(issue.number, issue.is_open) for issue in issues] == [(1, False), (2, True)]
    together = cluster(UPSTREAM, Cause.UPSTREAM, 7, "a", "b", began=5)
    found = verdicts({"a": "orooorf", "b": "oroooor"}, clusters=[together])
    actions = decided(found, issues).actions
    assert [(one.act, one.number, one.key.partition("/")[0]) for one in actions] == [
        (Act.REWRITE, 2, "probably-upstream")
    ]
    issues = done(issues, actions)
    assert decided(found, issues).actions == ()
    assert [(issue.number, issue.is_open) for issue in issues] == [(1, False), (2, True)]


def test_what_a_device_broke_before_stays_its_own_issue() -> None:
    issues = done((), decided(verdicts({"a": "or", "b": "oo"}), ()).actions)
    both = cluster(UPSTREAM, Cause.UPSTREAM, 3, "a", "b")
    actions = decided(verdicts({"a": "orr", "b": "oor"}, clusters=[both]), issues).actions
    assert [(one.act.value, one.number) for one in actions] == [("open", None), ("rewrite", 1)]


def test_an_issue_that_waits_for_good_nights_is_not_that_of_a_new_failure() -> None:
    issues = done((), decided(verdicts({"a": "ol", "b": "oo"}), ()).actions)
    mended = verdicts({"a": "olo", "b": "ooo"})
    issues = done(issues, decided(mended, issues).actions)
    both = cluster(UPSTREAM, Cause.UPSTREAM, 4, "a", "b")
    actions = decided(verdicts({"a": "olob", "b": "ooob"}, clusters=[both]), issues).actions
    assert (actions[0].act, actions[0].key.partition("/")[0]) == (Act.OPEN, "probably-upstream")


def test_a_cluster_that_goes_on_under_another_signature_keeps_its_issue() -> None:
    issues = _opened()
    renamed = verdicts(
        {"a": "orf", "b": "orf"}, clusters=[cluster("as b has it", Cause.UPSTREAM, 3, "a", "b", began=1)]
    )
    actions = decided(renamed, issues).actions
    assert [(one.act, one.number) for one in actions] == [(Act.REWRITE, 1)]
    # Another failure of the same tests is another event, after this one was closed.
    closed = done(
        issues, [replace(actions[0], act=Act.CLOSE, body=issues[0].body.replace('"seen"', '"closed":true,"seen"'))]
    )
    assert decided(renamed, closed).actions[0].act is Act.OPEN


OTHER = "smoke/test_x.py::other"


def test_two_events_of_one_error_are_two_issues_each_closed_by_itself() -> None:
    first = cluster(UPSTREAM, Cause.UPSTREAM, 3, "a", "b", began=1)
    second = cluster(UPSTREAM, Cause.UPSTREAM, 3, "a", "c", began=2, test=OTHER)
    both = first.model_copy(update={"devices": (*first.devices, second.devices[1]), "events": (first, second)})
    issues = done((), decided(verdicts({"a": "or", "b": "or", "c": "oo"}, clusters=[_on(first, 1)]), ()).actions)
    actions = decided(verdicts({"a": "orr", "b": "orf", "c": "oor"}, clusters=[both]), issues).actions
    assert [(one.act, one.number) for one in actions] == [(Act.REWRITE, 1), (Act.OPEN, None)]
    issues = done(issues, actions)
    assert [_devices(issue) for issue in issues] == [("a", "b"), ("a", "c")]
    for count in (4, 5, 6):
        letters = {"a": "orr" + "f" * (count - 3), "b": "orf" + "o" * (count - 3), "c": "oor" + "f" * (count - 3)}
        issues = done(issues, decided(verdicts(letters, clusters=[_on(second, count - 1)]), issues).actions)
    assert [issue.is_open for issue in issues] == [False, True]


def _on(found: Cluster, night: int) -> Cluster:
    return found.model_copy(update={"plan_id": f"night{night}"})


def _devices(issue: Issue) -> tuple[str, ...]:
    kept = remembered_in(issue.body)
    assert kept is not None
    return kept.devices


def test_an_error_that_began_after_its_issue_was_seen_last_has_an_issue_of_its_own() -> None:
    issues = _opened(c="oo")
    again = cluster(UPSTREAM, Cause.UPSTREAM, 4, "b", "c", test=OTHER)
    letters = {"a": "oroo", "b": "oror", "c": "ooor"}
    actions = decided(verdicts(letters, clusters=[again]), issues).actions
    assert [(one.act, one.number) for one in actions] == [(Act.OPEN, None), (Act.REWRITE, 1)]
    assert actions[1].why == "2 of 3 good nights"


def test_what_never_passed_keeps_no_issue_open_by_its_name_alone() -> None:
    issues = _opened(c="oo")
    never = cluster(UPSTREAM, Cause.UNKNOWN, 3, "c", test=OTHER).model_copy(update={"last_passed": None})
    actions = decided(verdicts({"a": "oro", "b": "oro", "c": "oof"}, clusters=[never]), issues).actions
    assert [(one.number, one.why) for one in actions if one.number == 1] == [(1, "1 of 3 good nights")]


def test_the_last_device_that_shows_what_was_upstream_gets_no_issue_of_its_own() -> None:
    issues = _opened()
    left = cluster(UPSTREAM, Cause.SUSPECTED_UPSTREAM, 3, "b", began=1)
    actions = decided(verdicts({"a": "oro", "b": "orf"}, clusters=[left]), issues).actions
    assert [(one.act, one.number) for one in actions] == [(Act.REWRITE, 1)]


def test_on_the_last_device_of_an_issue_failures_with_names_of_their_own_are_a_part_of_it() -> None:
    tests = ("smoke/test_x.py::one", "smoke/test_x.py::two")
    all_of_it = cluster(UPSTREAM, Cause.UPSTREAM, 2, "a", "b")
    parts = tuple(part.model_copy(update={"first": tests}) for part in all_of_it.devices)
    together = all_of_it.model_copy(update={"devices": parts})
    issues = done((), decided(verdicts({"a": "or", "b": "or"}, clusters=[together]), ()).actions)
    each = [cluster(f"{test}: differs", Cause.SUSPECTED_UPSTREAM, 3, "a", began=1, test=test) for test in tests]
    alone = verdicts({"a": "orf", "b": "orn"}, clusters=each)
    actions = decided(alone, issues).actions
    assert [(one.act, one.key) for one in actions if one.act is Act.OPEN] == [(Act.OPEN, "device-silent/b")]
    assert decided(alone, done(issues, actions)).actions == ()


def test_an_old_issue_of_several_devices_silences_no_device() -> None:
    issues = _opened()
    for letters in ("oro", "oroo", "orooo"):
        issues = done(issues, decided(verdicts({"a": letters, "b": letters}), issues).actions)
    assert not issues[0].is_open
    again = cluster(UPSTREAM, Cause.SUSPECTED_UPSTREAM, 6, "a")
    keys = [one.key for one in decided(verdicts({"a": "orooor", "b": "oroooo"}, clusters=[again]), issues).actions]
    assert keys == ["device-broken/a"]


def test_lost_tests_besides_what_is_upstream_have_an_issue_and_are_no_good_night() -> None:
    issues = _opened()
    lost = verdicts({"a": "orl", "b": "orl"}, clusters=[cluster(UPSTREAM, Cause.UPSTREAM, 3, "a", "b", began=1)])
    assert [one.key for one in decided(lost, issues).actions] == [
        issues_key(issues),
        "device-broken/a",
        "device-broken/b",
    ]
    for letters in ("orl", "orll", "orlll", "orllll"):
        actions = decided(verdicts({"a": letters, "b": letters}), issues).actions
        assert [one for one in actions if one.number == 1 and one.act is Act.CLOSE] == []
        issues = done(issues, actions)


def test_suites_of_several_devices_that_did_not_come_to_their_end_are_one_issue() -> None:
    both = cluster("integration: no report of its end", Cause.UPSTREAM, 2, "a", "b", test="integration")
    found = verdicts({"a": "ol", "b": "ol"}, clusters=[both])
    cut = tuple(item.model_copy(update={"broke_at": "integration"}) for item in found.devices)
    (action,) = decided(found.model_copy(update={"devices": cut}), ()).actions
    assert (action.act, action.labels) == (Act.OPEN, ("probably-upstream",))


def issues_key(issues: Sequence[Issue]) -> str:
    kept = remembered_in(issues[0].body)
    assert kept is not None
    return kept.key


def test_a_device_that_has_failures_of_its_own_besides_has_its_own_issue() -> None:
    both = [cluster(UPSTREAM, Cause.UPSTREAM, 2, "a", "b"), cluster("its own", Cause.PLUGIN, 2, "a")]
    keys = [one.key for one in decided(verdicts({"a": "or", "b": "or"}, clusters=both), ()).actions]
    assert keys[1:] == ["device-broken/a"]


def test_a_device_whose_other_failures_are_beyond_the_clusters_that_are_kept_has_its_own_issue() -> None:
    both = cluster(UPSTREAM, Cause.UPSTREAM, 2, "a", "b")
    found = verdicts({"a": "or", "b": "or"}, clusters=[both])
    alike, other = (
        Change(id=f"smoke/test_x.py::{name}", change=ChangeName.REGRESSION, before=None, after=FAILED, signature=text)
        for name, text in (("test", both.signature.id), ("other", "of no cluster"))
    )
    devices = [
        item.model_copy(update={"changes": (alike, other) if item.device == "a" else (alike,)})
        for item in found.devices
    ]
    found = found.model_copy(update={"devices": tuple(devices), "more_clusters": 1})
    assert [one.key for one in decided(found, ()).actions][1:] == ["device-broken/a"]


@pytest.mark.parametrize("cause", [Cause.KNOWN, Cause.FLAKY, Cause.CORE_DEFECT, Cause.INFRASTRUCTURE])
def test_failures_besides_that_break_no_device_make_no_issue_of_its_own(cause: Cause) -> None:
    both = [cluster(UPSTREAM, Cause.UPSTREAM, 2, "a", "b"), cluster("another", cause, 2, "a")]
    assert len(decided(verdicts({"a": "or", "b": "or"}, clusters=both), ()).actions) == 1


def test_a_nightly_of_one_device_changes_nothing_for_the_others() -> None:
    """Its clusters know only that one, so that nobody can tell of the others whose they were."""
    issues = _opened()
    assert decided(verdicts({"a": "or", "b": "or", "c": "ooo"}), issues).actions == ()


def test_what_was_upstream_is_closed_when_its_devices_ran_without_it() -> None:
    issues = _opened()
    acts = []
    for letters in ("orb", "orbo", "orboo", "orbooo"):
        actions = decided(verdicts({"a": letters, "b": "or" + "n" * (len(letters) - 2)}), issues).actions
        acts.append([one.act.value for one in actions if one.key.startswith("probably")])
        issues = done(issues, actions)
    assert acts == [[], ["rewrite"], ["rewrite"], ["close"]]


def test_what_vendors_know_of_by_now_still_fails() -> None:
    issues = _opened()
    known = verdicts({"a": "ork", "b": "ork"}, clusters=[cluster(UPSTREAM, Cause.KNOWN, 3, "a", "b", began=1)])
    issues = done(issues, decided(known, issues).actions)
    assert issues[0].is_open
    assert decided(known, ()).actions == ()
