"""JUnit that others wrote: cut, hostile, foreign. Never an exception, never an invented pass, never silence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ootci.model import junit_report
from ootci.model.excerpt import MAX_ID, MAX_MESSAGE, MAX_TEXT
from ootci.model.junit_report import Report, read_reports
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.run import ReportState

CASES = Path(__file__).parents[2] / "golden" / "junit"
SMALL = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" tests="4">
<testcase classname="a.B" name="one" time="0.25"/>
<testcase classname="a.B" name="two"><error message="died" type="x">stack</error></testcase>
<testcase classname="a.B" name="three"><failure message="1 != 2">text &lt;b&gt;</failure></testcase>
<testcase classname="a.B" name="four"><skipped message="no card"/></testcase>
</testsuite></testsuites>
"""


def _read(tmp_path: Path, content: bytes, suite: str | None = "mine") -> Report:
    path = tmp_path / "report.xml"
    path.write_bytes(content)
    return read_reports([path], suite)


def _case(inside: str, attributes: str = 'name="one"') -> bytes:
    return f"<testsuites><testsuite><testcase {attributes}>{inside}</testcase></testsuite></testsuites>".encode()


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir() if path.is_dir()))
def test_a_producer_is_understood(case: str, pytestconfig: pytest.Config) -> None:
    report = read_reports([CASES / case / "report.xml"], "mine")
    assert report.state is ReportState.COMPLETE, report.detail
    golden = CASES / case / "outcomes.json"
    outcomes = TypeAdapter(list[Outcome]).dump_python(list(report.outcomes), mode="json", exclude_defaults=True)
    if pytestconfig.getoption("--update-golden"):
        golden.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    assert outcomes == json.loads(golden.read_text(encoding="utf-8"))


def _outcomes(report: Report) -> dict[str, str]:
    return {item.id: item.outcome.value for item in report.outcomes}


def test_a_real_run_of_pytest_is_read(tmp_path: Path) -> None:
    shutil.copyfile(CASES / "pytest" / "test_device.py", tmp_path / "test_device.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml"]
    done = subprocess.run([*command, "test_device.py"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1
    golden = read_reports([CASES / "pytest" / "report.xml"], "mine")
    assert _outcomes(read_reports([tmp_path / "report.xml"], "mine")) == _outcomes(golden)


@pytest.mark.skipif(shutil.which("ctest") is None, reason="there is no ctest")
def test_a_real_run_of_ctest_is_read(tmp_path: Path) -> None:
    shutil.copyfile(CASES / "ctest" / "CMakeLists.txt", tmp_path / "CMakeLists.txt")
    subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=tmp_path, capture_output=True, check=True)
    command = ["ctest", "--output-junit", str(tmp_path / "report.xml")]
    subprocess.run(command, cwd=tmp_path / "build", capture_output=True, check=False)
    golden = read_reports([CASES / "ctest" / "report.xml"], "mine")
    assert _outcomes(read_reports([tmp_path / "report.xml"], "mine")) == _outcomes(golden)


def test_attempts_after_surefires_schema(tmp_path: Path) -> None:
    """No report of the tool itself was at hand: the elements are those of its schema."""
    again = '<{0} message="m"><stackTrace>stack</stackTrace><system-out>noise</system-out></{0}>'
    failed = _case(f'<failure message="first"/>{again.format("rerunFailure")}')
    flaky = _case(again.format("flakyError"))
    (item,) = _read(tmp_path, failed).outcomes
    assert (item.outcome.value, item.message, [later.outcome.value for later in item.attempts]) == (
        "failed",
        "first",
        ["failed"],
    )
    (item,) = _read(tmp_path, flaky).outcomes
    assert (item.outcome.value, item.text, item.is_flaky) == ("error", "stack", False or item.is_failure)


def test_cut_at_every_byte_it_keeps_a_prefix_and_never_looks_whole(tmp_path: Path) -> None:
    whole = _read(tmp_path, SMALL).outcomes
    for size in range(len(SMALL.rstrip())):
        report = _read(tmp_path, SMALL[:size])
        assert report.outcomes == whole[: len(report.outcomes)], size
        assert report.state in (ReportState.TRUNCATED, ReportState.UNREADABLE, ReportState.EMPTY), size
        assert report.detail, size
    assert len(report.outcomes) == len(whole)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, len(SMALL) - 1), byte=st.integers(0, 255))
def test_one_changed_byte_never_raises_and_never_adds_a_test(tmp_path: Path, position: int, byte: int) -> None:
    changed = SMALL[:position] + bytes([byte]) + SMALL[position + 1 :]
    assert len(_read(tmp_path, changed).outcomes) <= 4


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_bytes_that_are_no_report_are_a_state(tmp_path: Path, content: bytes) -> None:
    report = _read(tmp_path, content)
    assert report.outcomes == ()
    assert report.state in (ReportState.EMPTY, ReportState.UNREADABLE)


LAUGHS = b"<!DOCTYPE x [<!ENTITY a 'ha'>%s]><testsuites>&b29;</testsuites>" % b"".join(
    b"<!ENTITY b%d '&%s;&%s;'>" % (n, *2 * [b"b%d" % (n - 1) if n else b"a"]) for n in range(30)
)


@pytest.mark.parametrize(
    ("content", "state", "detail"),
    [
        (b"", ReportState.EMPTY, "empty"),
        (b"\x00\x01\x02", ReportState.UNREADABLE, "not XML"),
        (b"not xml at all", ReportState.UNREADABLE, "not XML"),
        (b"<html><body/></html>", ReportState.UNREADABLE, "no testsuite"),
        (b"<testcase name='a'/>", ReportState.UNREADABLE, "no testsuite"),
        (b"<testsuites/>", ReportState.NO_TESTS, "no tests"),
        (b"<testsuite name='smoke' tests='7'/>", ReportState.NO_TESTS, "no tests"),
        (b"<!DOCTYPE x>" + _case(""), ReportState.UNREADABLE, "DOCTYPE"),
        (b"<!DOCTYPE x SYSTEM 'file:///etc/passwd'>" + _case(""), ReportState.UNREADABLE, "DOCTYPE"),
        (LAUGHS, ReportState.UNREADABLE, "DOCTYPE"),
        (_case("<a>" * 1_000 + "</a>" * 1_000), ReportState.UNREADABLE, "deeper than 50"),
        (_case("").replace(b"</testsuite>", b"<a>" * 60), ReportState.UNREADABLE, "deeper than 50"),
        (_case("<a/>" * 1_001), ReportState.UNREADABLE, "more than 1000 elements"),
        (_case("<failure/><testcase name='inner'/>"), ReportState.UNREADABLE, "inside another"),
        (b"<testsuites>&unknown;</testsuites>", ReportState.TRUNCATED, "undefined entity"),
        (SMALL + SMALL, ReportState.TRUNCATED, "breaks off"),
    ],
)
def test_every_malformed_kind_has_its_state(tmp_path: Path, content: bytes, state: ReportState, detail: str) -> None:
    report = _read(tmp_path, content)
    assert report.state is state
    assert detail in str(report.detail)
    assert report.outcomes == () or state is ReportState.TRUNCATED


def test_a_missing_report_no_report_and_a_folder_in_its_place(tmp_path: Path) -> None:
    assert read_reports([tmp_path / "gone.xml"], "mine").state is ReportState.MISSING
    assert read_reports([], "mine").state is ReportState.MISSING
    assert read_reports([tmp_path], "mine").state is ReportState.UNREADABLE


@pytest.mark.parametrize("encoding", ["foo", "utf-7", "shift_jis", "hex", "idna", "rot13", "utf-16"])
def test_an_encoding_that_cannot_be_read_is_a_state(tmp_path: Path, encoding: str) -> None:
    report = _read(tmp_path, f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + _case(""))
    assert (report.outcomes, report.state) == ((), ReportState.UNREADABLE)


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8"])
def test_encodings_of_ordinary_writers_are_read(tmp_path: Path, encoding: str) -> None:
    name = "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    text = f'<?xml version="1.0" encoding="{encoding}"?>' + _case("", f'name="{name}"').decode()
    assert _read(tmp_path, text.encode(encoding)).outcomes[0].id == f"mine/{name}"


def test_a_report_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit_report, "MAX_BYTES", 100)
    assert "larger than" in str(_read(tmp_path, SMALL).detail)


def test_more_tests_than_can_be_kept_are_a_report_that_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit_report, "MAX_CASES", 3)
    report = _read(tmp_path, SMALL)
    assert (len(report.outcomes), report.state) == (3, ReportState.TRUNCATED)
    assert "more than 3 tests" in str(report.detail)


@pytest.mark.parametrize("order", [("<failure/>", ""), ("", "<failure/>"), ("", "<error/>", "<skipped/>")])
def test_of_two_tests_with_one_id_a_failure_stays(tmp_path: Path, order: tuple[str, ...]) -> None:
    cases = "".join(f'<testcase name="a">{inside}</testcase>' for inside in order)
    (item,) = _read(tmp_path, f"<testsuite>{cases}</testsuite>".encode()).outcomes
    assert item.is_failure


def test_several_reports_are_one_and_the_first_bad_one_is_named(tmp_path: Path) -> None:
    for name, content in (("a", SMALL), ("b", b"<testsuites/>"), ("c", SMALL.replace(b"a.B", b"c.D"))):
        (tmp_path / f"{name}.xml").write_bytes(content)
    paths = sorted(tmp_path.iterdir())
    report = read_reports(paths, "mine")
    assert (len(report.outcomes), report.state) == (8, ReportState.COMPLETE)
    (tmp_path / "b.xml").write_bytes(b"<testsuites>")
    report = read_reports(paths, "mine")
    assert (len(report.outcomes), report.state) == (8, ReportState.TRUNCATED)
    assert str(report.detail).startswith("b.xml: ")


@pytest.mark.parametrize(
    "inside", ["<failure/><skipped/>", "<skipped/><failure/>", "<skipped/><error/>", "<error/><skipped/>"]
)
def test_of_several_results_the_worst_counts(tmp_path: Path, inside: str) -> None:
    (item,) = _read(tmp_path, _case(inside)).outcomes
    assert item.is_failure


@pytest.mark.parametrize("element", ["failure", "error"])
def test_no_property_and_no_status_turns_a_failure_into_something_better(tmp_path: Path, element: str) -> None:
    said = '<properties><property name="outcome" value="passed"/><property name="unsupported" value="x"/></properties>'
    for suite in ("mine", None):
        (item,) = _read(tmp_path, _case(f"{said}<{element}/>", 'name="a" status="passed"'), suite).outcomes
        assert item.is_failure


def test_a_huge_text_keeps_head_and_tail_and_says_how_much_was_cut(tmp_path: Path) -> None:
    body = "H" * 10_000 + "-" * 3_000_000 + "T" * 10_000
    (item,) = _read(tmp_path, _case(f"<failure>{body}</failure>")).outcomes
    assert item.text is not None
    assert item.text == f"{'H' * 8000}\n[{len(body) - 16_000} characters cut]\n{'T' * 8000}"


@pytest.mark.parametrize("size", [MAX_TEXT - 1, MAX_TEXT, MAX_TEXT + 1, 4 * MAX_TEXT, 4 * MAX_TEXT + 1, 9 * MAX_TEXT])
def test_no_character_is_cut_without_being_counted(tmp_path: Path, size: int) -> None:
    (item,) = _read(tmp_path, _case(f"<failure>{'x' * size}</failure>")).outcomes
    assert item.text is not None
    cut = int(item.text.split("[")[1].split()[0]) if "[" in item.text else 0
    assert item.text.count("x") + cut == size


def test_every_other_text_has_a_cap(tmp_path: Path) -> None:
    long = "y" * 100_000
    (item,) = _read(tmp_path, _case(f'<failure message="{long}"/>', f'name="{long}"')).outcomes
    assert (len(item.id), len(str(item.message))) == (MAX_ID, MAX_MESSAGE)


@pytest.mark.parametrize(
    ("time", "seconds"), [("1,234.5", 1234.5), ("nan", 0), ("inf", 0), ("-1", 0), ("x", 0), ("1e300", 0)]
)
@pytest.mark.parametrize("inside", ["", "<failure/>"])
def test_a_duration_is_a_number_of_seconds_or_nothing(tmp_path: Path, time: str, seconds: float, inside: str) -> None:
    assert _read(tmp_path, _case(inside, f'name="a" time="{time}"')).outcomes[0].duration == seconds


@pytest.mark.parametrize(
    ("attributes", "test_id", "suite"),
    [
        ('classname="smoke.test_x" name="test_y[a.b]"', "smoke/test_x.py::test_y[a.b]", "smoke"),
        ('classname="tests.device.ops.test_out.TestA" name="test_y"', "ops/test_out.py::TestA::test_y", "ops"),
        ('classname="" name="integration.test_x"', "integration/test_x.py", "integration"),
        ('classname="elsewhere.test_x" name="test_y"', "elsewhere.test_x::test_y", "unknown"),
    ],
)
def test_tests_of_our_own_suites_get_their_ids_back(tmp_path: Path, attributes: str, test_id: str, suite: str) -> None:
    (item,) = _read(tmp_path, _case("", attributes), None).outcomes
    assert (item.id, item.suite) == (test_id, suite)


def test_what_is_skipped_as_unsupported_stays_unsupported(tmp_path: Path) -> None:
    inside = '<properties><property name="unsupported" value="blocked by aten::x"/></properties><skipped/>'
    (item,) = _read(tmp_path, _case(inside, 'classname="ops.test_x" name="a"'), None).outcomes
    assert (item.outcome, item.message) == (OutcomeName.UNSUPPORTED, "blocked by aten::x")


_PEAK = """
import re, sys
from pathlib import Path
from ootci.model.junit_report import _feed, _Guard
count = 0
def keep(element):
    global count
    count += 1
_feed(Path(sys.argv[1]), _Guard(keep))
# The peak of this program alone: getrusage would count what the process held before it began.
print(count, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def _peak_mib(path: Path, lines: Iterator[str]) -> float:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(lines)
    done = subprocess.run([sys.executable, "-c", _PEAK, str(path)], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[1]) / 1024


def _many(count: int) -> Iterator[str]:
    yield "<testsuite>"
    for number in range(count):
        inside = f'<failure message="no {number}">{"line of text " * 40}</failure>' if number % 50 == 0 else ""
        yield f'<testcase classname="ops.test_{number % 9}" name="t[{number}]" time="0.1">{inside}</testcase>\n'
    yield "</testsuite>"


def _long() -> Iterator[str]:
    yield '<testsuite><testcase name="a"><failure>'
    yield from ("x" * 65_535 + "\n" for _ in range(800))
    yield "</failure></testcase></testsuite>"


@pytest.mark.parametrize("lines", [lambda: _many(100_000), _long], ids=["cases", "text"])
def test_what_the_guard_holds_does_not_grow_with_the_report(tmp_path: Path, lines: object) -> None:
    assert callable(lines)
    small = _peak_mib(tmp_path / "report.xml", _many(1_000))
    assert _peak_mib(tmp_path / "report.xml", lines()) - small < 8


def test_a_report_that_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "good.xml").write_bytes(SMALL)
    os.mkfifo(tmp_path / "pipe.xml")
    (tmp_path / "link.xml").symlink_to("good.xml")
    (tmp_path / "device.xml").symlink_to("/dev/zero")
    for name in ("pipe", "link", "device"):
        report = read_reports([tmp_path / f"{name}.xml"], "mine")
        assert (report.state, report.outcomes) == (ReportState.UNREADABLE, ())
        assert report.detail == "report unreadable: it is no plain file"
