"""Of a month that is over nothing is read again, and the site is the same as if all of it had been."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from simulator.world import World
from unit.render.place import TESTS, Place, tree

import ootci.history.flakiness as flakiness_module
import ootci.history.not_passing as not_passing_module
from ootci.history import run_file
from ootci.history.gc import old_details, remove
from ootci.history.stored import StoredRun
from ootci.model.run import ReportState, Run
from ootci.stages.judge import judge
from ootci.stages.render import device_months, render
from ootci.stages.render.run_page import RunSources

START = datetime(2026, 1, 28, 4, 10, tzinfo=timezone.utc)
NIGHTS = (0, 1, 2, 3, 10, 20, 32, 33)
"""In three months, of which the last is not over."""
NEXT = 34


def cut_off(run: Run) -> Run:
    """The run with the report of its last suite broken off before its first test."""
    *whole, last = run.suites
    reports = (*whole, last.model_copy(update={"state": ReportState.TRUNCATED}))
    kept = tuple(item for item in run.outcomes if item.suite != last.suite)
    return run.model_copy(update={"suites": reports, "outcomes": kept})


class Months(Place):
    """Its second and third nights break off, so that the next month begins with a base of several runs."""

    def arrivals(self, number: int, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        return tuple(cut_off(run) for run in runs) if number in (2, 3) else runs


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Months:
    made = Months(tmp_path_factory.mktemp("months"), START)
    for number in NIGHTS:
        made.append(number)
    made.render()
    return made


@pytest.fixture
def place(rendered: Months, tmp_path: Path) -> Months:
    """The same once more, to be changed."""
    return rendered.copied(tmp_path)


@pytest.fixture
def nights_read(place: Months, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[int]]:
    """Renders, and tells of which nights a run was read. Pages look back two nights at most."""
    monkeypatch.setattr(flakiness_module, "LATELY", 2)
    monkeypatch.setattr(not_passing_module, "NIGHTS", 2)

    def read() -> set[int]:
        found: set[str] = set()
        whole = run_file.read_line

        def seen(*given: object) -> StoredRun:
            run = whole(*given)  # type: ignore[arg-type]
            found.add(run.head.plan_id)
            return run

        verdicts = judge(place.night.registry, place.history, place.night.now)
        with monkeypatch.context() as patched:
            patched.setattr(run_file, "read_line", seen)
            render(place.night.registry, place.history, verdicts, place.site)
        return {number for number in (*NIGHTS, NEXT) if place.world.plan(number).id in found}

    return read


def months(place: Months) -> list[str]:
    return sorted({path.stem for path in (place.site / device_months.MONTHS).rglob("*.txt")})


def test_no_run_is_read_of_a_month_that_is_over(place: Months, nights_read: Callable[[], set[int]]) -> None:
    """However many months there are; but for the windows, and what the first night is compared with."""
    assert months(place) == ["2026-01", "2026-02"]
    place.append(NEXT)
    assert nights_read() <= {20, 32, 33, NEXT}


def test_no_page_of_a_run_is_looked_at_of_a_month_that_is_over(place: Months, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the third rendering on, which finds a site before last with all months."""
    for number in (NEXT, NEXT + 1):
        place.append(number)
        place.render()
    place.append(NEXT + 2)
    asked: set[str] = set()
    key = RunSources.key
    monkeypatch.setattr(RunSources, "key", lambda sources, page: asked.add(page.past.plan_id) or key(sources, page))
    verdicts = judge(place.night.registry, place.history, place.night.now)
    render(place.night.registry, place.history, verdicts, place.site)
    assert asked == {place.world.plan(number).id for number in (32, 33, NEXT, NEXT + 1, NEXT + 2)}
    monkeypatch.undo()
    place.render()


def test_a_run_that_comes_late_has_its_month_and_those_after_it_read(
    place: Months, nights_read: Callable[[], set[int]]
) -> None:
    first = place.history.runs(place.names[0])[1]
    again = first.model_copy(update={"attempt": 2, "outcomes": ()})
    place.history.append_run(again)
    assert {0, 1, 2, 10, 20} <= nights_read()
    place.render()
    assert (place.site / f"d/{first.device}/{first.plan_id}/attempt-1/index.html").is_file()


def test_details_that_are_removed_of_a_month_that_is_over(place: Months) -> None:
    old = old_details(place.history, 0, 1)
    assert old
    remove(old, place.history.folder)
    place.render()
    place.append(NEXT)
    place.render()


def test_a_month_is_over_with_the_first_nightly_of_the_next(place: Months) -> None:
    place.append(NEXT + 29)
    place.render()
    assert months(place) == ["2026-01", "2026-02", "2026-03"]


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _change(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"attempt":1', b'"attempt":2').replace(b'"passed":', b'"passed":1'))


def _of_another_month(path: Path) -> None:
    path.write_bytes(max(path.parent.iterdir()).read_bytes())


def _rows_without_end(path: Path) -> None:
    path.write_bytes(b"99999999 " + path.read_bytes().partition(b" ")[2])


@pytest.mark.parametrize("damage", [_truncate, _change, _of_another_month, _rows_without_end])
def test_what_is_not_as_it_was_written_is_not_believed(
    place: Months, nights_read: Callable[[], set[int]], damage: Callable[[Path], None]
) -> None:
    for path in (place.site / device_months.MONTHS).glob("*/2026-01.txt"):
        damage(path)
    assert {0, 1, 2, 3} <= nights_read()


def test_a_history_that_says_something_else_of_the_past(place: Months) -> None:
    """One of other runs under the same names, as after a branch was made anew."""
    shutil.rmtree(place.folder / "history")
    place.world = World(8, nights=60, tests=TESTS, start=START)
    for number in (*NIGHTS, NEXT):
        place.append(number)
    assert place.render().made > 100


def test_names_without_end_are_not_kept_and_found_again(place: Months, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: content for path, content in tree(place.site).items() if not path.startswith(".")}
    monkeypatch.setattr(device_months, "NAMES", 0)
    shutil.rmtree(place.site / device_months.MONTHS)
    place.render()
    assert before == {path: content for path, content in tree(place.site).items() if not path.startswith(".")}
