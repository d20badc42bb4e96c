"""GitHub's issues through its API, as a server on this machine plays it: page after page, refused, limited, broken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_github import BOT, REPOSITORY, TOKEN, FakeGithub, Moment, fake_github

from ootci.adapters import github_rest
from ootci.adapters.github_issues import GithubIssues
from ootci.adapters.github_rest import GithubRest, api_address
from ootci.errors import GithubRefused, GithubUnreachable

LABEL = "ours"
NOW = 1_800_000_000.0


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGithub]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with fake_github() as server:
        yield server


@pytest.fixture
def waited() -> list[float]:
    return []


def issues(hub: FakeGithub, waited: list[float], token: str | None = TOKEN, name: str = REPOSITORY) -> GithubIssues:
    rest = GithubRest(token, hub.url, wait=waited.append, now=lambda: NOW)
    return GithubIssues(rest, name, LABEL)


def test_ours_are_found_on_every_page_and_no_others(hub: FakeGithub, waited: list[float]) -> None:
    hub.page = 2
    ours = [
        hub.add(f"issue {number}", "x", (LABEL, "more"), state="closed" if number % 2 else "open")
        for number in range(5)
    ]
    hub.add("without the label", "x")
    hub.add("of a stranger", "x", (LABEL,), login="mallory")
    hub.add("of somebody who left", "x", (LABEL,), user=None)
    hub.add("a pull request", "x", (LABEL,), pull_request={})
    found = issues(hub, waited).own()
    assert [(issue.number, issue.is_open) for issue in found] == [(n, n % 2 == 1) for n in ours]
    assert len(hub.asked) == 4
    assert waited == []


def test_what_is_public_is_read_without_a_token(hub: FakeGithub, waited: list[float]) -> None:
    hub.add("one", "x", (LABEL,))
    assert len(issues(hub, waited, token=None).own()) == 1


def test_an_issue_is_made_changed_and_commented_on(hub: FakeGithub, waited: list[float]) -> None:
    ours = issues(hub, waited)
    made = ours.create("a title", "a body", ("more",))
    ours.change(made.number, title="another", state="closed", state_reason="completed")
    ours.comment(made.number, "a word")
    (found,) = ours.own()
    assert (found.number, found.title, found.body, found.is_open, found.author) == (1, "another", "a body", False, BOT)
    assert hub.issues[1]["labels"] == [{"name": LABEL}, {"name": "more"}]
    assert hub.comments(1) == ["a word"]
    assert waited == [github_rest.PAUSE_SECONDS] * 2


def test_line_ends_are_ours(hub: FakeGithub, waited: list[float]) -> None:
    hub.add("one", "a\r\nb", (LABEL,))
    hub.issues[hub.add("two", "x", (LABEL,))]["body"] = None
    assert [issue.body for issue in issues(hub, waited).own()] == ["a\nb", ""]


def test_a_server_error_is_asked_about_again(hub: FakeGithub, waited: list[float]) -> None:
    hub.moments = [Moment(502, body="<html>"), Moment(500)]
    assert issues(hub, waited).create("a title", "a body", ()).number == 1
    assert (len(hub.issues), waited) == (1, [1.0, 2.0])


def test_an_answer_that_is_lost_may_mean_that_it_is_done_twice(hub: FakeGithub, waited: list[float]) -> None:
    hub.moments = [Moment(504, done=True)]
    assert issues(hub, waited).create("a title", "a body", ()).number == 2
    assert len(hub.issues) == 2


def test_a_server_that_stays_broken_is_given_up(hub: FakeGithub, waited: list[float]) -> None:
    hub.moments = [Moment(503)] * 10
    with pytest.raises(GithubUnreachable, match="GitHub answered 503"):
        issues(hub, waited).own()
    assert len(hub.asked) == github_rest.ATTEMPTS


def test_nobody_answers(waited: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with fake_github() as gone:
        pass
    with pytest.raises(GithubUnreachable, match="did not answer"):
        issues(gone, waited).own()


SECONDARY = '{"message": "You have exceeded a secondary rate limit."}'


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        (Moment(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{NOW + 90:.0f}"}), 91.0),
        (Moment(429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{NOW - 90:.0f}"}), 1.0),
        (Moment(403, {"Retry-After": "30"}), 30.0),
        (Moment(429, {"Retry-After": "soon"}), 60.0),
        (Moment(403, body=SECONDARY), 60.0),
        (Moment(429), 60.0),
    ],
)
def test_a_rate_limit_is_waited_for(hub: FakeGithub, waited: list[float], moment: Moment, seconds: float) -> None:
    hub.moments = [moment]
    assert issues(hub, waited).own() == ()
    assert waited == [seconds]


def test_nobody_waits_for_an_hour(hub: FakeGithub, waited: list[float]) -> None:
    hub.moments = [Moment(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{NOW + 3000:.0f}"})]
    with pytest.raises(GithubUnreachable, match="rate limit is used up for 3001 s"):
        issues(hub, waited).own()
    assert waited == []


def test_all_waiting_together_has_an_end(hub: FakeGithub, waited: list[float]) -> None:
    ours = issues(hub, waited)
    hub.moments = [Moment(429, {"Retry-After": "400"})]
    ours.own()
    hub.moments = [Moment(429, {"Retry-After": "400"})]
    with pytest.raises(GithubUnreachable):
        ours.own()
    assert waited == [400.0]


def test_who_may_not_is_told_so_at_once(hub: FakeGithub, waited: list[float]) -> None:
    with pytest.raises(GithubRefused, match="GitHub answered 401: Bad credentials") as caught:
        issues(hub, waited, token="wrong").own()  # noqa: S106 - it is none
    assert "renew GITHUB_TOKEN" in caught.value.fix
    assert (len(hub.asked), waited) == (1, [])


@pytest.mark.parametrize("status", [301, 403, 404, 410, 422])
def test_a_refusal_is_no_bad_moment(hub: FakeGithub, waited: list[float], status: int) -> None:
    hub.moments = [Moment(status, {"Location": f"{hub.url}/elsewhere"}, body="no")]
    with pytest.raises(GithubRefused, match=f"GitHub answered {status}$|GitHub answered {status}\n"):
        issues(hub, waited).own()
    assert len(hub.asked) == 1


@pytest.mark.parametrize(
    ("status", "place", "fix"),
    [
        (401, "/repos/o/r/issues", "renew GITHUB_TOKEN (https://github.com/settings/tokens)"),
        (403, "/repos/o/r/issues", "the permission issues: write"),
        (403, "/repos/o/r/actions/workflows/x.yml/dispatches", "the permission actions: write"),
        (403, "/repos/o/r/pulls/1", "the permission pull-requests: write"),
        (404, "/repos/o/r/actions/runs/1", "turn on Actions, on the page Settings > Actions > General"),
        (410, "/repos/o/r/issues", "turn on issues, on the page Settings > General > Features"),
        (404, "/repos/o/r", "name the repository as it is called now (--repository)"),
        (422, "/repos/o/r/issues", "see what is wrong in GitHub's answer"),
    ],
)
def test_a_refusal_names_the_setting_that_mends_it_and_its_page(
    hub: FakeGithub, status: int, place: str, fix: str
) -> None:
    hub.moments = [Moment(status)]
    with pytest.raises(GithubRefused) as caught:
        GithubRest(TOKEN, hub.url).change("POST", place, {})
    assert fix in caught.value.fix
    assert caught.value.what == f"GitHub answered {status}: a bad moment"


@pytest.mark.parametrize("body", ["", "{}", "<html>", "[1]", '[{"number": "x"}]', "[" * 100_000, '"text"', "null"])
def test_an_answer_that_is_none_is_told_so(hub: FakeGithub, waited: list[float], body: str) -> None:
    hub.moments = [Moment(200, body=body)]
    with pytest.raises(GithubRefused, match="not as it should be"):
        issues(hub, waited).own()


def test_an_answer_without_end_is_given_up(
    hub: FakeGithub, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github_rest, "MAX_ANSWER_BYTES", 1 << 20)
    hub.moments = [Moment(200, body=" " * (3 << 20))]
    with pytest.raises(GithubRefused, match="more than 1 MiB"):
        issues(hub, waited).own()


def test_pages_without_end_are_given_up(hub: FakeGithub, waited: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github_rest, "MAX_PAGES", 3)
    hub.page = 1
    for number in range(5):
        hub.add(f"issue {number}", "x", (LABEL,))
    with pytest.raises(GithubRefused, match="more than 3 pages"):
        issues(hub, waited).own()


def test_the_token_goes_to_no_other_server(hub: FakeGithub, waited: list[float]) -> None:
    with fake_github() as other:
        hub.moments = [Moment(200, {"Link": f'<{other.url}/repos/x>; rel="next"'}, body="[]")]
        with pytest.raises(GithubRefused, match="on another server"):
            issues(hub, waited).own()
        assert other.asked == []


def test_issues_in_another_name_are_not_made_again_and_again(hub: FakeGithub, waited: list[float]) -> None:
    hub.login = "somebody"
    with pytest.raises(GithubRefused, match="in the name of somebody") as caught:
        issues(hub, waited).create("a title", "a body", ())
    assert "--author 'somebody'" in caught.value.fix
    assert hub.states() == {"a title": "closed"}


def test_the_api_can_be_another(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OOTCI_GITHUB_API", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    assert api_address() == "https://api.github.com"
    monkeypatch.setenv("GITHUB_API_URL", "https://github.example/api/v3/")
    assert api_address() == "https://github.example/api/v3"
    monkeypatch.setenv("OOTCI_GITHUB_API", "http://127.0.0.1:1")
    assert api_address() == "http://127.0.0.1:1"
