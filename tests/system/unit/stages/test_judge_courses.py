"""Judging that goes on from the page before says what judging everything anew says."""

from __future__ import annotations

from pathlib import Path

from simulator import Kind, World
from unit.samples import device, night, plan, run

from ootci.history.store import History
from ootci.model.verdict import VerdictName
from ootci.stages.judge import Courses, judge


def test_every_page_of_an_invented_month_is_the_same(tmp_path: Path) -> None:
    world, history, courses = World(3, nights=30, tests=120, devices=6), History(tmp_path), Courses()
    late = [event for event in world.events if event.kind is Kind.LATE and event.first + event.delay < world.nights]
    assert late
    for page in world.all_nights():
        history.append_plan(page.plan)
        for reported in page.arrivals:
            history.append_run(reported)
        assert judge(page.registry, history, page.now, courses) == judge(page.registry, history, page.now)


def test_a_report_that_comes_late_changes_what_was_judged_before(tmp_path: Path) -> None:
    history, courses = History(tmp_path), Courses()
    for number in range(3):
        history.append_plan(plan(number))
        if number != 1:
            history.append_run(run(number))
    names = [past.verdict for past in judge((device(),), history, night(2), courses).devices[0].history]
    assert names == [VerdictName.OK, VerdictName.NO_DATA, VerdictName.OK]
    history.append_run(run(1, integration={"two": "failed"}))
    names = [past.verdict for past in judge((device(),), history, night(2), courses).devices[0].history]
    assert names == [VerdictName.OK, VerdictName.REGRESSED, VerdictName.OK]


def test_a_second_attempt_of_the_newest_night_counts(tmp_path: Path) -> None:
    history, courses = History(tmp_path), Courses()
    history.append_plan(plan(0))
    history.append_run(run(0, stages={"check": "failed"}))
    assert judge((device(),), history, night(0), courses).devices[0].verdict is VerdictName.INFRA
    history.append_run(run(0, attempt=2))
    assert judge((device(),), history, night(0), courses).devices[0].verdict is VerdictName.OK


def test_a_nightly_that_is_told_late_is_judged_in_its_place(tmp_path: Path) -> None:
    history, courses = History(tmp_path), Courses()
    for number in (0, 2):
        history.append_plan(plan(number))
        history.append_run(run(number))
    judge((device(),), history, night(2), courses)
    history.append_plan(plan(1))
    names = [past.verdict for past in judge((device(),), history, night(2), courses).devices[0].history]
    assert names == [VerdictName.OK, VerdictName.NO_DATA, VerdictName.OK]
