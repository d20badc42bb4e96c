"""Outcomes, and what every test has to declare."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from small_suites import SUITES

from harness.outcomes import Unsupported, mark_unsupported, outcome_of, unsupported
from harness.reproduce import command


def _report(when: str, outcome: str, longrepr: object = None, **more: object) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid="a",
        location=("a", 1, "a"),
        keywords={},
        outcome=outcome,  # type: ignore[arg-type]
        longrepr=longrepr,  # type: ignore[arg-type]
        when=when,  # type: ignore[arg-type]
        **more,
    )


SETUP, TEARDOWN = _report("setup", "passed"), _report("teardown", "passed")


@pytest.mark.parametrize(
    ("reports", "outcome"),
    [
        ([SETUP, _report("call", "passed"), TEARDOWN], "passed"),
        ([SETUP, _report("call", "failed"), TEARDOWN], "failed"),
        ([SETUP, _report("call", "failed"), _report("teardown", "failed")], "failed"),
        ([SETUP, _report("call", "passed"), _report("teardown", "failed")], "error"),
        ([_report("setup", "failed"), TEARDOWN], "error"),
        ([_report("setup", "skipped"), TEARDOWN], "skipped"),
        ([SETUP, _report("call", "skipped"), TEARDOWN], "skipped"),
        ([SETUP, _report("call", "skipped"), _report("teardown", "failed")], "error"),
        ([SETUP, _report("call", "skipped", wasxfail="why"), TEARDOWN], "xfailed"),
        ([SETUP, _report("call", "passed", wasxfail="why"), TEARDOWN], "xpassed"),
        ([SETUP, _report("call", "failed", "[XPASS(strict)] why"), TEARDOWN], "xpassed"),
        ([SETUP], "error"),
        ([], "error"),
    ],
)
def test_outcome_of_phases(reports: list[pytest.TestReport], outcome: str) -> None:
    assert outcome_of(reports) == outcome


def test_unsupported_is_a_skip_that_is_told_apart() -> None:
    with pytest.raises(Unsupported, match="no sparse tensors") as caught:
        unsupported("no sparse tensors")
    assert isinstance(caught.value, pytest.skip.Exception)
    report = _report("call", "skipped")
    mark_unsupported(report, "why")
    assert outcome_of([SETUP, report, TEARDOWN]) == "unsupported"


def test_reproduction_survives_a_shell() -> None:
    text = command(["smoke/test_x.py::test_y[a b'c]"], "openreg")
    words = shlex.split(text.partition(": ")[2])
    assert words == ["python", "-m", "pytest", "smoke/test_x.py::test_y[a b'c]", "--device", "openreg"]


def test_suites_name_no_place_on_any_machine() -> None:
    for path in [path for path in SUITES.rglob("*") if path.suffix in (".py", ".md", ".ini")]:
        text = Path(path).read_text(encoding="utf-8")
        assert "/root/" not in text, path
        assert "/home/" not in text, path
