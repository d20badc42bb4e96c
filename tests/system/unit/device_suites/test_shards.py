"""Shares of the tests: each test in exactly one, the same on every machine."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_suites import SmallSuites

from harness.shards import assign, deal

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


NAMES = st.text("abc[]:/", min_size=1, max_size=9)


@given(st.sets(NAMES, max_size=60), st.integers(1, 9))
def test_every_test_is_in_exactly_one_shard_whatever_else_is_collected(names: set[str], count: int) -> None:
    ids = {f"{file}::{name}" for file in ("a", "b") for name in names}
    found = assign(ids, count, {})
    assert set(found) == ids
    for file in ("a", "b"):
        mine = {test: index for test, index in found.items() if test.startswith(f"{file}::")}
        sizes = [list(mine.values()).count(index) for index in range(1, count + 1)]
        assert max(sizes) - min(sizes) <= 1
        assert assign(sorted(mine, reverse=True), count, {}) == mine


def test_neighbors_go_to_different_shards_and_files_begin_with_different_ones() -> None:
    dealt = assign([f"ops/{file}.py::test_{i}" for file in "abcdef" for i in range(3)], 2, {})
    turns = {tuple(dealt[f"ops/{file}.py::test_{i}"] for i in range(3)) for file in "abcdef"}
    assert turns == {(1, 2, 1), (2, 1, 2)}


@given(st.dictionaries(NAMES, st.integers(1, 5000), min_size=1, max_size=30), st.integers(1, 9))
def test_only_a_file_of_more_than_a_fair_share_has_several_workers(sizes: dict[str, int], count: int) -> None:
    dealt, fair = deal(sizes, count), sum(sizes.values()) / count
    assert set(dealt) == set(sizes)
    load = dict.fromkeys(range(1, count + 1), 0.0)
    for file, workers in dealt.items():
        assert len(set(workers)) == len(workers) == math.ceil(Fraction(sizes[file] * count, sum(sizes.values())))
        load |= {worker: load[worker] + sizes[file] / len(workers) for worker in workers}
    assert max(load.values()) <= 2 * fair + 1e-6
    assert deal(dict(reversed(sizes.items())), count) == dealt


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
    assert "no such share" in session.err


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
        session = suites.run(f"--shard={outer}/2", f"--worker={inner}/2", "smoke")
        seen += session.ends()
    assert sorted(seen) == sorted({test["id"] for test in session.of("shard")[0]["tests"]})
