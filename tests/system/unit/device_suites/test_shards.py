"""Shares of the tests: each test in exactly one, the same on every machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_suites import SmallSuites

from harness.shards import assign

THREE = '''
def test_one():
    """It works."""


def test_two():
    """It works."""


def test_three():
    """It works."""


def test_four():
    """It works."""
'''


@given(st.sets(st.text("abc[]:/", min_size=1, max_size=9), max_size=60), st.integers(1, 9))
def test_every_test_is_in_exactly_one_shard_whatever_the_order(ids: set[str], count: int) -> None:
    found = assign(ids, count)
    assert set(found) == ids
    sizes = [list(found.values()).count(index) for index in range(1, count + 1)]
    assert sum(sizes) == len(ids)
    assert max(sizes) - min(sizes) <= 1
    assert assign(sorted(ids, reverse=True), count) == found


def test_neighbors_go_to_different_shards() -> None:
    ids = [f"ops/test_a.py::test_{i}" for i in range(9)]
    assert assign(ids, 2) == {test: index % 2 + 1 for index, test in enumerate(ids)}


def test_shards_together_are_the_whole_and_each_tells_of_all(suites: SmallSuites) -> None:
    suites.write("smoke/test_a.py", THREE)
    whole = {test["id"] for test in suites.run("smoke").of("collected")[0]["tests"]}
    seen: list[str] = []
    for index in (1, 2):
        suites.log.unlink()
        session = suites.run("--shard", f"{index}/2", "smoke")
        (told,) = session.of("shard")
        assert (told["index"], told["count"]) == (index, 2)
        assert {test["id"] for test in told["tests"]} == whole
        mine = [test["id"] for test in told["tests"] if test["shard"] == index]
        assert [test["id"] for test in session.of("collected")[0]["tests"]] == mine == list(session.ends())
        seen += mine
    assert sorted(seen) == sorted(whole)


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2", "1/99999"])
def test_a_shard_that_is_none_is_a_usage_error(suites: SmallSuites, shard: str) -> None:
    suites.write("smoke/test_a.py", THREE)
    session = suites.run(f"--shard={shard}", "smoke")
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert "no such shard" in session.err


def test_a_share_is_of_the_tests_that_were_chosen(suites: SmallSuites) -> None:
    suites.write("smoke/test_a.py", THREE)
    suites.write("smoke/test_b.py", THREE, header="import pytest\npytestmark = pytest.mark.capability('amp')\n")
    (told,) = suites.run("--shard=1/2", "--capability=amp", "smoke").of("shard")
    assert {test["id"].partition("::")[0] for test in told["tests"]} == {"smoke/test_b.py"}


def test_a_share_of_named_tests_is_a_usage_error(suites: SmallSuites, tmp_path: Path) -> None:
    suites.write("smoke/test_a.py", THREE)
    (tmp_path / "ids").write_text("smoke/test_a.py::test_one", encoding="utf-8")
    session = suites.run("--shard=1/2", f"--ids-from={tmp_path / 'ids'}")
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert "a share of named tests" in session.err


def test_a_share_of_a_share(suites: SmallSuites) -> None:
    suites.write("smoke/test_a.py", THREE)
    seen: list[str] = []
    for outer, inner in ((1, 1), (1, 2), (2, 1), (2, 2)):
        suites.log.unlink(missing_ok=True)
        session = suites.run(f"--shard={outer}/2", f"--shard={inner}/2", "smoke")
        seen += session.ends()
    assert sorted(seen) == sorted({test["id"] for test in session.of("shard")[0]["tests"]})
