"""judge: a test that failed and passed when it was run again makes a night unstable, never fine and never broken."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from unit.render.pages import read
from unit.samples import changed, device, night, nights, on_release, plan, retries, run, stored

from ootci.history.nights import failing_before
from ootci.history.store import History
from ootci.model.outcome import FAILURES, Counts, Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.record import parse
from ootci.model.run import Run
from ootci.model.verdict import AS_EXPECTED, ChangeName, DeviceVerdict, VerdictName, Verdicts
from ootci.stages.judge import judge
from ootci.stages.render import render

TWO = "integration/test_x.py::two"


def _again(made: Run, *attempts: str, text: str | None = None) -> Run:
    """The run with its failing tests run again."""
    later = (item.model_copy(update={"message": "no", "text": text}) for item in retries(*attempts))
    return changed(made, attempts=tuple(later))


def _judge(folder: Path, records: Sequence[Plan | Run], last: int, **keys: object) -> Verdicts:
    return judge((device(**keys),), stored(folder, *records), night(last))


def _verdict(folder: Path, *runs: Run, **keys: object) -> DeviceVerdict:
    (verdict,) = _judge(folder, nights(*runs), len(runs) - 1, **keys).devices
    return verdict


def _fails(number: int, *attempts: str, outcome: str = "failed") -> Run:
    return _again(run(number, integration={"two": outcome}), *attempts)


def test_a_flaky_test_makes_the_night_unstable(tmp_path: Path) -> None:
    found = _verdict(tmp_path, run(0), _fails(1, "passed"))
    assert found.verdict is VerdictName.UNSTABLE
    assert found.reason == f"1 test failed, then passed on retry, first {TWO}"
    assert (found.new_failures, found.changes) == (0, ())
    assert (found.counts.failed, found.counts.flaky, found.counts.total) == (1, 1, 2)
    assert found.broke_at is not None


def test_a_flaky_test_of_smoke_does_not_break_it(tmp_path: Path) -> None:
    assert _verdict(tmp_path, _again(run(0, smoke={"one": "crashed"}), "passed")).verdict is VerdictName.UNSTABLE


def test_what_failed_twice_is_a_regression(tmp_path: Path) -> None:
    assert _verdict(tmp_path, run(0), _fails(1, "failed")).verdict is VerdictName.REGRESSED


def test_a_crash_whose_cause_was_found_is_a_regression(tmp_path: Path) -> None:
    assert (
        _verdict(tmp_path, run(0), _fails(1, "passed", "crashed", outcome="crashed")).verdict is VerdictName.REGRESSED
    )


def test_a_test_that_did_not_run_the_second_time_is_not_flaky(tmp_path: Path) -> None:
    assert _verdict(tmp_path, run(0), _fails(1, "skipped")).verdict is VerdictName.REGRESSED


def test_failing_for_good_after_a_flaky_night_is_news(tmp_path: Path) -> None:
    found = _verdict(tmp_path, run(0), _fails(1, "passed"), _fails(2, "failed"))
    assert found.verdict is VerdictName.REGRESSED
    assert [change.change for change in found.changes] == [ChangeName.REGRESSION]


def test_what_was_flaky_on_enough_nights_is_excused_unless_those_nights_say_nothing(tmp_path: Path) -> None:
    def fails(number: int, again: str) -> Run:
        return _again(run(number, integration={"two": "failed", "three": "passed"}), again)

    before = [*(fails(number, "passed") for number in (0, 1)), *(run(number) for number in range(2, 12))]
    verdict = _verdict(tmp_path / "flaky", *before, fails(12, "failed")).verdict
    assert verdict is VerdictName.UNSTABLE
    assert _verdict(tmp_path / "few", *before[:8], fails(8, "failed")).verdict is VerdictName.REGRESSED
    bad = {"first": night(0).date(), "last": night(1).date(), "reason": "Power.", "link": "https://example.com/1"}
    found = _verdict(tmp_path / "bad", *before, fails(12, "failed"), bad_ranges=[bad])
    assert found.verdict is VerdictName.REGRESSED


def test_a_stage_that_broke_besides_is_not_excused(tmp_path: Path) -> None:
    made = _again(run(0, integration={"two": "failed"}, stages={"integration": "failed"}), "passed")
    assert _verdict(tmp_path, made).verdict is VerdictName.FAILING


def test_the_plan_is_told_of_what_failed_for_good_only(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in range(3):
        history.append_plan(plan(number))
    assert failing_before(history.newest_stored("dev")) is None
    history.append_plan(plan(9))
    history.append_run(on_release(run(9, smoke={"one": "failed"})))
    assert failing_before(history.newest_stored("dev")) is None
    history.append_run(run(0, smoke={"one": "error"}, integration={"two": "failed"}))
    both = (TWO, "smoke/test_x.py::one")
    assert failing_before(history.newest_stored("dev")) == (both, both)
    history.append_run(_fails(1, "passed"))
    assert failing_before(history.newest_stored("dev")) == ((), ())
    # A suite that did not report leaves the word to the run before.
    cut = {"integration": {"state": "truncated"}}
    history.append_run(run(2, smoke={"one": "failed"}, integration={"two": "failed"}, reports=cut))
    assert failing_before(history.newest_stored("dev")) == (("smoke/test_x.py::one",), ("smoke/test_x.py::one",))


def test_the_plan_is_told_of_new_failures_that_were_not_run_again_for_one_night(tmp_path: Path) -> None:
    both = {"two": "failed", "three": "failed"}
    history = stored(tmp_path, *nights(run(0, integration={**both, "two": "passed"}), run(1, integration=both)))
    three = TWO.replace("two", "three")
    assert failing_before(history.newest_stored("dev")) == ((three, TWO), (TWO,))
    history.append_plan(plan(2))
    # A report that was cut off is no report before.
    cut = {"integration": {"state": "truncated"}}
    history.append_run(run(2, integration={"two": "passed", "three": "passed"}, reports=cut))
    assert failing_before(history.newest_stored("dev")) == ((three, TWO), (TWO,))
    for number in (3, 4):
        history.append_plan(plan(number))
        history.append_run(_again(run(number, integration=both), "failed"))
        assert failing_before(history.newest_stored("dev")) == ((three, TWO), ())
    history.append_plan(plan(5))
    history.append_run(run(5, integration=both))
    assert failing_before(history.newest_stored("dev")) == ((three, TWO), ())


def test_runs_without_later_attempts_are_written_as_ever() -> None:
    text = run(0, integration={"two": "failed"}).to_json()
    assert '"attempts"' not in text
    assert '"flaky"' not in text
    flaky = _fails(0, "passed")
    assert parse(Run, flaky.to_json().encode(), where="here") == flaky


def test_the_pages_show_every_attempt(tmp_path: Path) -> None:
    made = _again(run(0, integration={"two": "failed"}), "error", "passed", text="what the <b>second</b> one said")
    judged = _judge(tmp_path / "data", [plan(0), made], 0)
    render((device(),), History(tmp_path / "data"), judged, tmp_path / "site")
    for path in ("d/dev/index.html", "d/dev/night000/index.html"):
        (failure,) = read(tmp_path / "site" / path).find("details", class_="failure")
        assert "flaky: failed, then passed" in failure.text
        assert "attempt 2: error" in failure.text
        assert "attempt 3: passed" in failure.text
        assert "what the <b>second</b> one said" in failure.text


_OUTCOMES = st.sampled_from(list(OutcomeName))


@settings(max_examples=50)
@given(st.lists(st.tuples(_OUTCOMES, st.lists(_OUTCOMES, max_size=3)), max_size=6))
def test_no_later_attempt_makes_a_failure_look_fine(found: list[tuple[OutcomeName, list[OutcomeName]]]) -> None:
    outcomes = tuple(
        Outcome(id=f"integration/test_x.py::t{number}", suite="integration", outcome=first, attempts=retries(*later))
        for number, (first, later) in enumerate(found)
    )
    counts = Counts.of(outcomes)
    assert counts.total == len(found)
    assert counts.failures == sum(first in FAILURES for first, _ in found)
    assert counts.flaky <= counts.failures
    made = run(0)
    suites = tuple(
        item.model_copy(update={"counts": counts}) if item.suite == "integration" else item for item in made.suites
    )
    made = made.model_copy(update={"outcomes": (made.outcomes[0], *outcomes), "suites": suites})
    with tempfile.TemporaryDirectory() as folder:
        verdict = _verdict(Path(folder), made).verdict
    assert not (counts.failures and verdict in AS_EXPECTED)
