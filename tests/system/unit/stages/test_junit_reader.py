"""JUnit that a device run wrote: cut, hostile, foreign. Never an exception, never an invented pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ootci.model.ids import MAX_ID
from ootci.model.outcome import OutcomeName
from ootci.model.run import ReportState
from ootci.stages.collect import junit
from ootci.stages.collect.case import MAX_MESSAGE
from ootci.stages.collect.excerpt import MAX_TEXT
from ootci.stages.collect.junit import Report, read_junit

SMALL = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites name="ootci"><testsuite name="smoke" tests="4">
<testcase classname="smoke.a" name="one" time="0.25"><properties><property name="id" value="smoke/a.py::one"/>
<property name="outcome" value="passed"/><property name="capability" value="rng"/></properties></testcase>
<testcase classname="smoke.a" name="two"><properties><property name="id" value="smoke/a.py::two"/>
<property name="outcome" value="crashed"/></properties><error message="died" type="crashed">stack</error></testcase>
<testcase classname="smoke.a" name="three"><failure message="1 != 2">text &lt;b&gt;</failure></testcase>
<testcase classname="smoke.a" name="four"><skipped message="no card"/></testcase>
</testsuite></testsuites>
"""


def _read(tmp_path: Path, content: bytes) -> Report:
    path = tmp_path / "junit.xml"
    path.write_bytes(content)
    return read_junit(path)


def _case(inside: str, attributes: str = 'name="one"') -> bytes:
    case = f"<testcase {attributes}>{inside}</testcase>"
    return f'<testsuites><testsuite name="smoke">{case}</testsuite></testsuites>'.encode()


def test_a_whole_report_says_everything(tmp_path: Path) -> None:
    report = _read(tmp_path, SMALL)
    assert report.state is ReportState.COMPLETE
    assert [(item.id, item.suite, item.outcome.value) for item in report.outcomes] == [
        ("smoke/a.py::one", "smoke", "passed"),
        ("smoke/a.py::two", "smoke", "crashed"),
        ("smoke.a::three", "smoke", "failed"),
        ("smoke.a::four", "smoke", "skipped"),
    ]
    assert (report.outcomes[0].duration, report.outcomes[0].capability) == (0.25, "rng")
    assert (report.outcomes[2].message, report.outcomes[2].text) == ("1 != 2", "text <b>")


def test_a_case_inside_a_case_hides_neither(tmp_path: Path) -> None:
    report = _read(tmp_path, _case('<failure message="no"/><testcase name="inner"/>', 'name="outer"'))
    assert [(item.id, item.outcome.value) for item in report.outcomes] == [("outer", "failed"), ("inner", "passed")]


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


@pytest.mark.parametrize(
    ("content", "state", "detail"),
    [
        (b"", ReportState.EMPTY, "empty"),
        (b"\x00\x01\x02", ReportState.UNREADABLE, "not XML"),
        (b"not xml at all", ReportState.UNREADABLE, "not XML"),
        (b"<html><body/></html>", ReportState.UNREADABLE, "not JUnit"),
        (b"<testcase name='a'/>", ReportState.UNREADABLE, "not JUnit"),
        (b"<testsuites/>", ReportState.NO_TESTS, "no tests"),
        (b"<testsuite name='smoke' tests='7'/>", ReportState.NO_TESTS, "no tests"),
        (b"<!DOCTYPE x><testsuites/>", ReportState.UNREADABLE, "document type"),
        (b"<!DOCTYPE x SYSTEM 'file:///etc/passwd'><testsuites/>", ReportState.UNREADABLE, "document type"),
        (
            b"<!DOCTYPE x [<!ENTITY a 'aaa'><!ENTITY b '&a;&a;'>]><testsuites>&b;</testsuites>",
            ReportState.UNREADABLE,
            "type",
        ),
        (b"<testsuites>" + b"<a>" * 100, ReportState.UNREADABLE, "nests deeper"),
        (b"<testsuites>&unknown;</testsuites>", ReportState.TRUNCATED, "undefined entity"),
    ],
)
def test_every_other_file_has_its_state(tmp_path: Path, content: bytes, state: ReportState, detail: str) -> None:
    report = _read(tmp_path, content)
    assert (report.outcomes, report.state) == ((), state)
    assert detail in str(report.detail)


def test_a_missing_report_and_a_folder_in_its_place(tmp_path: Path) -> None:
    assert read_junit(tmp_path / "gone.xml").state is ReportState.MISSING
    assert read_junit(tmp_path).state is ReportState.UNREADABLE


@pytest.mark.parametrize("encoding", ["foo", "utf-7", "shift_jis", "hex", "idna", "rot13", "utf-16"])
def test_an_encoding_that_cannot_be_read_is_a_state(tmp_path: Path, encoding: str) -> None:
    report = _read(tmp_path, f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + _case(""))
    assert (report.outcomes, report.state) == ((), ReportState.UNREADABLE)


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8"])
def test_encodings_of_ordinary_writers_are_read(tmp_path: Path, encoding: str) -> None:
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?>'
        + _case("", 'name="caf\N{LATIN SMALL LETTER E WITH ACUTE}"').decode()
    )
    assert _read(tmp_path, text.encode(encoding)).outcomes[0].id == "caf\N{LATIN SMALL LETTER E WITH ACUTE}"


def test_a_report_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "MAX_BYTES", 100)
    assert "larger than" in str(_read(tmp_path, SMALL).detail)


def test_nested_suites_name_their_tests_by_the_inner_one(tmp_path: Path) -> None:
    content = b"""<testsuites><testsuite name="smoke"><testcase name="a"/><testsuite name="inner"><testcase name="b"/>
    </testsuite><testcase name="c"/></testsuite><testsuite><testcase/></testsuite></testsuites>"""
    found = [(item.id, item.suite) for item in _read(tmp_path, content).outcomes]
    assert found == [("a", "smoke"), ("b", "inner"), ("c", "smoke"), ("unnamed", "unknown")]


_BY_ELEMENT = {
    "<failure/>": OutcomeName.FAILED,
    "<error/>": OutcomeName.ERROR,
    "<skipped/>": OutcomeName.SKIPPED,
    "": OutcomeName.PASSED,
}
_GOOD = {OutcomeName.PASSED, OutcomeName.XFAILED}


@pytest.mark.parametrize("element", [element for element in _BY_ELEMENT if element])
@pytest.mark.parametrize("stated", ["passed", "PASSED", "ok", "", "xfailed", "skipped", "unsupported"])
def test_a_property_never_turns_a_failure_into_something_better(tmp_path: Path, element: str, stated: str) -> None:
    (item,) = _read(
        tmp_path, _case(f'<properties><property name="outcome" value="{stated}"/></properties>{element}')
    ).outcomes
    if element != "<skipped/>":
        assert item.outcome is _BY_ELEMENT[element]
    else:
        assert item.outcome in (OutcomeName.SKIPPED, OutcomeName.UNSUPPORTED, OutcomeName.XFAILED)


@pytest.mark.parametrize("stated", [name for name in OutcomeName if name not in _GOOD])
def test_a_property_that_tells_of_trouble_is_believed(tmp_path: Path, stated: OutcomeName) -> None:
    (item,) = _read(tmp_path, _case(f'<property name="outcome" value="{stated.value}"/>')).outcomes
    assert item.outcome is stated


@pytest.mark.parametrize(
    ("element", "stated"),
    [
        ("failure", "xpassed"),
        ("error", "crashed"),
        ("error", "timed_out"),
        ("error", "not_run"),
        ("skipped", "unsupported"),
    ],
)
def test_a_property_refines(tmp_path: Path, element: str, stated: str) -> None:
    (item,) = _read(tmp_path, _case(f'<{element}/><property name="outcome" value="{stated}"/>')).outcomes
    assert item.outcome.value == stated


@pytest.mark.parametrize(
    "inside", ["<failure/><skipped/>", "<skipped/><failure/>", "<skipped/><error/>", "<error/><skipped/>"]
)
def test_of_several_results_the_worst_counts(tmp_path: Path, inside: str) -> None:
    (item,) = _read(tmp_path, _case(inside)).outcomes
    assert item.is_failure


FORBIDDEN = [
    b"&#27;",
    b"&#x1B;",
    b"&#0;",
    b"\x1b",
    b"\x00",
    b"&#xd800;",
    b"&#x110000;",
    b"\xff",
    b"\xc3(",
    b"\xed\xa0\x80",
]


@pytest.mark.parametrize("chunk", [1, 3, 1 << 18])
@pytest.mark.parametrize("raw", FORBIDDEN)
def test_characters_that_xml_forbids_cost_no_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, chunk: int
) -> None:
    monkeypatch.setattr(junit, "CHUNK", chunk)
    content = _case("<failure>say here</failure>", 'name="a&#65;word"').replace(b"say", raw).replace(b"word", raw)
    report = _read(tmp_path, content.replace(b"</testsuite>", b"<testcase name='last'/></testsuite>"))
    assert (report.state, report.detail) == (ReportState.COMPLETE, None)
    first, last = report.outcomes
    assert (first.is_failure, last.id) == (True, "last")
    assert first.id.startswith("aA")
    assert first.id[2:].strip("?(\N{REPLACEMENT CHARACTER}") == ""
    assert str(first.text).endswith(" here")


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_in_other_encodings_such_a_character_breaks_the_report_off(tmp_path: Path, encoding: str) -> None:
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase name="a"/><testcase name="\x1b"/></testsuite>'
    )
    report = _read(tmp_path, text.encode(encoding))
    assert (report.state, [item.id for item in report.outcomes]) == (ReportState.TRUNCATED, ["a"])


def test_a_huge_text_keeps_head_and_tail_and_says_how_much_was_cut(tmp_path: Path) -> None:
    body = "H" * 10_000 + "-" * 3_000_000 + "T" * 10_000
    (item,) = _read(tmp_path, _case(f"<failure>{body}</failure>")).outcomes
    assert item.text is not None
    assert len(item.text) < MAX_TEXT + 100
    assert item.text.startswith("H" * 8000 + "\n[")
    assert item.text.endswith("]\n" + "T" * 8000)
    assert f"[{len(body) - 16_000} characters cut]" in item.text


@pytest.mark.parametrize("size", [MAX_TEXT - 1, MAX_TEXT, MAX_TEXT + 1, 2 * MAX_TEXT, 2 * MAX_TEXT + 1])
def test_no_character_is_cut_without_being_counted(tmp_path: Path, size: int) -> None:
    (item,) = _read(tmp_path, _case(f"<failure>{'x' * size}</failure>")).outcomes
    assert item.text is not None
    cut = int(item.text.split("[")[1].split()[0]) if "[" in item.text else 0
    assert item.text.count("x") + cut == size


def test_every_other_text_has_a_cap(tmp_path: Path) -> None:
    long = "y" * 100_000
    properties = "".join(f'<property name="{name}" value="{long}"/>' for name in ("id", "capability", "title"))
    (item,) = _read(tmp_path, _case(f'{properties}<failure message="{long}"/>')).outcomes
    assert len(item.id) == MAX_ID
    assert len(str(item.message)) == len(str(item.title)) == MAX_MESSAGE
    assert len(str(item.capability)) == 100


@pytest.mark.parametrize(
    ("time", "seconds"), [("1,234.5", 1234.5), ("nan", 0), ("inf", 0), ("-1", 0), ("x", 0), ("1e300", 0)]
)
def test_a_duration_is_a_number_of_seconds_or_nothing(tmp_path: Path, time: str, seconds: float) -> None:
    assert _read(tmp_path, _case("", f'name="a" time="{time}"')).outcomes[0].duration == seconds
