"""Reading JUnit holds no more than the largest test case, and gives every test an id of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ootci.model.ids import MAX_ID, Ids, short_id
from ootci.model.run import ReportState
from ootci.stages.collect.excerpt import Excerpt, excerpt
from ootci.stages.collect.junit import JunitCases, read_junit

FEW, MANY = 10_000, 200_000
GROWTH_MIB = 4
"""What may come of chance: an allocator's pages. Held, the many cases would be about 150 MiB."""

_COUNT = """
import re, sys
from pathlib import Path
from ootci.stages.collect.junit import JunitCases
cases = JunitCases(Path(sys.argv[1]))
count = sum(1 for _ in cases)
# The peak of this program alone: getrusage would count what the process held before it began.
print(count, cases.state.value, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def _cases(count: int) -> Iterator[str]:
    yield '<testsuites><testsuite name="ops">'
    for number in range(count):
        inside = f'<failure message="no {number}">{"line of text " * 40}</failure>' if number % 50 == 0 else ""
        yield f'<testcase classname="ops.test_{number % 9}" name="t[{number}]" time="0.1">{inside}</testcase>\n'
    yield "</testsuite></testsuites>"


def _peak_mib(path: Path, count: int) -> float:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(_cases(count))
    done = subprocess.run([sys.executable, "-c", _COUNT, str(path)], capture_output=True, text=True, check=True)
    found, state, kib = done.stdout.split()
    assert (int(found), state) == (count, "complete")
    return int(kib) / 1024


def test_memory_does_not_grow_with_the_number_of_cases(tmp_path: Path) -> None:
    few, many = (_peak_mib(tmp_path / "junit.xml", count) for count in (FEW, MANY))
    assert many - few < GROWTH_MIB


def test_memory_does_not_grow_with_a_text(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    small = _peak_mib(path, 100)
    with path.open("w", encoding="utf-8") as stream:
        stream.write('<testsuite name="ops"><testcase name="a"><failure>')
        stream.writelines("x" * 65_535 + "\n" for _ in range(800))
        stream.write("</failure></testcase></testsuite>")
    done = subprocess.run([sys.executable, "-c", _COUNT, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[2]) / 1024 - small < 2 * GROWTH_MIB


def test_memory_does_not_grow_with_durations_that_are_none(tmp_path: Path) -> None:
    """Durations are remembered, as most come again; what only a hostile report says is not."""
    path = tmp_path / "junit.xml"
    small = _peak_mib(path, 100)
    with path.open("w", encoding="utf-8") as stream:
        stream.write('<testsuite name="ops">')
        stream.writelines(f'<testcase name="a" time="{number}{"x" * 50_000}"/>' for number in range(400))
        stream.write("</testsuite>")
    done = subprocess.run([sys.executable, "-c", _COUNT, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[2]) / 1024 - small < 2 * GROWTH_MIB


def test_more_tests_than_can_be_held_are_a_report_that_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("".join(_cases(101)), encoding="utf-8")
    monkeypatch.setattr("ootci.stages.collect.junit.MAX_CASES", 101)
    assert read_junit(path).state is ReportState.COMPLETE
    monkeypatch.setattr("ootci.stages.collect.junit.MAX_CASES", 100)
    report = read_junit(path)
    assert (len(report.outcomes), report.state) == (100, ReportState.TRUNCATED)
    assert "more than 100 tests" in str(report.detail)


def test_cases_come_before_the_report_is_known_to_be_whole(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("".join(_cases(20_000)), encoding="utf-8")
    cases = JunitCases(path)
    first = next(iter(cases))
    assert (first.id, cases.state) == ("ops.test_0::t[0]", ReportState.MISSING)


def _ids(tmp_path: Path, *names: str) -> list[str]:
    cases = "".join(f'<testcase name="{name}"/>' for name in names)
    (tmp_path / "junit.xml").write_text(f'<testsuite name="ops">{cases}</testsuite>', encoding="utf-8")
    return [outcome.id for outcome in read_junit(tmp_path / "junit.xml").outcomes]


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["a", "a", "a"], ["a", "a #2", "a #3"]),
        (["a", "a", "a #2"], ["a", "a #2", "a #2 #2"]),
        (["a #2", "a", "a"], ["a #2", "a", "a #3"]),
        (["", ""], ["unnamed", "unnamed #2"]),
    ],
)
def test_no_two_tests_have_one_id(tmp_path: Path, names: list[str], ids: list[str]) -> None:
    assert _ids(tmp_path, *names) == ids


def test_ids_that_differ_past_the_limit_stay_two(tmp_path: Path) -> None:
    long = "x" * 2 * MAX_ID
    found = _ids(tmp_path, f"{long}a", f"{long}b", f"{long}a")
    assert len(set(found)) == 3
    assert max(map(len, found)) == MAX_ID
    assert short_id("x" * MAX_ID) == "x" * MAX_ID


@given(st.lists(st.sampled_from(["a", "b", "a #2", "a #3", "a #2 #2", "x" * 2000, "x" * 1001])))
def test_ids_are_distinct_whatever_comes(names: list[str]) -> None:
    ids = Ids()
    found = [ids.add(short_id(name)) for name in names]
    assert len(set(found)) == len(names)
    assert all(len(item) <= MAX_ID for item in found)


@given(st.lists(st.text("ab\n", max_size=90)), st.integers(2, 40))
def test_an_excerpt_is_the_same_however_the_text_comes(parts: list[str], limit: int) -> None:
    piecewise = Excerpt(limit)
    for part in parts:
        piecewise.add(part)
    whole = "".join(parts)
    assert piecewise.shown() == excerpt(whole, limit)
    if len(whole) <= limit:
        assert excerpt(whole, limit) == (whole if whole.strip() else None)


@pytest.mark.parametrize("note", ["[... 700 characters cut ...]", "[700 characters cut]"])
def test_what_was_cut_before_counts_as_cut(note: str) -> None:
    text = f"{'h' * 60}{note}{'t' * 60}"
    assert excerpt(text, 40) == f"{'h' * 20}\n[{40 + 700 + 40} characters cut]\n{'t' * 20}"
