"""Three months of a device: a value for each day or none, and nothing invented in between."""

from __future__ import annotations

from datetime import timedelta

from unit.samples import device, night, plan, run

from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict, VerdictName
from ootci.stages.render.trend_series import DAYS, TrendDay, trend

DEVICE = device().device
BAD = {"first": night(2).date(), "last": night(3).date(), "reason": "No network.", "link": "https://example.com/1"}


def _trend(subject: Device, plans: list[Plan], runs: dict[str, Run]) -> list[TrendDay]:
    verdict = DeviceVerdict(device=subject.name, verdict=VerdictName.OK, reason="")
    return trend(subject, verdict, plans, runs, {}, plans[-1].created_at if plans else None)


def days(runs: list[Run], plans: list[Plan], subject: Device = DEVICE) -> list[TrendDay]:
    """The last days, of which there are as many as plans."""
    found = _trend(subject, plans, {item.plan_id: item for item in runs})
    assert len(found) == DAYS
    return found[-len(plans) :]


def test_a_night_without_a_report_or_without_a_nightly_has_no_value() -> None:
    plans = [plan(0), plan(1), plan(2, names=("other",)), plan(3)]
    found = days([run(0), run(3)], plans)
    assert [item.measured is not None for item in found] == [True, False, False, True]
    assert [item.night and item.night.plan_id for item in found] == ["night000", "night001", None, "night003"]


def test_what_was_measured() -> None:
    failing = run(0, integration={"two": "failed", "three": "passed", "four": "skipped", "five": "crashed"})
    queued = failing.model_copy(update={"queued_at": night(0) - timedelta(minutes=2)})
    measured = days([queued], [plan(0)])[0].measured
    assert measured is not None
    assert measured.duration == 300
    assert measured.queued == 120
    tests = measured.tests
    assert tests is not None
    assert (tests.passed, tests.failing, tests.executed, tests.collected, tests.passed_again) == (2, 2, 4, 5, 0)
    assert days([failing], [plan(0)])[0].measured.queued is None


def test_only_suites_that_the_plan_requires_are_counted() -> None:
    suites = (plan().runs[0].suites[0], plan().runs[0].suites[1].model_copy(update={"required": False}))
    (found,) = days([run(0, integration={"two": "failed"})], [plan(0, suites=suites)])
    assert found.tests is not None
    assert (found.tests.executed, found.tests.failing) == (1, 0)


def test_where_no_test_was_executed_there_are_no_tests_but_a_duration() -> None:
    broken = run(0, smoke={}, integration={}, stages={"build": "failed", "smoke": "not_run"})
    (found,) = days([broken], [plan(0)])
    assert found.tests is None
    assert found.measured is not None
    assert found.measured.seconds("smoke") is None


def test_nights_that_say_nothing_have_their_reason_and_no_value() -> None:
    found = days(
        [run(number) for number in range(5)], [plan(number) for number in range(5)], device(bad_ranges=[BAD]).device
    )
    assert [item.measured is not None for item in found] == [True, True, False, False, True]
    assert [item.bad.reason if item.bad else None for item in found] == [None, None, "No network.", "No network.", None]


def test_of_two_nightlies_on_a_day_the_last_with_a_report_counts() -> None:
    first, second = plan(0), plan(1).model_copy(update={"created_at": night(0) + timedelta(hours=2)})
    assert days([run(0)], [first, second])[-1].night.plan_id == "night000"
    assert days([run(0), run(1)], [first, second])[-1].night.plan_id == "night001"
    assert days([], [first, second])[-1].night.plan_id == "night001"


def test_a_change_of_the_suites_size_is_marked_once_and_a_cut_report_is_none() -> None:
    small, large = {"two": "passed"}, {f"t{number}": "passed" for number in range(9)}
    cut = {"integration": {"state": "truncated"}}
    runs = [
        run(0),
        run(1, integration=large),
        run(2, integration=large),
        run(3, reports=cut),
        run(4, integration=large),
    ]
    found = days([*runs, run(5, integration=small)], [plan(number) for number in range(6)])
    assert [item.night.collected_before for item in found] == [None, 2, None, None, None, 10]


def test_small_changes_are_marked_when_they_add_up() -> None:
    runs = [run(number, smoke={f"t{index}": "passed" for index in range(399 + number)}) for number in range(6)]
    found = days(runs, [plan(number) for number in range(6)])
    assert [item.night.collected_before for item in found] == [None, None, None, None, 400, None]


def test_without_a_nightly_there_are_no_days() -> None:
    assert _trend(DEVICE, [], {}) == []
