"""Since when something fails, what changed when it began, and which PyTorch a nightly was about."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.samples import night

from ootci.history.nights import Seen, build_of_nightly, streak_between, streak_of
from ootci.model.cluster import Mark
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, OutcomeName
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest

A, B = "a1" * 20, "b2" * 20


def mark(
    number: int,
    *,
    torch: str | None = None,
    version: str | None = None,
    plugin: str | None = None,
    release: str | None = None,
    sources: str | None = None,
) -> Mark:
    return Mark(
        plan_id=f"night{number:03d}",
        date=night(number),
        torch_version=version,
        torch_commit=torch,
        plugin_version=release,
        plugin_commit=plugin,
        plugin_sources=sources,
    )


def _row(*outcomes: str | None) -> list[Seen]:
    """What came of a test, oldest night first; told newest first."""
    seen = [Seen(mark(number), None if name is None else OutcomeName(name)) for number, name in enumerate(outcomes)]
    return seen[::-1]


@pytest.mark.parametrize(
    ("outcomes", "passed", "failed"),
    [
        (["passed", "failed"], 0, 1),
        (["passed", "failed", "crashed", "timed_out", "error"], 0, 1),
        (["failed", "passed", "failed", "failed"], 1, 2),
        (["passed", None, "failed"], 0, 2),
        (["passed", "failed", None, "skipped", "not_run", "unsupported", "failed"], 0, 1),
        (["xfailed", "failed"], 0, 1),
        (["failed", "failed"], None, 0),
        ([None, "skipped", "failed"], None, 2),
        (["passed", "failed", "not_run"], 0, 1),
    ],
)
def test_a_row_begins_after_the_last_pass(outcomes: list[str | None], passed: int | None, failed: int) -> None:
    streak = streak_of(_row(*outcomes))
    assert streak is not None
    assert streak.first_failed == mark(failed)
    assert streak.last_passed == (None if passed is None else mark(passed))


def test_no_more_is_read_than_is_needed() -> None:
    endless = itertools.chain(_row("passed", "failed"), (_ for _ in iter(_refuse, None)))
    assert streak_of(endless) is not None


def _refuse() -> Seen:
    raise AssertionError("nights before the last pass are of no interest")


_NAMES = st.sampled_from([None, *(name.value for name in OutcomeName)])


@given(st.lists(_NAMES, max_size=12))
def test_a_row_holds_no_pass(outcomes: list[str | None]) -> None:
    streak = streak_of(_row(*outcomes))
    passes, failures = ({name.value for name in names} for names in (AS_THEY_SHOULD, FAILURES))
    told = [(number, name) for number, name in enumerate(outcomes) if name in passes | failures]
    assert (streak is None) == (not told or told[-1][1] in passes)
    if streak is not None:
        first = int(streak.first_failed.plan_id.removeprefix("night"))
        assert outcomes[first] in failures
        assert not set(outcomes[first:]) & passes
        before = [number for number, name in told if number < first]
        assert streak.last_passed == (mark(before[-1]) if before else None)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"torch": A}, {"torch": B}, True),
        ({"torch": A}, {"torch": A}, False),
        ({"torch": A, "version": "1"}, {"torch": A, "version": "2"}, False),
        ({"version": "2.15.0.dev1"}, {"version": "2.15.0.dev2"}, True),
        ({"version": "2.15.0"}, {"torch": A, "version": "2.15.0"}, False),
        ({"version": "2.15.0"}, {"torch": A}, None),
        ({}, {}, None),
    ],
)
def test_whether_torch_changed(before: dict[str, str], after: dict[str, str], expected: bool | None) -> None:
    assert streak_between(mark(0, **before), mark(1, **after)).torch_changed is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"plugin": A}, {"plugin": B}, True),
        ({"plugin": A}, {"plugin": A}, False),
        ({"plugin": A}, {"plugin": f"{A}-dirty"}, None),
        ({"plugin": f"{A}-dirty"}, {"plugin": f"{A}-dirty"}, None),
        ({"plugin": f"{A}-dirty"}, {"plugin": B}, True),
        ({"release": "1.0"}, {"release": "1.1"}, True),
        ({"release": "1.0"}, {"release": "1.0"}, False),
        ({"release": "1.0", "plugin": A}, {"release": "1.0", "plugin": B}, True),
        ({"plugin": A}, {}, None),
        ({"plugin": A, "sources": "1"}, {"plugin": B, "sources": "1"}, False),
        ({"plugin": f"{A}-dirty", "sources": "1"}, {"plugin": f"{A}-dirty", "sources": "2"}, True),
        ({"plugin": A, "sources": "1"}, {"plugin": B}, True),
    ],
)
def test_whether_the_plugin_changed(before: dict[str, str], after: dict[str, str], expected: bool | None) -> None:
    assert streak_between(mark(0, **before), mark(1, **after)).plugin_changed is expected


def test_the_commits_in_between_have_a_page() -> None:
    streak = streak_between(mark(0, torch=A), mark(1, torch=B))
    assert streak.commits == "a1a1a1a...b2b2b2b"
    assert streak.commits_url == f"https://github.com/pytorch/pytorch/compare/{A}...{B}"
    unknown = streak_between(mark(0, torch=None), mark(1, torch=B))
    assert (unknown.commits, unknown.commits_url) == (None, None)


ONE, TWO = "1" * 40, "2" * 40


def had(version: str, commit: str | None, channel: Channel = Channel.NIGHTLY) -> tuple[TorchRequest, TorchBuild]:
    request = TorchRequest(wanted="nightly", wanted_channel=Channel.NIGHTLY, channel=channel, version=version)
    return request, TorchBuild(version=version, git_version=commit)


def test_most_runs_decide_and_a_build_for_another_card_is_the_same_one() -> None:
    runs = [had("2.15.0.dev2+cpu", ONE), had("2.15.0.dev2+rocm7.1", ONE), had("2.15.0.dev3+cpu", TWO)]
    assert build_of_nightly(runs) == TorchBuild(version="2.15.0.dev2", git_version=ONE)


def test_of_as_many_runs_the_newer_version_counts_in_any_order() -> None:
    runs = [had("2.15.0.dev2+cpu", TWO), had("2.15.0.dev3+cpu", ONE)]
    assert build_of_nightly(runs) == build_of_nightly(runs[::-1]) == TorchBuild(version="2.15.0.dev3", git_version=ONE)


def test_a_release_and_what_is_no_commit_say_nothing() -> None:
    runs = [
        had("2.14.0+cpu", TWO, Channel.RELEASE),
        had("2.15.0.dev2+cpu", "../../" + ONE),
        had("2.15.0.dev2+cpu", None),
        (had("2.15.0.dev2+cpu", ONE)[0], None),
    ]
    assert build_of_nightly(runs) is None
