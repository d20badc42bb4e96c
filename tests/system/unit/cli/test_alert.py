"""``ootci alert`` against GitHub's API as a server on this machine plays it, and ``ootci watch``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from fake_github import BOT, REPOSITORY, TOKEN, FakeGithub, Moment
from unit.samples import register
from unit.stages.alert_nights import verdicts

from ootci.adapters import github_rest
from ootci.model.record import write
from ootci.stages.alert import remembered_in

from commands import Ran, Tool  # isort: skip

NAMES = ("dev", "two", "three")
MAINTAINER = "@somebody"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of three devices. Nobody waits between two changes here."""
    monkeypatch.setattr(github_rest, "PAUSE_SECONDS", 0.0)
    for name in NAMES:
        path = register(tmp_path, name)
        path.write_text(path.read_text(encoding="utf-8").replace("A device", f"Device {name}"), encoding="utf-8")
    return tmp_path


def at_home(hub: FakeGithub, **more: str) -> dict[str, str]:
    return {**hub.job, **more}


def night(folder: Path, letters: dict[str, str], *, stale: str | None = None) -> None:
    calm = dict.fromkeys(NAMES, "o" * max(map(len, letters.values())))
    write(verdicts({**calm, **letters}, stale=stale, hours=40 if stale else 1), folder / ".ootci" / "verdicts.json")


def alert(ootci: Tool, folder: Path, env: dict[str, str], *more: str) -> Ran:
    ran: Ran = ootci("alert", *more, cwd=folder, env=env)
    assert TOKEN not in ran.out + ran.err
    return ran


def test_a_device_s_life_in_issues(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    night(folder, {"dev": "or", "two": "on"})
    ran = alert(ootci, folder, at_home(hub))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "changing example/repository: this is its default branch",
        "#1: open an issue for device-broken/dev, “Device dev is broken”: dev is REGRESSED",
        "#2: open an issue for device-silent/two, “Device two does not report”: two is NO_DATA",
    ]
    assert hub.issues[1]["labels"] == [{"name": "ootci-alert"}, {"name": "device-broken"}]
    body = str(hub.issues[1]["body"])
    kept = remembered_in(body)
    assert kept is not None
    assert (kept.key, kept.plan_id) == ("device-broken/dev", "night1")
    assert f"For {MAINTAINER}, who answer for this device." in body

    before = hub.text().partition("GET")[0]
    again = alert(ootci, folder, at_home(hub))
    assert again.out.splitlines() == ["changing example/repository: this is its default branch"]
    assert hub.text().partition("GET")[0] == before

    night(folder, {"dev": "orr", "two": "onoo"})
    assert alert(ootci, folder, at_home(hub)).out.splitlines()[1:] == [
        "rewrite #1, device-broken/dev: something fails that did not before",
        "rewrite #2, device-silent/two: 2 of 3 good nights",
    ]
    assert [len(hub.comments(number)) for number in (1, 2)] == [0, 0]

    night(folder, {"dev": "orrooo", "two": "onoooo"})
    alert(ootci, folder, at_home(hub))
    assert hub.states() == {"Device dev is broken": "closed", "Device two does not report": "closed"}
    assert hub.issues[1]["state_reason"] == "completed"
    assert hub.comments(2)[0].startswith("✅ 3 good nights in a row.")

    night(folder, {"dev": "orrooob"})
    assert "reopen #1, device-broken/dev: it is back" in alert(ootci, folder, at_home(hub)).out
    assert (hub.issues[1]["state"], len(hub.comments(1))) == ("open", 1)


@pytest.mark.parametrize(
    ("change", "facts", "why"),
    [
        ({"GITHUB_ACTIONS": ""}, {}, "this is no workflow"),
        ({"GITHUB_REPOSITORY": "another/one"}, {}, "it is not the repository of this workflow"),
        ({}, {"fork": True}, "it is a fork"),
        ({}, {"default_branch": "trunk"}, "this is refs/heads/main, not the default branch"),
        ({"GITHUB_REF": "refs/tags/main"}, {}, "this is refs/tags/main, not the default branch"),
        ({"GITHUB_REF": "refs/pull/7/merge"}, {}, "this is refs/pull/7/merge, not the default branch"),
        ({"GITHUB_REF": ""}, {}, "this is no branch, not the default branch"),
    ],
)
def test_elsewhere_it_only_says_what_it_would_do(
    ootci: Tool, folder: Path, hub: FakeGithub, change: dict[str, str], facts: dict[str, object], why: str
) -> None:
    night(folder, {"dev": "or"})
    hub.facts |= facts
    named = ("--repository", REPOSITORY)
    ran = alert(ootci, folder, at_home(hub, **change), *named)
    first, *rest = ran.out.splitlines()
    assert first.startswith(f"dry run, nothing is changed on example/repository: {why}; --apply does it")
    assert rest == ["would open an issue for device-broken/dev, “Device dev is broken”: dev is REGRESSED"]
    assert hub.issues == {}
    alert(ootci, folder, at_home(hub, **change), *named, "--apply")
    assert len(hub.issues) == 1


def test_a_fork_without_issues_only_says_what_it_would_do(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    night(folder, {"dev": "or"})
    hub.facts["fork"] = True
    gone = Moment(410, body='{"message": "Issues are disabled for this repo"}', only="GET /repos/example/repository/i")
    hub.moments = [gone]
    ran = alert(ootci, folder, at_home(hub))
    assert (ran.code, "would open an issue" in ran.out) == (0, True)
    assert "since they cannot be read: GitHub answered 410: Issues are disabled" in ran.err
    hub.facts["fork"], hub.moments = False, [gone]
    assert alert(ootci, folder, at_home(hub)).code == 3


def test_a_repository_of_any_name_and_default_branch_is_at_home(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    night(folder, {"dev": "or"})
    hub.facts["default_branch"] = "trunk"
    ran = alert(ootci, folder, at_home(hub, GITHUB_REF="refs/heads/trunk"))
    assert (ran.code, len(hub.issues)) == (0, 1), ran.err


@pytest.mark.parametrize(("status", "said"), [(404, "there is no repository"), (200, "it is no repository")])
def test_a_repository_that_cannot_be_asked_for_is_an_error(
    ootci: Tool, folder: Path, hub: FakeGithub, status: int, said: str
) -> None:
    night(folder, {"dev": "or"})
    hub.moments = [Moment(status, body="[]")]
    ran = alert(ootci, folder, at_home(hub))
    assert (ran.code, said in ran.err, hub.issues) == (3, True, {})


def test_it_can_be_kept_from_doing_anything(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    night(folder, {"dev": "or"})
    assert "dry run" in alert(ootci, folder, at_home(hub), "--dry-run").out
    assert hub.issues == {}


def test_without_a_repository_it_says_what_it_would_do_on_an_empty_one(ootci: Tool, folder: Path) -> None:
    night(folder, {"dev": "or"})
    ran = alert(ootci, folder, {})
    assert ran.out.splitlines()[0].startswith("dry run, nothing is changed on no repository: this is no workflow")
    night(folder, {"dev": "oo"})
    assert alert(ootci, folder, {}).out.splitlines()[1:] == ["nothing would be done"]


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (("--apply",), {}, "no repository is named"),
        (("--apply", "--repository", "a/b"), {}, "there is no token"),
        (("--repository", "../x"), {}, "`../x` is no repository"),
        (("--address", "nowhere", "--repository", ""), {}, "is not the address of a site"),
    ],
)
def test_wrong_input(ootci: Tool, folder: Path, arguments: tuple[str, ...], env: dict[str, str], said: str) -> None:
    night(folder, {"dev": "or"})
    ran = alert(ootci, folder, env, *arguments)
    assert (ran.code, said in ran.err) == (2, True)


def test_new_issues_are_limited(ootci: Tool, folder: Path, hub: FakeGithub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("ootci.stages.alert.decide"), "NEW_ISSUES", 1)
    night(folder, dict.fromkeys(NAMES, "or"))
    ran = alert(ootci, folder, at_home(hub))
    assert ran.out.splitlines()[-1] == (
        "2 more issues left for the next run, as one makes no more than its limit: "
        "device-broken/two, device-broken/three"
    )
    assert len(hub.issues) == 1
    assert "left" in alert(ootci, folder, at_home(hub)).out
    assert "left" not in alert(ootci, folder, at_home(hub)).out


def test_the_deep_tests_have_one_issue_which_the_first_success_closes(
    ootci: Tool, folder: Path, hub: FakeGithub
) -> None:
    env = at_home(hub, GITHUB_SERVER_URL="https://github.com", GITHUB_RUN_ID="7")

    def told(result: str) -> list[str]:
        ran = alert(ootci, folder, env, "--deep-tests", result)
        assert (ran.code, ran.err) == (0, "")
        return ran.out.splitlines()[1:]

    assert told("success") == []
    assert told("failure") == [
        "#1: open an issue for deep-tests/main, “The deep tests fail”: their job ended with: failure"
    ]
    assert hub.issues[1]["labels"] == [{"name": "ootci-alert"}, {"name": "deep-tests"}]
    assert f"](https://github.com/{REPOSITORY}/actions/runs/7)" in str(hub.issues[1]["body"])
    # The nightly, which knows nothing of them, leaves it alone.
    night(folder, {"dev": "oo"})
    assert alert(ootci, folder, env).out.splitlines()[1:] == []
    assert told("failure") == ["rewrite #1, deep-tests/main: it is still so"]
    assert told("cancelled") == ["rewrite #1, deep-tests/main: it fails in another way"]
    assert hub.comments(1) == []
    assert told("success") == ["comment on and close #1, deep-tests/main: 1 good night in a row"]
    assert (hub.issues[1]["state"], "The deep tests pass" in str(hub.issues[1]["body"])) == ("closed", True)
    assert told("success") == []
    assert told("skipped") == ["reopen #1, deep-tests/main: it is back"]


def test_a_stranger_s_issue_with_our_marker_is_not_ours(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    night(folder, {"dev": "or"})
    alert(ootci, folder, at_home(hub))
    ours = hub.issues.pop(1)
    for login, labels in (("mallory", ("ootci-alert",)), (BOT, ())):
        hub.add("a trap", str(ours["body"]), labels, login=login)
    alert(ootci, folder, at_home(hub))
    assert hub.states() == {"a trap": "open", "Device dev is broken": "open"}
    assert [hub.issues[number]["body"] for number in (1, 2)] == [ours["body"]] * 2


def test_of_two_runs_at_once_the_older_issue_stays(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    night(folder, {"dev": "or"})

    def another_run_was_first() -> None:
        hub.on_create = lambda: None
        mine = hub.issues.pop(1)
        hub.add(str(mine["title"]), str(mine["body"]), ("ootci-alert",))
        hub.issues[2] = {**mine, "number": 2}

    hub.on_create = another_run_was_first
    ran = alert(ootci, folder, at_home(hub))
    assert "close #2, device-broken/dev: it is the same as #1" in ran.out
    assert [issue["state"] for issue in hub.issues.values()] == ["open", "closed"]
    assert hub.issues[2]["state_reason"] == "duplicate"
    assert len(alert(ootci, folder, at_home(hub)).out.splitlines()) == 1


def test_closed_by_hand_it_is_left_closed_and_locked_it_is_not_commented_on(
    ootci: Tool, folder: Path, hub: FakeGithub
) -> None:
    night(folder, {"dev": "or", "two": "or"})
    alert(ootci, folder, at_home(hub))
    hub.issues[1]["state"] = "closed"
    hub.issues[2]["locked"] = True
    night(folder, {"dev": "orf", "two": "orr"})
    alert(ootci, folder, at_home(hub))
    night(folder, {"dev": "orff", "two": "orrb"})
    ran = alert(ootci, folder, at_home(hub))
    assert ran.code == 0
    assert "#1, device-broken/dev, stays closed: it was closed by hand, and nothing new fails" in ran.out
    assert [hub.issues[number]["state"] for number in (1, 2)] == ["closed", "open"]
    assert [hub.comments(number) for number in (1, 2)] == [[], []]
    assert "BUILD BROKEN" in str(hub.issues[2]["body"])


def test_what_is_refused_keeps_nothing_else_out(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    night(folder, {"dev": "or", "two": "or"})
    hub.moments = [Moment(422, body='{"message": "no"}', only="POST")]
    ran = alert(ootci, folder, at_home(hub))
    assert ran.code == 3
    assert "refused, GitHub answered 422: no (POST /repos/example/repository/issues): open an issue for" in ran.out
    assert hub.states() == {"Device two is broken": "open"}


def test_who_may_not_write_is_told_so(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    night(folder, {"dev": "or"})
    ran = ootci("alert", cwd=folder, env=at_home(hub, GITHUB_TOKEN="another"))  # noqa: S106 - it opens nothing
    assert (ran.code, "HUB-002" in ran.err, "another" in ran.out + ran.err) == (3, True, False)


@pytest.mark.parametrize(
    ("letters", "stale", "state", "code"),
    [("oo", None, "fresh", 0), ("oo", "the newest nightly is 40 hours old", "stale", 3), ("", None, "never", 0)],
)
def test_watch(ootci: Tool, folder: Path, letters: str, stale: str | None, state: str, code: int) -> None:
    write(verdicts({"dev": letters}, stale=stale), folder / ".ootci" / "verdicts.json")
    ran = ootci("watch", "--github-output", "out", cwd=folder)
    assert (ran.code, (folder / "out").read_text(encoding="utf-8")) == (code, f"nightly={state}\n")
    assert ("NIGHT-001" in ran.err) == (code == 3)
    assert (ran.out == "there has been no nightly yet: the history holds none\n") == (state == "never")
    assert ootci("watch", "--exit-zero", cwd=folder).code == 0
