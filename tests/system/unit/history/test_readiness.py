"""Which criteria for level L3 of PyTorch's relay a device meets."""

from __future__ import annotations

from datetime import timedelta

import pytest
from unit.samples import night, run

from ootci.history.readiness import Readiness, readiness
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict, Night, VerdictName

GOOD = {"results for", "time from plan to result, median", "runs over 3 h", "time in the queue, mean", "no report"} | {
    "successful results"
}


def _nights(count: int, verdicts: dict[int, VerdictName] | None = None) -> DeviceVerdict:
    history = tuple(
        Night(
            plan_id=f"p{number}", date=night(number), verdict=(verdicts or {}).get(number, VerdictName.OK), run_id="r"
        )
        for number in range(count)
    )
    return DeviceVerdict(device="dev", verdict=VerdictName.OK, reason="fine", history=history)


def _runs(count: int, hours: float = 1, queue: float = 0.1, without: frozenset[int] = frozenset()) -> dict[str, Run]:
    return {
        f"p{number}": run(number, "dev").model_copy(
            update={
                "queued_at": night(number),
                "started_at": night(number) + timedelta(hours=queue),
                "finished_at": night(number) + timedelta(hours=hours),
            }
        )
        for number in range(count)
        if number not in without
    }


def _met(found: Readiness) -> dict[str, bool | None]:
    return {one.name: one.met for one in found.criteria}


def test_a_device_that_is_quick_and_reliable_meets_all() -> None:
    found = readiness(_nights(40), _runs(40))
    assert _met(found) == dict.fromkeys(GOOD, True)
    assert found.nights == 14
    values = [one.value for one in found.criteria]
    assert values == ["39 days", "1 h 00 m", "0 of 14", "6 m 00 s", "0 of 14", "14 of 14"]


@pytest.mark.parametrize(
    ("given", "missed"),
    [
        ({"hours": 3.5}, {"time from plan to result, median", "runs over 3 h"}),
        ({"queue": 0.6}, {"time in the queue, mean"}),
        ({"without": frozenset({33})}, {"no report"}),
    ],
)
def test_what_is_slow_or_silent_is_not_met(given: dict[str, float], missed: set[str]) -> None:
    met = _met(readiness(_nights(40), _runs(40, **given)))  # type: ignore[arg-type]
    assert {name for name, is_met in met.items() if not is_met} == missed


def test_two_broken_nights_of_fourteen_are_too_many_and_old_ones_do_not_count() -> None:
    broken = {30: VerdictName.REGRESSED, 31: VerdictName.REGRESSED, 3: VerdictName.REGRESSED}
    found = readiness(_nights(40, broken), _runs(40))
    assert found.criteria[-1].value == "12 of 14"
    assert found.criteria[-1].met is False


def test_what_says_nothing_of_the_commit_is_no_failure() -> None:
    found = readiness(_nights(40, {30: VerdictName.INFRA, 31: VerdictName.UNSTABLE}), _runs(40))
    assert (found.criteria[-1].value, found.criteria[-1].met) == ("12 of 12", True)


def test_a_device_of_a_few_nights_has_not_enough_data() -> None:
    found = readiness(_nights(5), _runs(5))
    assert [one.word for one in found.criteria] == ["not met", *["not enough data"] * 5]


def test_a_device_that_never_ran_has_no_values() -> None:
    found = readiness(_nights(3, dict.fromkeys(range(3), VerdictName.PAUSED)), {})
    assert (found.nights, {one.value for one in found.criteria[1:]}) == (0, {""})
    assert all(not one.met for one in found.criteria)
