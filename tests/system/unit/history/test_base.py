"""What a night is compared with is the same for the judge, who goes night by night, and for pages of past runs."""

from __future__ import annotations

from simulator.world import World

from ootci.history.base import BaseParts, as_planned, base_from, concerns, parts_after
from ootci.history.stored import StoredRun, stored
from ootci.history.tables import TestTable
from ootci.model.plan import Plan
from ootci.model.run import ReportState, Run
from ootci.stages.judge.course import Course

NIGHTS, DEVICES = 45, range(3, 9)


def test_pages_and_judge_compare_with_the_same() -> None:
    world, table = World(5, nights=NIGHTS, tests=120), TestTable()
    plans = [world.plan(number) for number in range(NIGHTS)]
    compared = broken_off = merged = 0
    for number in DEVICES:
        device = world.makers[number].name
        reported = [run for night in range(NIGHTS) for run in world.runs(number, night)]
        runs = [stored(cut_off(run) if place % 7 == 5 else run, table) for place, run in enumerate(reported)]
        bases = bases_by_nightly(plans, device, {run.head.plan_id: run for run in sorted(runs, key=attempt)})
        course = Course(device)
        for last in range(1, NIGHTS + 1):
            planned = {plan.id for plan in plans[:last]}
            course.go_on(plans[:last], [run for run in runs if run.head.plan_id in planned])
            if not course.nights or course.nights[-1].plan_id != plans[last - 1].id:
                continue
            base = bases.get(plans[last - 1].id)
            assert (base is None) == (course.before is None)
            if base is not None and course.before is not None:
                assert base.head == course.before.head
                assert came_of(base) == came_of(course.before)
                compared += 1
                broken_off += base.head.plan_id != plans[last - 2].id
                merged += came_of(base) not in [came_of(run) for run in runs]
    assert compared > 100
    assert broken_off
    assert merged


def attempt(run: StoredRun) -> int:
    return run.head.attempt


def bases_by_nightly(plans: list[Plan], device: str, counting: dict[str, StoredRun]) -> dict[str, StoredRun]:
    """What pages compare each nightly with."""
    planned = {plan.id: found for plan in plans if (found := as_planned(plan, counting.get(plan.id))) is not None}
    parts: BaseParts | None = None
    found: dict[str, StoredRun] = {}
    for plan in plans:
        if parts is not None:
            found[plan.id] = base_from(parts, planned.__getitem__)
        if plan.id in planned and concerns(plan, device):
            parts = parts_after(parts, planned[plan.id])
    return found


def cut_off(run: Run) -> Run:
    """The run with the report of its last suite broken off before its first test."""
    *whole, last = run.suites
    reports = (*whole, last.model_copy(update={"state": ReportState.TRUNCATED}))
    kept = tuple(item for item in run.outcomes if item.suite != last.suite)
    return run.model_copy(update={"suites": reports, "outcomes": kept})


def came_of(run: StoredRun) -> bytes:
    """What came of its tests; the table may have grown in between."""
    return run.states.rstrip(b"\0")
