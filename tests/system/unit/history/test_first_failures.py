"""Since when each failure of a device's newest night lasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from unit.samples import night, plan, run

from ootci.history.clusters import Failing
from ootci.history.excuses import Excuses, Record
from ootci.history.first_failures import failing_of
from ootci.history.nights import DeviceNight
from ootci.history.stored import stored
from ootci.history.tables import TestTable
from ootci.model.cluster import Cause, Signature
from ootci.model.outcome import OutcomeName

TWO = "integration/test_x.py::two"
NAME = Signature.of("ValueError: no")


def _nights(
    *tests: str | Mapping[str, str] | None, stages: Mapping[int, Mapping[str, str]] | None = None
) -> list[DeviceNight]:
    """Nights by what came of the test `two`, or of several tests; None where nothing was reported."""
    table = TestTable()
    nights = []
    for number, outcome in enumerate(tests):
        reported = None
        if outcome is not None:
            outcomes = {"two": outcome} if isinstance(outcome, str) else outcome
            made = run(number, integration=outcomes, stages=(stages or {}).get(number))
            reported = stored(made, table, {TWO: NAME})
        nights.append(DeviceNight(plan(number), reported))
    return nights


def _flaky(reported: DeviceNight) -> DeviceNight:
    """The night with a second attempt, which passed, of the test `two`."""
    assert reported.run is not None
    (row,) = reported.run.tests.rows_of_id(TWO)
    return DeviceNight(reported.plan, replace(reported.run, attempts={row: (OutcomeName.PASSED,)}))


def _excuses(nights: Sequence[DeviceNight], known: Sequence[str] = ()) -> Excuses:
    """What excuses the newest night's failures, by the nights before and a list of known ones."""
    record = Record()
    for item in nights[:-1]:
        if item.run is not None:
            record.add(item.run)
    newest = nights[-1] if nights else None
    found = record.excuses(newest.plan, newest.run, None) if newest and newest.run is not None else Excuses()
    return replace(found, known=frozenset(known))


def _failing(nights: Sequence[DeviceNight], known: Sequence[str] = ()) -> tuple[Failing, ...]:
    return failing_of(nights, _excuses(nights, known))


def _only(*tests: str | Mapping[str, str] | None, known: tuple[str, ...] = ()) -> Failing:
    (found,) = _failing(_nights(*tests), known)
    return found


@pytest.mark.parametrize(
    ("tests", "first", "passed"),
    [
        (["passed", "failed"], 1, 0),
        (["passed", "failed", None, "not_run", "crashed"], 1, 0),
        (["failed", "passed", "passed", "error"], 3, 2),
        ([{"other": "passed"}, "failed"], 1, None),
        (["failed"], 0, None),
    ],
)
def test_a_failure_began_after_the_last_pass(tests: list[str], first: int, passed: int | None) -> None:
    streak = _only(*tests).streak
    assert streak.first_failed.plan_id == f"night{first:03d}"
    assert streak.first_failed.date == night(first)
    assert (streak.last_passed and streak.last_passed.plan_id) == (None if passed is None else f"night{passed:03d}")


def test_a_test_that_passed_in_the_end_is_flaky_and_has_passed() -> None:
    nights = _nights("passed", "failed", "failed")
    (found,) = _failing([*nights[:2], _flaky(nights[2])])
    assert (found.settled, found.streak.first_failed.plan_id) == (Cause.FLAKY, "night002")
    nights = _nights("passed", "failed", "failed")
    (found,) = _failing([nights[0], _flaky(nights[1]), nights[2]])
    assert found.settled is None
    assert found.streak.last_passed is not None
    assert found.streak.last_passed.plan_id == "night001"


@pytest.mark.parametrize(
    ("tests", "settled"),
    [
        (5 * "passed " + "failed passed failed passed failed", Cause.FLAKY),
        (9 * "passed " + "failed passed failed", None),
        ("flaky flaky" + 30 * " passed" + " failed", None),
        ("flaky flaky" + 26 * " passed" + " failed", Cause.FLAKY),
    ],
)
def test_a_test_that_fails_and_passes_by_turns_fails_by_chance_on_every_night_of_a_row_that_chance_explains(
    tests: str, settled: Cause | None
) -> None:
    nights = _nights(*("failed" if name == "flaky" else name for name in tests.split()))
    nights = [_flaky(item) if name == "flaky" else item for name, item in zip(tests.split(), nights, strict=True)]
    (found,) = _failing(nights)
    assert found.settled is settled
    (found,) = _failing(nights, (TWO,))
    assert found.settled is Cause.KNOWN


def test_what_the_vendor_knows_of_is_known() -> None:
    found = _only("passed", "failed", known=(TWO,))
    assert found.settled is Cause.KNOWN
    assert found.signature == NAME
    assert _only("passed", "failed").settled is None


def test_what_fails_as_expected_is_a_core_defect_since_it_does() -> None:
    found = _only("failed", "passed", "xfailed", "xfailed")
    assert (found.settled, found.streak.first_failed.plan_id) == (Cause.CORE_DEFECT, "night002")


@pytest.mark.parametrize(
    ("stage", "settled"),
    [
        ("fetch", Cause.INFRASTRUCTURE),
        ("check", Cause.INFRASTRUCTURE),
        ("build", None),
        ("import", None),
        ("smoke", None),
    ],
)
def test_a_stage_that_broke_fails_as_well(stage: str, settled: Cause | None) -> None:
    broken = {number: {stage: "failed"} for number in (1, 2)}
    found = _failing(_nights("passed", "passed", "passed", stages=broken))
    assert [(item.test_id, item.settled, item.streak.first_failed.plan_id) for item in found] == [
        (stage, settled, "night001")
    ]
    assert found[0].signature == Signature.of(f"{stage}: {stage} failed")
    assert found[0].streak.last_passed is not None


def test_a_stage_in_which_tests_failed_did_not_break() -> None:
    assert [item.test_id for item in _failing(_nights("failed"))] == [TWO]


@pytest.mark.parametrize("tests", [[], [None], ["failed", None], ["failed", "passed"], ["failed", "skipped"]])
def test_what_did_not_report_or_passed_does_not_fail(tests: list[str | None]) -> None:
    assert _failing(_nights(*tests)) == ()
