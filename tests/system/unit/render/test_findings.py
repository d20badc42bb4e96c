"""What to fix first: what explains most tests, and a refusal once, however many tests met it."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.pages import read
from unit.samples import device, outcomes, plan, run

from ootci.history.store import History
from ootci.model.outcome import Outcome
from ootci.model.run import Run
from ootci.stages.judge import judge
from ootci.stages.render import render
from ootci.stages.render.findings import findings

KERNEL = "Could not run '{}' with arguments from the 'PrivateUse1' backend. This could be because"
NO_ADD = f"blocked by aten::add.out: {KERNEL.format('aten::add.out')}"
IN_SAMPLES = (
    "2 of 5 samples are refused, first sample 1: add(float32[3]): the cpu computes it, the device raised "
    f"NotImplementedError: {KERNEL.format('aten::add.out')}"
)


def _came(name: str, outcome: str, message: str, capability: str = "ops") -> Outcome:
    return outcomes("integration", **{name: outcome})[0].model_copy(
        update={"message": message, "text": f"E  {message}", "capability": capability}
    )


def _with(*came: Outcome) -> Run:
    record = run(0)
    return record.model_copy(update={"outcomes": (*record.outcomes, *came)})


def _told(record: Run, expected: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    return [(item.tests, item.text) for item in findings(record, expected)]


MANY = (
    _came("one", "failed", "RuntimeError: the card is gone", "device"),
    _came("eight", "unsupported", NO_ADD),
    _came("three", "unsupported", IN_SAMPLES),
    _came("four", "unsupported", NO_ADD, "views"),
    _came("five", "unsupported", "torch.dev.synchronize is missing", "device"),
    _came("six", "crashed", "the process ended during this test: killed by SIGSEGV", "memory"),
    _came("seven", "failed", "RuntimeError: the card is gone", "device"),
)


def test_what_explains_most_tests_stands_first_and_a_refusal_counts_once() -> None:
    assert _told(_with(*MANY)) == [
        (3, "no kernel for aten::add.out"),
        (2, "RuntimeError: the card is gone"),
        (1, "torch.dev.synchronize is missing"),
        (1, "the process ended during this test: killed by SIGSEGV"),
    ]


@pytest.mark.parametrize(("passed", "listed"), [(63, True), (64, False)])
def test_a_device_of_which_less_than_a_tenth_does_not_pass_has_no_list(passed: int, listed: bool) -> None:
    fine = (_came(f"fine{number}", "passed", "") for number in range(passed - len(run(0).outcomes)))
    assert bool(_told(_with(*MANY, *fine))) == listed


def test_what_the_vendor_said_beforehand_is_no_finding() -> None:
    record = _with(*MANY)
    assert (2, "RuntimeError: the card is gone") in _told(record)
    assert (1, "RuntimeError: the card is gone") in _told(record, frozenset({"integration/test_x.py::one"}))
    assert _told(record, frozenset({"ops"}))[0] == (2, "RuntimeError: the card is gone")


def test_the_page_begins_with_them_and_leads_to_what_to_implement(tmp_path: Path) -> None:
    registry, history, record = (device("dev"),), History(tmp_path / "data"), _with(*MANY)
    history.append_plan(plan(0))
    history.append_run(record)
    render(registry, history, judge(registry, history, record.finished_at), tmp_path / "site")
    page = read(tmp_path / "site" / "d" / "dev" / "index.html")
    headings = [heading.text for heading in page.one("main").find("h2")]
    assert headings.index("What to fix first") < headings.index("Failures 3")
    first = page.one("ol", class_="findings").find("li")[0]
    assert first.text.startswith("3 unsupported no kernel for aten::add.out such as integration/")
