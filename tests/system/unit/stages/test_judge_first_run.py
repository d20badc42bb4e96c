"""What a first run and a run on somebody's own machine may not claim: news, and an answer for other devices."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import device, plan, run
from unit.stages.judging import judged

from ootci.model.plan import NOT_ASKED_FOR, LeftOut, Plan, Trigger


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
            "no device that gates merges was asked; this run on one machine tested only Mine, not Ref",
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
