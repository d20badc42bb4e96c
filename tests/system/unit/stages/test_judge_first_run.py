"""What a first run and a run on somebody's own machine may not claim: news, and an answer for other devices."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import SUITES, device, plan, run
from unit.stages.judging import judged

from ootci.model.plan import NOT_ASKED_FOR, LeftOut, Plan, Trigger
from ootci.model.run import Run
from ootci.model.verdict import VerdictName


def test_what_fails_on_a_first_run_is_no_news(tmp_path: Path) -> None:
    bad = {"one": "failed"}
    verdicts = judged(tmp_path, plan(0), run(0, smoke=bad))
    (found,) = verdicts.devices
    assert (found.is_first, found.new_failures) == (True, 1)
    assert "1 failing since the first run" in verdicts.summary
    assert "newly" not in verdicts.summary
    assert [item.is_new for item in verdicts.gate.blockers] == [False]
    again = judged(tmp_path, plan(1), run(1, smoke=bad))
    assert (again.devices[0].is_first, again.devices[0].new_failures) == (False, 0)
    assert "first run" not in again.summary


def _only(suite: str) -> tuple[Plan, Run]:
    """A night on which one suite alone is asked for, and passes."""
    planned, record = plan(0, suites=tuple(item for item in SUITES if item.name == suite)), run(0)
    suites = tuple(item for item in record.suites if item.suite == suite)
    outcomes = tuple(item for item in record.outcomes if item.suite == suite)
    return planned, record.model_copy(update={"suites": suites, "outcomes": outcomes})


def test_what_fails_on_the_first_run_of_a_suite_is_no_news(tmp_path: Path) -> None:
    bad = {"two": "failed", "three": "failed"}
    assert judged(tmp_path, *_only("smoke")).devices[0].verdict is VerdictName.OK
    (added,) = judged(tmp_path, plan(1), run(1, integration=bad)).devices
    assert (added.verdict, added.is_first, added.is_new, added.new_failures) == (VerdictName.FAILING, True, False, 2)
    (worse,) = judged(tmp_path, plan(2), run(2, integration={**bad, "four": "failed"})).devices
    assert (worse.verdict, worse.is_first, worse.new_failures) == (VerdictName.REGRESSED, False, 1)


def test_the_first_failures_of_a_suite_hide_no_test_that_started_failing(tmp_path: Path) -> None:
    judged(tmp_path, *_only("integration"))
    both = run(1, smoke={"one": "failed"}, integration={"two": "failed"})
    (found,) = judged(tmp_path, plan(1), both).devices
    assert (found.is_first, found.new_failures) == (False, 1)


def test_a_device_that_had_only_silent_nights_has_a_first_run_too(tmp_path: Path) -> None:
    broken = run(0, stages={"build": "failed"}, smoke={}, integration={})
    assert judged(tmp_path, plan(0), broken).devices[0].is_first
    assert judged(tmp_path, plan(1), run(1, smoke={"one": "failed"})).devices[0].is_first


def _alone(*names: str, event: str = "local", left: tuple[str, ...] = ()) -> Plan:
    outside = tuple(LeftOut(device=name, reason=NOT_ASKED_FOR, paused=False) for name in left)
    return plan(0, names).model_copy(update={"trigger": Trigger(event=event), "left_out": outside})


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (
            "local",
            "no device that gates merges was tested; this run on one machine tested only Mine, not Ref",
        ),
        (
            "workflow_dispatch",
            "the reference device Ref has no result on this PyTorch: no nightly has run it yet",
        ),
    ],
)
def test_a_run_of_one_device_on_a_laptop_says_nothing_of_others(tmp_path: Path, event: str, reason: str) -> None:
    registry = (device("mine", tier="advisory"), device("ref", tier="reference"))
    gate = judged(tmp_path, _alone("mine", event=event, left=("ref",)), run(0, "mine"), registry=registry).gate
    assert (gate.answer, gate.reason) == ("cannot_say", reason)


def test_a_gating_device_that_takes_part_on_a_laptop_is_asked_alone(tmp_path: Path) -> None:
    registry = (device("mine"), device("ref", tier="reference"))
    planned = _alone("mine", left=("ref",))
    good = judged(tmp_path / "good", planned, run(0, "mine"), registry=registry).gate
    assert (good.answer, good.alone) == ("yes", ("mine",))
    assert good.reason.endswith("; this run on one machine tested only Mine, not Ref")
    bad = judged(tmp_path / "bad", planned, run(0, "mine", smoke={"one": "failed"}), registry=registry).gate
    assert (bad.answer, bad.blocking) == ("no", ("mine",))
