"""``ootci device answer``: one comment under a pull request, made of an artifact that a stranger may have made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_github import TOKEN, Moment
from fake_pulls import FakePull, FakePulls, fake_pulls
from unit.samples import register

from ootci.adapters import github_rest
from ootci.flows.answer import MARKER
from ootci.model.review import Change, CheckResult, CheckState, FileReview, Problem, Review

from commands import Ran, Tool  # isort: skip

SHA = "0123456789abcdef0123456789abcdef01234567"
FORK = "newcomer/fork"
ARTIFACT = "device-file-review-1"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePulls]:
    """GitHub with one open pull request, whose review found one mistake."""
    monkeypatch.setattr(github_rest, "PAUSE_SECONDS", 0.0)
    with fake_pulls() as server:
        server.pulls.append(FakePull(7, FORK, "change", SHA, ["devices/dev.yaml"]))
        upload(server, reviewed())
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The base branch, in which one device is registered."""
    register(tmp_path, "known")
    return tmp_path


def reviewed(path: str = "devices/dev.yaml", what: str = "unknown key `teir`") -> Review:
    checks = (
        CheckResult(check="file", state=CheckState.PASSED),
        CheckResult(check="keys", state=CheckState.FAILED, problems=(Problem.told(what, f"{path}:8", "mend it"),)),
    )
    return Review(files=(FileReview(path=path, change=Change.ADDED, checks=checks),))


def upload(hub: FakePulls, review: Review, run: int = 5) -> None:
    hub.upload(run, ARTIFACT, SHA, {"review.json": review.to_json().encode()})


def answer(ootci: Tool, folder: Path, hub: FakePulls, *more: str, commit: str = SHA, **variables: str) -> Ran:
    given = ("--run=5", f"--commit={commit}", f"--head-repository={FORK}", "--head-branch=change")
    page = "--url=https://github.com/example/repository/actions/runs/5"
    ran: Ran = ootci("device", "answer", *given, page, *more, cwd=folder, env={**hub.job, **variables})
    assert TOKEN not in ran.out + ran.err
    assert not hub.leaked
    return ran


def test_one_comment_is_written_and_rewritten(ootci: Tool, folder: Path, hub: FakePulls) -> None:
    (pull,) = hub.pulls
    pull.say("looks good to me", "somebody")
    ran = answer(ootci, folder, hub)
    assert (ran.code, ran.out.splitlines()[1:]) == (0, ["#7: the comment is written"])
    assert pull.said[1] == (
        f"{MARKER}\n"
        "### ❌ Device files: 1 of 2 checks passed\n"
        "\n"
        "**devices/dev.yaml**: 1 of 2 checks passed (new).\n"
        "\n"
        "@newcomer: how to mend it:\n"
        "\n"
        "- ❌ keys, devices/dev.yaml:8: unknown key &#96;teir&#96;. What to do: mend it.\n"
        "\n"
        "\n"
        "Previews of the pages and the whole review are artifacts of "
        "[this run](https://github.com/example/repository/actions/runs/5), for 0123456789ab.\n"
    )
    assert "the comment is left as it is" in answer(ootci, folder, hub).out
    upload(hub, reviewed(what="another mistake"))
    assert "the comment is rewritten" in answer(ootci, folder, hub).out
    assert (len(pull.said), "another mistake" in pull.said[1]) == (2, True)


def test_a_stranger_s_comment_with_our_marker_is_not_ours(ootci: Tool, folder: Path, hub: FakePulls) -> None:
    (pull,) = hub.pulls
    pull.say(f"{MARKER}\nall is well", "mallory")
    assert "the comment is written" in answer(ootci, folder, hub).out
    assert pull.said[0] == f"{MARKER}\nall is well"


def test_nothing_is_written_elsewhere_than_at_home(ootci: Tool, folder: Path, hub: FakePulls) -> None:
    hub.facts["fork"] = True
    ran = answer(ootci, folder, hub)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[1:4] == [
        "#7: would say:",
        f"  {MARKER}",
        "  ### ❌ Device files: 1 of 2 checks passed",
    ]
    assert hub.pulls[0].said == []
    no_token = answer(ootci, folder, hub, "--apply", GITHUB_TOKEN="")
    assert (no_token.code, "no token to write comments with" in no_token.err) == (2, True)


@pytest.mark.parametrize(
    ("sha", "repository", "branch"),
    [("f" * 40, FORK, "change"), (SHA, "newcomer/other", "change"), (SHA, FORK, "other")],
    ids=["pushed again", "another fork", "another branch"],
)
def test_only_the_pull_request_that_was_reviewed_is_answered(
    ootci: Tool, folder: Path, hub: FakePulls, sha: str, repository: str, branch: str
) -> None:
    hub.pulls[:] = [FakePull(8, repository, branch, sha, ["devices/dev.yaml"])]
    ran = answer(ootci, folder, hub)
    assert (ran.code, "no open pull request is at this commit" in ran.out) == (0, True)
    assert hub.pulls[0].said == []


def test_who_can_change_the_review_itself_is_not_believed(ootci: Tool, folder: Path, hub: FakePulls) -> None:
    hub.pulls[0].files.append(".github/workflows/device-file.yml")
    assert answer(ootci, folder, hub).code == 0
    (said,) = hub.pulls[0].said
    assert "changes .github/, so what its checks say is not repeated here" in said
    assert "teir" not in said
    assert not any("artifacts" in asked for asked in hub.asked)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "the artifact holds no review.json"),
        ({"review.json": b"[" * 100_000}, "the review cannot be read (FILE-002)"),
        ({"review.json": b'{"schema_version": 99, "files": []}'}, "the review cannot be read (FILE-00"),
        ({"review.json": b" " * 50_000_000}, "review.json is larger than 256 KiB"),
        ({f"{number}": b"" for number in range(200)}, "the artifact holds more than 100 files"),
    ],
    ids=["empty", "no review", "from the future", "a bomb", "many files"],
)
def test_an_artifact_can_be_anything(
    ootci: Tool, folder: Path, hub: FakePulls, files: dict[str, bytes], why: str
) -> None:
    hub.upload(5, ARTIFACT, SHA, files)
    assert answer(ootci, folder, hub).code == 0
    (said,) = hub.pulls[0].said
    assert said.startswith(f"{MARKER}\n### Device files: not checked\n")
    assert why in said


def test_an_artifact_that_is_no_archive_too_large_or_another_run_s_is_not_taken(
    ootci: Tool, folder: Path, hub: FakePulls
) -> None:
    for content, why in (
        ((SHA, b"no archive"), "cannot be read (BadZipFile)"),
        ((SHA, b"x" * (1 << 20) + b"x"), "is larger than 1024 KiB"),
        (("f" * 40, b""), f"the run left no artifact {ARTIFACT}"),
    ):
        hub.runs[5].sha = content[0]
        hub.store(hub.runs[5], ARTIFACT, content[1])
        assert answer(ootci, folder, hub).code == 0
        assert why in hub.pulls[0].said[0]
    hub.runs[5].artifacts.clear()
    assert answer(ootci, folder, hub).code == 0
    assert f"the run left no artifact {ARTIFACT}" in hub.pulls[0].said[0]


def test_hostile_text_stays_text_and_mentions_nobody(ootci: Tool, folder: Path, hub: FakePulls) -> None:
    hostile = "@everyone <img src=x> [x](https://evil.invalid) `\n# big\n" + "\u202e" + "x" * 1500
    path = "devices/@all <b>.yaml"
    upload(hub, reviewed(path, hostile))
    assert answer(ootci, folder, hub).code == 0
    (said,) = hub.pulls[0].said
    assert "@everyone" not in said
    assert "@all" not in said
    assert "<b>" not in said
    assert "<img" not in said
    assert "](https://evil" not in said
    assert "\u202e" not in said
    many = tuple(reviewed(path, hostile).files[0] for _ in range(100))
    upload(hub, Review(files=many))
    assert answer(ootci, folder, hub).code == 0
    assert len(hub.pulls[0].said[0].encode()) < 60_000
    assert "did not fit here" in hub.pulls[0].said[0]


def test_a_device_s_maintainers_are_those_of_the_base_branch(ootci: Tool, folder: Path, hub: FakePulls) -> None:
    upload(hub, reviewed("devices/known.yaml"))
    assert answer(ootci, folder, hub).code == 0
    assert "@somebody: how to mend it:" in hub.pulls[0].said[0]
    (folder / "devices" / "broken.yaml").write_text("x", encoding="utf-8")
    assert answer(ootci, folder, hub).code == 0
    assert "@newcomer: how to mend it:" in hub.pulls[0].said[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--commit=abc",), "it is no full commit"),
        (("--head-repository=../x",), "`../x` is no repository"),
        (("--repository=x",), "`x` is no repository"),
    ],
)
def test_what_is_meant_has_to_be_said_in_full(
    ootci: Tool, folder: Path, hub: FakePulls, more: tuple[str, ...], said: str
) -> None:
    ran = answer(ootci, folder, hub, *more)
    assert (ran.code, said in ran.err) == (2, True)
    assert hub.asked == []


def test_github_that_refuses_is_an_error(ootci: Tool, folder: Path, hub: FakePulls) -> None:
    hub.moments = [Moment(403)]
    ran = answer(ootci, folder, hub)
    assert (ran.code, "error HUB-002" in ran.err) == (3, True)
