"""openreg's page of operators says what the suite ops finds tonight."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Nightly
from operators_page import load_report, read_page

pytestmark = pytest.mark.torch

REMEDY = "make devices/openreg/OPERATORS.md again, with the commands at its top"


def test_the_page_of_operators_says_what_the_nightly_found(openreg_nightly: Nightly, root: Path) -> None:
    page = read_page((root / "devices" / "openreg" / "OPERATORS.md").read_text(encoding="utf-8"))
    torch = json.loads((openreg_nightly.run / "run.json").read_text(encoding="utf-8"))["torch"]["version"]
    if torch != page.torch:
        pytest.skip(f"the page is of torch {page.torch}, the nightly ran on {torch}")
    report = load_report()
    log = (openreg_nightly.run / "events.jsonl").read_text(encoding="utf-8")
    ends = report.ends(report.events(log.splitlines()))
    found = {(end.kind, end.name, end.detail): end.result for end in ends}
    assert len(found) > 2000
    assert {test: result for test, result in found.items() if page.result(test) != result} == {}, REMEDY
    # What was run at all is looked at from the other side too: a row may be of a test that is gone.
    ran = {(kind, detail) for kind, _, detail in found}
    gone = {test for test in page.exceptions if (test[0], test[2]) in ran} - set(found)
    assert not gone, REMEDY
