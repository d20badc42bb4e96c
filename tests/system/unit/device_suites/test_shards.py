"""Shares of the tests: each test in exactly one, about equally long, and hardly moved by a new measurement."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_suites import SmallSuites

from harness.shards import assign

_TESTS = st.dictionaries(st.text("abc[]:/", min_size=1, max_size=9), st.floats(0, 500), max_size=60)
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


@given(_TESTS, st.integers(1, 9), st.randoms(use_true_random=False))
def test_every_test_is_in_exactly_one_shard_whatever_the_order(
    durations: dict[str, float], count: int, order: random.Random
) -> None:
    ids = list(durations)
    found = assign(ids, durations, count)
    assert set(found) == set(ids)
    assert set(found.values()) <= set(range(1, count + 1))
    order.shuffle(ids)
    assert assign(ids, durations, count) == found


@given(_TESTS, st.integers(1, 9))
def test_no_shard_is_much_longer_than_its_share(durations: dict[str, float], count: int) -> None:
    found = assign(list(durations), durations, count)
    loads = [sum(durations[test] for test, shard in found.items() if shard == index + 1) for index in range(count)]
    fair, longest = sum(durations.values()) / count, max(durations.values(), default=0)
    # Classes are a quarter apart, and no class is shorter than four milliseconds.
    assert max(loads) <= 1.25 * (max(1.05 * fair, fair + longest)) + 0.01 * len(durations)


def _plausible(seed: int, size: int = 600) -> dict[str, float]:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    return {f"integration/test_{i % 30}.py::test_{i}": chance.lognormvariate(-2, 1.5) for i in range(size)}


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("seed", range(3))
def test_shards_of_a_plausible_suite_are_balanced(seed: int, count: int) -> None:
    durations = _plausible(seed)
    found = assign(list(durations), durations, count)
    loads = [sum(durations[test] for test, shard in found.items() if shard == index + 1) for index in range(count)]
    assert max(loads) <= 1.15 * sum(loads) / count


def test_where_nothing_was_measured_neighbours_go_to_different_shards() -> None:
    ids = [f"ops/test_a.py::test_{i}" for i in range(9)]
    assert assign(list(reversed(ids)), {}, 2) == {test: index % 2 + 1 for index, test in enumerate(ids)}


def test_a_measurement_within_its_class_moves_nothing() -> None:
    durations = dict.fromkeys(_plausible(0), 0.1)
    found = assign(list(durations), durations, 4)
    assert assign(list(durations), {test: 0.1 + index / 1e5 for index, test in enumerate(durations)}, 4) == found


@pytest.mark.parametrize("seed", range(5))
def test_one_test_that_takes_longer_moves_few_others(seed: int) -> None:
    durations = _plausible(seed)
    found = assign(list(durations), durations, 4)
    moved = []
    for test in list(durations)[::20]:
        again = assign(list(durations), {**durations, test: durations[test] * 1.3}, 4)
        moved.append(sum(again[name] != found[name] for name in durations))
    assert sum(moved) / len(moved) <= 0.05 * len(durations)


def test_a_test_that_takes_longer_moves_hardly_one_other() -> None:
    """Of two shards each test prefers one by itself: filled up in turn they would move three times as many."""
    moved = []
    for seed in range(6):
        durations = _plausible(seed)
        found = assign(list(durations), durations, 2)
        for test in list(durations)[::60]:
            again = assign(list(durations), {**durations, test: durations[test] * 1.3}, 2)
            moved.append(sum(again[name] != found[name] for name in durations))
    assert sum(moved) / len(moved) <= 2


def test_a_test_that_was_never_measured_counts_as_the_median() -> None:
    durations = {"a": 0.1, "b": 0.1, "c": 1.0, "d": 1.0, "e": 1.0, "f": 2.0, "g": 6.0}
    new = [f"new{number}" for number in range(5)]
    ids = [*durations, *new]
    assert assign(ids, durations, 2) == assign(ids, {**durations, **dict.fromkeys(new, 1.0)}, 2)
    for other in (0.1, 6.0):
        assert assign(ids, durations, 2) != assign(ids, {**durations, **dict.fromkeys(new, other)}, 2)


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


def test_durations_that_are_none_are_a_usage_error(suites: SmallSuites, tmp_path: Path) -> None:
    suites.write("smoke/test_a.py", THREE)
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    session = suites.run("--shard=1/2", f"--durations-from={tmp_path / 'bad.json'}", "smoke")
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert "the durations cannot be read" in session.err


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


def test_durations_decide_and_what_is_none_counts_as_not_measured(suites: SmallSuites, tmp_path: Path) -> None:
    suites.write("smoke/test_a.py", THREE)
    ids = {name: f"smoke/test_a.py::test_{name}" for name in ("one", "two", "three", "four")}
    given = f'{{"{ids["one"]}": 9, "{ids["two"]}": 1, "{ids["three"]}": true, "{ids["four"]}": -1e300}}'
    (tmp_path / "durations.json").write_text(given, encoding="utf-8")
    (told,) = suites.run("--shard=1/2", f"--durations-from={tmp_path / 'durations.json'}", "smoke").of("shard")
    assert {test["id"]: test["shard"] for test in told["tests"]} == assign(
        list(ids.values()), {ids["one"]: 9.0, ids["two"]: 1.0}, 2
    )
