"""Which issues are made, rewritten, commented on, closed and opened again: cases, night by night."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from unit.stages.alert_nights import Plainly, day, decided, done, verdicts

from ootci.adapters.github_issues import Issue
from ootci.model.alert import REMINDER_DAYS, Remembered
from ootci.stages.alert import Act, conditions, decide, remembered_in
from ootci.stages.alert.decide import marked_body

BROKEN, SILENT = "device-broken/dev", "device-silent/dev"


def told(letters: str, before: Sequence[Issue] = ()) -> tuple[list[list[str]], tuple[Issue, ...]]:
    """What is done on each night of one device, in short, and the issues in the end."""
    issues, nights = tuple(before), []
    for count in range(1, len(letters) + 1):
        actions = decided(verdicts({"dev": letters[:count]}), issues).actions
        nights.append([f"{one.act.value} {one.key.partition('/')[0]}{'!' if one.comment else ''}" for one in actions])
        issues = done(issues, actions)
    return nights, issues


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ooo", [[], [], []]),
        ("kup", [[], [], []]),
        ("or", [[], ["open device-broken"]]),
        # Whatever changes while it fails: rewritten without a comment.
        ("orf", [[], ["open device-broken"], ["rewrite device-broken"]]),
        ("orr", [[], ["open device-broken"], ["rewrite device-broken"]]),
        ("orb", [[], ["open device-broken"], ["rewrite device-broken"]]),
        ("n", [["open device-silent"]]),
        # A machine may be away for a night, and a new device has time.
        ("oii", [[], [], ["open device-infrastructure"]]),
        ("...", [[], [], ["open device-silent"]]),
        # Who is silent may be broken still; both are told.
        ("rn", [["open device-broken"], ["open device-silent"]]),
        # A report ends the silence whatever it says.
        ("nf", [["open device-silent"], ["open device-broken", "rewrite device-silent"]]),
        ("rp", [["open device-broken"], []]),
    ],
)
def test_nights(letters: str, expected: list[list[str]]) -> None:
    assert told(letters)[0] == expected


def test_closed_after_good_nights_and_opened_again() -> None:
    nights, (issue,) = told("rfooouor")
    assert nights == [
        ["open device-broken"],
        ["rewrite device-broken"],
        ["rewrite device-broken"],
        ["rewrite device-broken"],
        ["close device-broken!"],
        [],
        [],
        ["reopen device-broken"],
    ]
    assert (issue.number, issue.is_open) == (1, True)


def test_a_bad_night_begins_the_count_anew() -> None:
    nights, (issue,) = told("booboo")
    assert nights[3] == ["rewrite device-broken"]
    assert issue.is_open


def test_nights_that_say_nothing_neither_count_nor_break_the_row() -> None:
    nights, (issue, *_) = told("roipoo")
    assert nights[3] == []
    assert nights[5] == ["close device-broken!"]
    assert not issue.is_open


def test_nights_on_which_nobody_looked_are_not_lost() -> None:
    issues = told("r")[1]
    assert decided(verdicts({"dev": "rooooo"}), issues).actions[0].act is Act.CLOSE
    assert decided(verdicts({"dev": "roooof"}), issues).actions[0].why == "it is back"


def by_hand(issues: Sequence[Issue], **fields: bool) -> tuple[Issue, ...]:
    return tuple(replace(issue, **fields) for issue in issues)


def test_closed_by_hand_it_stays_closed_while_nothing_changes() -> None:
    issues = by_hand(told("or")[1], is_open=False)
    nights, issues = told_from("or", "ffff", issues)
    # The marker keeps when that was found, and nobody is told.
    assert nights == [["rewrite"], [], [], []]
    assert not issues[0].is_open
    (note,) = decided(verdicts({"dev": "orffff"}), issues).notes
    assert "stays closed: it was closed by hand" in note


def told_from(past: str, letters: str, issues: tuple[Issue, ...]) -> tuple[list[list[str]], tuple[Issue, ...]]:
    nights = []
    for count in range(1, len(letters) + 1):
        actions = decided(verdicts({"dev": past + letters[:count]}), issues).actions
        nights.append([f"{one.act.value}{'!' if one.comment else ''}" for one in actions])
        issues = done(issues, actions)
    return nights, issues


@pytest.mark.parametrize("change", ["r", "b", "or", "of"])
def test_closed_by_hand_it_is_opened_when_something_changes(change: str) -> None:
    issues = told_from("or", "f", by_hand(told("or")[1], is_open=False))[1]
    nights, (issue,) = told_from("orf", change, issues)
    assert nights[-1] == ["reopen"]
    assert issue.is_open


def test_closed_by_hand_it_is_opened_after_a_week() -> None:
    issues = by_hand(told("or")[1], is_open=False)
    nights, (issue,) = told_from("or", "f" * (REMINDER_DAYS + 1), issues)
    assert nights == [["rewrite"], *[[]] * (REMINDER_DAYS - 1), ["reopen"]]
    kept = remembered_in(issue.body)
    assert kept is not None
    assert kept.dismissed is None


def test_closed_by_hand_and_mended_it_is_left_alone() -> None:
    issues = by_hand(told("or")[1], is_open=False)
    assert told_from("or", "oooo", issues)[0] == [[]] * 4


def test_opened_again_by_hand_it_is_left_to_that_hand() -> None:
    issues = by_hand(told("rooo")[1], is_open=True)
    decision = decided(verdicts({"dev": "roooo"}), issues)
    assert decision.actions == ()
    assert "opened again by hand" in decision.notes[0]


def test_a_locked_issue_is_rewritten_and_closed_without_a_word() -> None:
    issues = by_hand(told("or")[1], locked=True)
    assert told_from("or", "booo", issues)[0] == [["rewrite"], ["rewrite"], ["rewrite"], ["close"]]


def test_of_two_of_one_kind_the_older_stays() -> None:
    first = told("r")[1][0]
    found = verdicts({"dev": "r"})
    decision = decided(found, (replace(first, number=9), first, replace(first, number=4, is_open=False)))
    (action,) = decision.actions
    assert (action.act, action.number) == (Act.DUPLICATE, 9)
    issues = done((first, replace(first, number=9)), decision.actions)
    assert decided(found, issues).actions == ()
    # When somebody deletes the older one, what was closed for it counts as nothing.
    assert decided(found, issues[1:]).actions[0].act is Act.OPEN


def test_a_device_that_is_registered_no_more_closes_its_issues() -> None:
    issues = told("rn")[1]
    actions = decided(verdicts({"other": "oo"}), issues).actions
    assert [(one.act, one.key) for one in actions] == [(Act.CLOSE, BROKEN), (Act.CLOSE, SILENT)]
    assert decided(verdicts({"other": "oo"}), done(issues, actions)).actions == ()


def test_a_nightly_that_does_not_run_silences_nobody() -> None:
    stale = verdicts({"dev": "on", "bad": "or"}, stale="the newest nightly is 40 hours old", hours=40)
    (action,) = decided(stale, ()).actions
    assert (action.act, action.key, action.labels) == (Act.OPEN, "nightly-stale/nightly", ("nightly-stale",))
    assert action.why == "the newest nightly is 40 hours old"


def test_a_nightly_that_runs_again_closes_its_issue_after_good_nights() -> None:
    issues = done((), decided(verdicts({"dev": "o"}, stale="old", hours=40), ()).actions)
    # Told again by the next run, without a word.
    (again,) = decided(verdicts({"dev": "o"}, stale="older", hours=52), issues).actions
    assert (again.act, again.comment) == (Act.REWRITE, None)
    issues = done(issues, [again])
    # The nights are counted from when it was seen last, which was after the second night's time.
    acts = []
    for count in (4, 5, 6):
        actions = decided(verdicts({"dev": "o" * count}), issues).actions
        acts.append([one.act for one in actions])
        issues = done(issues, actions)
    assert acts == [[Act.REWRITE], [Act.REWRITE], [Act.CLOSE]]


def test_a_nightly_that_falls_silent_again_says_so() -> None:
    issues = done((), decided(verdicts({"dev": "o"}, stale="old", hours=40), ()).actions)
    (again,) = decided(verdicts({"dev": "ooo"}, stale="old", hours=40), issues).actions
    assert (again.act, again.why, again.comment) == (Act.REWRITE, "it is back", None)


def test_before_the_first_nightly_nothing_is_late() -> None:
    assert decided(verdicts({"dev": ""}), ()).actions == ()


def test_a_history_that_got_lost_is_told_and_closes_nothing() -> None:
    """An issue of ours remembers a nightly that is no longer there."""
    issues = done((), decided(verdicts({"dev": "or"}), ()).actions)
    (action,) = decided(verdicts({"dev": ""}), issues).actions
    assert (action.act, action.key) == (Act.OPEN, "nightly-stale/nightly")
    assert action.why == "the history holds no nightly at all"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "a text",
        "<!-- ootci-alert:1 -->",
        "<!-- ootci-alert:1 {} -->",
        '<!-- ootci-alert:1 {"key": 1} -->',
        '<!-- ootci-alert:2 {"key": "device-broken/dev", "seen": "2026-11-01T00:00:00Z"} -->',
        "\n" + marked_body(Remembered(key=BROKEN, seen=day(0), began=day(0)), "not on the first line"),
    ],
)
def test_what_is_no_marker_is_nobody_s_issue(body: str) -> None:
    decision = decided(verdicts({"dev": "r"}), [Issue(1, "a title", body)])
    assert [one.act for one in decision.actions] == [Act.OPEN]


def test_a_marker_of_a_condition_that_is_not_known_is_left_alone() -> None:
    body = marked_body(Remembered(key="of-tomorrow/dev", seen=day(0), began=day(0)), "x")
    assert decided(verdicts({"dev": "o"}), [Issue(1, "a title", body)]).actions == ()


def test_a_marker_ends_where_it_should() -> None:
    kept = Remembered(
        key="device-broken/--><b>", plan_id="-->\n<img>", seen=day(0), began=day(0), devices=("a" * 31,) * 500
    )
    body = marked_body(kept, "text")
    assert (body.count("-->"), body.partition(" -->\n")[2]) == (1, "text")
    assert remembered_in(body) == kept


def test_a_title_that_changed_is_written() -> None:
    class Renamed(Plainly):
        def title(self, alert: object) -> str:
            return "new"

    issues = told("r")[1]
    found = verdicts({"dev": "r"})
    (action,) = decide(conditions(found), issues, Renamed()).actions
    # What failed on that nightly has been told.
    assert (action.title, action.comment) == ("new", None)
