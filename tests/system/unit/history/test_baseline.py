"""A night is compared with the last complete report of each suite."""

from __future__ import annotations

from pathlib import Path

from simulator.world import World

from ootci.history.baseline import as_planned, concerns
from ootci.history.store import History
from ootci.history.stored import StoredRun, stored
from ootci.history.tables import TestTable
from ootci.model.outcome import OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import ReportState, Run
from ootci.stages.judge.timeline import Timeline
from ootci.stages.judge.witnesses import Witnesses

NIGHTS, DEVICES = 45, range(3, 9)


def test_a_night_is_compared_with_the_last_complete_report_of_each_suite(tmp_path: Path) -> None:
    world, table = World(5, nights=NIGHTS, tests=120), TestTable()
    nobody = Witnesses((), History(tmp_path), ())
    plans = [world.plan(number) for number in range(NIGHTS)]
    compared = merged = 0
    for number in DEVICES:
        device = world.makers[number].name
        reported = [run for night in range(NIGHTS) for run in world.runs(number, night)]
        runs = [stored(cut_off(run) if place % 7 == 5 else run, table) for place, run in enumerate(reported)]
        expected = by_nightly(plans, device, {run.head.plan_id: run for run in sorted(runs, key=attempt)})
        timeline = Timeline(device)
        for last in range(1, NIGHTS + 1):
            planned = {plan.id for plan in plans[:last]}
            timeline.go_on(plans[:last], [run for run in runs if run.head.plan_id in planned], nobody)
            if not timeline.nights or timeline.nights[-1].plan_id != plans[last - 1].id:
                continue
            suites = expected[plans[last - 1].id]
            assert bool(suites) == (timeline.before is not None)
            if timeline.before is not None:
                found = {
                    report.suite: outcomes_of(timeline.before, report.suite) for report in timeline.before.head.suites
                }
                assert found == {suite: outcomes_of(run, suite) for suite, run in suites.items()}
                compared += 1
                merged += len({run.head.plan_id for run in suites.values()}) > 1
    assert compared > 100
    assert merged


def attempt(run: StoredRun) -> int:
    return run.head.attempt


def by_nightly(plans: list[Plan], device: str, counting: dict[str, StoredRun]) -> dict[str, dict[str, StoredRun]]:
    """By nightly, the run that each suite is compared with; of the first complete report all suites are taken."""
    latest: dict[str, StoredRun] = {}
    found = {}
    for plan in plans:
        run = as_planned(plan, counting.get(plan.id))
        stands_in = run is not None and run.head.channel is None
        found[plan.id] = {} if stands_in else dict(latest)
        if run is None or stands_in or not concerns(plan, device):
            continue
        complete = [report.suite for report in run.head.suites if report.state is ReportState.COMPLETE]
        taken = complete if latest else [report.suite for report in run.head.suites] if complete else []
        latest |= dict.fromkeys(taken, run)
    return found


def outcomes_of(run: StoredRun, suite: str) -> dict[str, OutcomeName | None]:
    return {run.tests[row].id: run.outcome(row) for row in run.of_suites([suite]).rows()}


def cut_off(run: Run) -> Run:
    """The run with the report of its last suite broken off before its first test."""
    *whole, last = run.suites
    reports = (*whole, last.model_copy(update={"state": ReportState.TRUNCATED}))
    kept = tuple(item for item in run.outcomes if item.suite != last.suite)
    return run.model_copy(update={"suites": reports, "outcomes": kept})
