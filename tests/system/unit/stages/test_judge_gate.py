"""The gate: yes, no or cannot_say, each with its reason, and how right it was."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from unit.samples import NIGHTLY, changed, device, night, on_release, on_torch, plan, retries, run
from unit.stages.judging import judged

from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import Gate, VerdictName
from ootci.stages.judge import STALE_AFTER, decide

NAMES = ("ref", "one", "two", "npu", "far")
REGISTRY = tuple(device(name, tier="reference" if name == "ref" else "gating") for name in NAMES)
V = VerdictName
_judge = partial(judged, registry=REGISTRY)


def _night(number: int, runs: Mapping[str, Run | None] | None = None) -> list[Plan | Run]:
    """A night on which all is well, but for the runs that are given; None is no report."""
    made = {name: run(number, name) for name in NAMES} | dict(runs or {})
    return [plan(number, NAMES), *(item for item in made.values() if item is not None)]


def _broken(number: int, name: str, *attempts: str, tests: int = 1) -> Run:
    """A run in which tests fail, and come to these outcomes when they are run again."""
    failing = {"two": "failed", **{f"t{index}": "failed" for index in range(1, tests)}}
    return changed(run(number, name, integration={"fine": "passed", **failing}), attempts=retries(*attempts))


def _answer(gate: Gate) -> tuple[str, tuple[str, ...]]:
    return gate.answer, gate.blocking


def test_all_as_expected_is_yes(tmp_path: Path) -> None:
    gate = _judge(tmp_path, *_night(0)).gate
    assert (gate.answer, gate.reason, gate.without_result) == ("yes", "5 of 5 gating devices as expected", {})


@pytest.mark.parametrize("tests", [1, 20, 21, 300])
def test_confirmed_new_failures_are_no(tmp_path: Path, tests: int) -> None:
    # More than 20 are not run again, and count as confirmed.
    attempts = ("failed",) if tests <= 20 else ()
    found = _judge(tmp_path, *_night(0), *_night(1, {"two": _broken(1, "two", *attempts, tests=tests)}))
    assert _answer(found.gate) == ("no", ("two",))
    assert found.gate.reason == "blocked by 1 of 5 gating devices: Two (REGRESSED)"
    assert (found.gate.blockers[0].is_new, found.gate.blockers[0].broken_since) == (True, night(1))


def test_a_failure_blocks_on_the_nights_after_too(tmp_path: Path) -> None:
    records = [*_night(0), *_night(1, {"two": _broken(1, "two", "failed")}), *_night(2, {"two": _broken(2, "two")})]
    gate = _judge(tmp_path, *records).gate
    assert _answer(gate) == ("no", ("two",))
    assert (gate.blockers[0].verdict, gate.blockers[0].is_new) == (V.FAILING, False)
    assert gate.blockers[0].broken_since == night(1)


def test_a_flaky_test_does_not_block(tmp_path: Path) -> None:
    found = _judge(tmp_path, *_night(0), *_night(1, {"two": _broken(1, "two", "passed")}))
    assert (found.devices[2].verdict, _answer(found.gate)) == (V.UNSTABLE, ("yes", ()))
    assert found.gate.reason == "5 of 5 gating devices as expected, 1 of them with flaky tests"


def test_a_test_that_is_flaky_by_its_record_does_not_block_when_it_fails_twice(tmp_path: Path) -> None:
    records = _night(0, {"two": run(0, "two", integration={"fine": "passed", "two": "passed"})})
    for number in range(1, 12):
        flaked = _broken(number, "two", "passed")
        calm = run(number, "two", integration={"fine": "passed", "two": "passed"})
        records += _night(number, {"two": flaked if number == 5 else calm})
    found = _judge(tmp_path, *records, *_night(12, {"two": _broken(12, "two", "failed")}))
    assert (found.devices[2].verdict, _answer(found.gate)) == (V.UNSTABLE, ("yes", ()))
    again = _judge(tmp_path, *_night(13, {"two": _broken(13, "two")}))
    assert _answer(again.gate) == ("yes", ())
    # So many nights in a row are no chance.
    for number in (14, 15, 16):
        again = _judge(tmp_path, *_night(number, {"two": _broken(number, "two")}))
    assert _answer(again.gate) == ("no", ("two",))


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (None, "no report received"),
        (run(1, "npu", stages={"check": "failed"}), "check: check failed"),
        (on_release(run(1, "npu")), "tested on release 2.13.0+cpu instead of nightly: no index"),
        (on_release(_broken(1, "npu")), "tested on release 2.13.0+cpu instead of nightly: no index"),
    ],
    ids=["silent", "infra", "fallback", "fallback-fails"],
)
def test_a_device_without_a_result_neither_blocks_nor_vouches_and_is_named(
    tmp_path: Path, record: Run | None, why: str
) -> None:
    gate = _judge(tmp_path, *_night(0), *_night(1, {"npu": record})).gate
    assert (gate.answer, gate.without_result) == ("yes", {"npu": why})
    assert gate.reason == f"4 of 5 gating devices as expected; Npu: {why}"
    broken = _judge(tmp_path / "b", *_night(0), *_night(1, {"npu": record, "two": _broken(1, "two")})).gate
    assert (broken.answer, broken.blocking, list(broken.without_result)) == ("no", ("two",), ["npu"])


def test_fewer_than_half_of_the_devices_say_nothing(tmp_path: Path) -> None:
    half = _judge(tmp_path / "a", *_night(0), *_night(1, {"npu": None, "far": None})).gate
    assert half.answer == "yes"
    fewer = _judge(tmp_path / "b", *_night(0), *_night(1, {"npu": None, "far": None, "two": None})).gate
    assert (fewer.answer, fewer.reason.split(";")[0]) == ("cannot_say", "2 of 5 gating devices have a result")


def test_without_the_reference_nobody_can_say(tmp_path: Path) -> None:
    records = _night(1, {"ref": run(1, "ref", stages={"check": "failed"}), "two": _broken(1, "two")})
    gate = _judge(tmp_path, *_night(0), *records).gate
    assert (gate.answer, gate.blocking) == ("cannot_say", ("two",))
    assert gate.reason == "the reference device Ref has no result on this PyTorch: check: check failed"


def test_an_old_release_never_says_yes(tmp_path: Path) -> None:
    gate = _judge(tmp_path, *_night(0), *_night(1, {name: on_release(run(1, name)) for name in NAMES})).gate
    assert gate.answer == "cannot_say"


def test_before_the_first_nightly_on_a_stale_one_and_without_gating_devices_nobody_can_say(tmp_path: Path) -> None:
    assert _judge(tmp_path / "a").gate.reason == "no nightly has run yet"
    stale = _judge(tmp_path / "b", *_night(0), now=night(0) + 2 * STALE_AFTER)
    assert (stale.gate.answer, stale.gate.reason) == ("cannot_say", stale.stale_reason)
    nobody = _judge(tmp_path / "c", plan(0), run(0), registry=(device(tier="advisory"),)).gate
    assert (nobody.answer, nobody.reason) == ("cannot_say", "no device that gates merges was tested")


def test_a_nightly_in_the_future_hides_nothing_and_nobody_can_say(tmp_path: Path) -> None:
    ahead = plan(400, NAMES)
    records = [*_night(0), *_night(1, {"two": _broken(1, "two")}), ahead]
    found = _judge(tmp_path, *records, now=night(1) + timedelta(hours=1))
    assert (found.plan_id, found.devices[2].verdict) == ("night001", V.REGRESSED)
    assert (found.gate.answer, found.gate.blocking) == ("cannot_say", ("two",))
    assert found.gate.reason == f"the nightly night400 is dated {night(400):%Y-%m-%d}, in the future: withdraw it"


def test_another_torch_than_the_one_asked_about(tmp_path: Path) -> None:
    found = _judge(tmp_path, *_night(0))
    for torch, answer in (("2.14.0.dev20261101", "yes"), ("2.14.0.dev20261102", "cannot_say"), ("abc", "cannot_say")):
        gate = decide(REGISTRY, found.devices, found.clusters, planned_at=found.planned_at, torch=torch)
        assert gate.answer == answer
    assert gate.reason == "the newest nightly is of another torch than abc: Ref tested 2.14.0.dev20261101+cpu"


def test_an_override_takes_a_device_out_of_the_question(tmp_path: Path) -> None:
    records = {"ref": None, "two": _broken(1, "two")}
    found = _judge(tmp_path, *_night(0), *_night(1, records))
    ask = {"ref": "its runner is being moved", "two": "known", "one": "fine"}
    gate = decide(REGISTRY, found.devices, found.clusters, planned_at=found.planned_at, overrides=ask)
    assert (gate.answer, gate.overridden) == ("yes", {"ref": "its runner is being moved", "two": "known"})
    assert gate.reason.endswith("; overridden: Ref, Two")


def test_a_required_suite_without_a_passed_test_is_never_as_expected(tmp_path: Path) -> None:
    failing = run(0, integration={"two": "xfailed"})
    found = _judge(tmp_path, plan(0), failing, registry=(device(),))
    assert (found.devices[0].verdict, found.devices[0].reason) == (V.FAILING, "no test of integration passed")
    assert found.gate.answer == "no"


def test_the_gate_keeps_a_record(tmp_path: Path) -> None:
    torch = {5: "a", 6: "a", 7: "b", 8: "c"}
    breaks = {"a": (1, 2), "b": (5,), "c": (7,), "d": (9,)}
    records: list[Plan | Run] = []
    for number in range(10):
        tests = {"fine": "passed", **dict.fromkeys("abcd", "passed")}
        # Each break is of a test of its own, because one that fails and passes by turns is flaky.
        tests |= {test: "failed" for test, nights in breaks.items() if number in nights}
        made = run(number, "two", integration=tests)
        made = on_torch(made, NIGHTLY, torch[number] * 40) if number in torch else made
        records += _night(number, {"two": made, **({"ref": None} if number == 3 else {})})
    record = _judge(tmp_path, *records).gate_record
    assert (record.nights, record.yes, record.no, record.cannot_say) == (10, 4, 5, 1)
    # Broken on nights 1 and 2; on 5, 7 and 9 not seen again: with the same torch, with another, and not known yet.
    assert (record.alarms, record.repeated, record.not_repeated, record.false_alarms, record.open) == (4, 1, 2, 1, 1)


def test_a_run_of_one_device_by_hand_takes_nothing_back_that_the_nightly_of_the_day_found(tmp_path: Path) -> None:
    def by_hand(hours: int) -> list[Plan | Run]:
        asked, made = plan(2, ["one"]), run(2, "one")
        date = night(1) + timedelta(hours=hours)
        return [
            asked.model_copy(update={"created_at": date}),
            made.model_copy(update={"started_at": date, "finished_at": date + timedelta(minutes=9)}),
        ]

    same = _judge(tmp_path / "same", *_night(0), *_night(1, {"two": _broken(1, "two")}), *by_hand(6)).gate
    assert _answer(same) == ("no", ("two",))
    later = _judge(tmp_path / "later", *_night(0), *_night(1, {"two": _broken(1, "two")}), *by_hand(23)).gate
    assert (later.answer, later.blocking) == ("cannot_say", ())
    assert (
        later.reason
        == "the reference device Ref has no result on this PyTorch: not in the newest nightly, last in night001"
    )
