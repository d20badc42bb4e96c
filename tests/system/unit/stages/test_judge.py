"""judge: each verdict, in the order of precedence, and nothing green without evidence."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from unit.samples import device, night, nights, plan, run, whole_runs
from unit.stages.judging import judged

from ootci.history.store import History
from ootci.model.build import PluginBuild
from ootci.model.plan import Plan, PlannedSuite
from ootci.model.run import Run
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import DeviceVerdict, VerdictName
from ootci.stages.judge import STALE_AFTER

V = VerdictName


def _one(tmp_path: Path, *records: Plan | Run, now: datetime | None = None) -> DeviceVerdict:
    return judged(tmp_path, *records, now=now).devices[0]


BAD_TEST = {"two": "failed"}
_TRUNCATED: dict[str, object] = {"state": "truncated", "detail": "cut"}

BAD = {
    # The worst first: a run that has every defect at once is judged by the first, then by the next, and so on.
    V.NO_DATA: run(0, smoke={}, reports={"smoke": {"state": "no_tests"}}),
    V.INFRA: run(0, stages={"fetch": "failed"}),
    V.BUILD_BROKEN: run(0, stages={"build": "failed"}),
    V.IMPORT_BROKEN: run(0, stages={"import": "crashed"}),
    V.SMOKE_BROKEN: run(0, smoke={"one": "crashed"}),
    V.LOST_TESTS: run(0, integration={"two": "passed", "more": "not_run"}, reports={"integration": _TRUNCATED}),
    V.FAILING: run(0, integration=BAD_TEST),
    V.OK: run(0),
}


@pytest.mark.parametrize("verdict", BAD, ids=[verdict.value for verdict in BAD])
def test_each_defect_has_its_verdict(tmp_path: Path, verdict: VerdictName) -> None:
    found = _one(tmp_path, plan(0), BAD[verdict])
    assert found.verdict is verdict
    assert found.reason
    assert "\n" not in found.reason


def test_a_missing_card_is_infrastructure_also_when_the_import_failed_with_it(tmp_path: Path) -> None:
    found = _one(tmp_path, plan(0), run(0, stages={"check": "failed", "import": "failed"}))
    assert (found.verdict, found.broke_at) == (V.INFRA, "check")


@pytest.mark.parametrize("status", ["failed", "crashed", "timed_out"])
@pytest.mark.parametrize(
    ("stage", "verdict"),
    [("fetch", V.INFRA), ("check", V.INFRA), ("build", V.BUILD_BROKEN), ("import", V.IMPORT_BROKEN)],
)
def test_a_stage_before_the_suites_breaks_in_its_own_name(
    tmp_path: Path, stage: str, status: str, verdict: VerdictName
) -> None:
    found = _one(tmp_path, plan(0), run(0, stages={stage: status}))
    assert found.verdict is verdict
    assert found.reason == f"{stage}: {stage} {status}"
    assert found.broke_at == stage


def test_the_earlier_defect_wins(tmp_path: Path) -> None:
    stages = {}
    for stage, verdict in (
        ("smoke", V.SMOKE_BROKEN),
        ("import", V.IMPORT_BROKEN),
        ("build", V.BUILD_BROKEN),
        ("check", V.INFRA),
        ("fetch", V.INFRA),
    ):
        stages[stage] = "failed"
        broken = run(0, smoke={"one": "failed"}, integration=BAD_TEST, stages=stages)
        assert _one(tmp_path / stage, plan(0), broken).verdict is verdict


def test_no_plan_and_no_report_is_never_ran(tmp_path: Path) -> None:
    found = judged(tmp_path)
    assert [item.verdict for item in found.devices] == [V.NEVER_RAN]
    assert found.plan_id is None
    assert found.devices[0].since is None
    assert found.summary == "No nightly has run yet; 1 device registered."


def test_a_device_that_is_expected_and_never_reported_has_never_run(tmp_path: Path) -> None:
    assert _one(tmp_path, plan(0), plan(1)).verdict is V.NEVER_RAN
    late = judged(tmp_path, plan(0), now=night(0) + 9 * STALE_AFTER)
    assert [item.verdict for item in late.devices] == [V.NEVER_RAN]


def test_a_silent_device_has_no_data_however_green_it_was(tmp_path: Path) -> None:
    found = _one(tmp_path, plan(0), run(0), plan(1), plan(2))
    assert (found.verdict, found.nights, found.since) == (V.NO_DATA, 2, night(1))
    assert found.run_id is None
    assert found.counts.total == 0
    assert [item.verdict for item in found.history] == [V.OK, V.NO_DATA, V.NO_DATA]


def test_whether_torch_and_the_plugin_changed_since_the_run_before_is_told(tmp_path: Path) -> None:
    plugin = PluginBuild(package="x", version="1", source="x", sources_sha256="1" * 64)
    first = run(0).model_copy(update={"plugin": plugin})
    second = run(2).model_copy(
        update={
            "plugin": plugin.model_copy(update={"sources_sha256": "2" * 64}),
            "torch": TorchBuild(version="2.14.0.dev20261101+cpu"),
        }
    )
    found = _one(tmp_path / "two", plan(0), first, plan(1), plan(2), second)
    assert (found.torch_changed, found.plugin_changed) == (False, True)
    alone = _one(tmp_path / "one", plan(0), first)
    assert (alone.torch_changed, alone.plugin_changed) == (None, None)


def test_a_weekly_device_may_be_silent_for_a_week(tmp_path: Path) -> None:
    weekly = (device(cadence="weekly"),)
    for number, verdict in ((8, V.OK), (9, V.NO_DATA)):
        left = plan(number, ())
        found = judged(tmp_path / str(number), plan(0), run(0), left, registry=weekly, now=night(number))
        assert found.devices[0].verdict is verdict
    assert found.devices[0].since == night(8)


def test_an_old_report_is_no_data(tmp_path: Path) -> None:
    just = judged(tmp_path, plan(0), run(0), now=night(0) + STALE_AFTER)
    assert just.devices[0].verdict is V.OK
    assert (just.stale_reason, just.stale_at) == (None, night(0) + STALE_AFTER)
    late = judged(tmp_path, plan(0), run(0), now=night(0) + STALE_AFTER + timedelta(seconds=1))
    assert late.devices[0].verdict is V.NO_DATA
    assert (late.devices[0].since, late.devices[0].nights) == (night(0) + STALE_AFTER, 0)
    assert late.stale_reason is not None
    assert late.gate.answer == "cannot_say"


def test_a_silent_device_is_without_data_since_its_first_silent_night_also_when_that_is_old(tmp_path: Path) -> None:
    found = _one(tmp_path, plan(0), run(0), plan(1), plan(2), now=night(9))
    assert (found.verdict, found.since, found.nights) == (V.NO_DATA, night(1), 2)


def test_a_nightly_for_other_devices_does_not_make_a_device_silent(tmp_path: Path) -> None:
    found = judged(tmp_path, plan(0, ("dev", "two")), run(0), run(0, "two"), plan(1, ("two",)), run(1, "two"))
    assert found.devices[0].verdict is V.OK
    assert len(found.devices[0].history) == 1


@pytest.mark.parametrize("state", ["missing", "empty", "unreadable", "truncated"])
def test_a_report_that_is_not_whole_is_never_green(tmp_path: Path, state: str) -> None:
    found = _one(tmp_path, plan(0), run(0, reports={"integration": {"state": state, "detail": "why"}}))
    assert (found.verdict, found.reason) == (V.LOST_TESTS, "integration: why")


@pytest.mark.parametrize(
    ("record", "verdict"),
    [
        (run(0, smoke={"one": "skipped"}), V.LOST_TESTS),
        (run(0, smoke={"one": "skipped"}, integration={"two": "unsupported"}), V.LOST_TESTS),
        (run(0, smoke={"one": "passed", "two": "unsupported"}), V.SMOKE_BROKEN),
        (run(0).model_copy(update={"suites": (), "outcomes": ()}), V.LOST_TESTS),
        (run(0).model_copy(update={"suites": ()}), V.LOST_TESTS),
        (run(0, stages={"integration": "timed_out"}), V.FAILING),
        (run(0, stages={"smoke": "crashed"}), V.FAILING),
        (run(0, stages={"smoke": "not_run", "integration": "not_run"}), V.FAILING),
    ],
    ids=["smoke-skipped", "all-skipped", "smoke-refused", "no-suites", "no-reports", "stage", "exit", "not-run"],
)
def test_nothing_is_ok_without_evidence(tmp_path: Path, record: Run, verdict: VerdictName) -> None:
    assert _one(tmp_path, plan(0), record).verdict is verdict


@pytest.mark.parametrize(
    "record",
    [
        run(0, reports={"smoke": {"suite": "no_such_suite", "state": "no_tests"}}),
        run(0, reports={"smoke": {"suite": "no_such_suite", "state": "missing"}}),
        run(0, reports={"smoke": {"state": "no_tests"}}).model_copy(update={"stages": ()}),
        run(0).model_copy(update={"stages": (), "outcomes": ()}),
        run(0).model_copy(update={"stages": run(0).stages[:2]}),
    ],
    ids=["unknown-suite", "unknown-suite-lost", "no-stages", "nothing", "two-stages"],
)
def test_a_hostile_run_costs_nobody_else_a_verdict(tmp_path: Path, record: Run) -> None:
    devices = (device(), device("two"))
    found = judged(tmp_path, plan(0, ("dev", "two")), record, run(0, "two"), registry=devices)
    assert found.devices[1].verdict is V.OK
    assert found.devices[0].verdict is not V.OK or record.counts.executed


def test_a_regression_is_told_apart_from_a_failure_that_was_there(tmp_path: Path) -> None:
    first = _one(tmp_path, plan(0), run(0), plan(1), run(1, integration=BAD_TEST))
    assert (first.verdict, first.new_failures, first.since) == (V.REGRESSED, 1, night(1))
    assert [(item.change.value, item.before, item.after) for item in first.changes] == [
        ("regression", "passed", "failed")
    ]
    second = _one(tmp_path, plan(2), run(2, integration=BAD_TEST))
    assert (second.verdict, second.new_failures) == (V.FAILING, 0)
    assert [item.change.value for item in second.changes] == ["still_failing"]


def test_a_regression_is_against_the_last_run_that_was_tested(tmp_path: Path) -> None:
    broken = run(1, smoke={}, integration={}, stages={"build": "failed", "smoke": "not_run", "integration": "not_run"})
    reports: dict[str, dict[str, object]] = {suite: {"state": "not_expected"} for suite in ("smoke", "integration")}
    broken = broken.model_copy(update={"suites": run(1, smoke={}, integration={}, reports=reports).suites})
    bad = run(3, integration=BAD_TEST)
    found = _one(tmp_path, plan(0), run(0), plan(1), broken, plan(2), plan(3), bad)
    assert [item.verdict for item in found.history] == [V.OK, V.BUILD_BROKEN, V.NO_DATA, V.REGRESSED]
    assert found.changes[0].before is not None


def test_fewer_executed_tests_than_before_are_lost(tmp_path: Path) -> None:
    many = run(0, integration={"two": "passed", "three": "passed"})
    found = _one(tmp_path, plan(0), many, plan(1), run(1))
    assert (found.verdict, found.reason) == (
        V.LOST_TESTS,
        "integration: 1 of 2 tests no longer run, first integration/test_x.py::three",
    )
    skipped = run(2, integration={"two": "passed", "three": "skipped"})
    assert _one(tmp_path / "b", plan(0), many, plan(2), skipped).verdict is V.LOST_TESTS


def test_a_verdict_and_a_broken_streak_have_dates_of_their_own(tmp_path: Path) -> None:
    records = nights(*(run(n) if n in (0, 3) else run(n, integration=BAD_TEST) for n in range(6)))
    found = _one(tmp_path, *records)
    assert [item.verdict for item in found.history] == [V.OK, V.REGRESSED, V.FAILING, V.OK, V.REGRESSED, V.FAILING]
    assert (found.nights, found.verdict_since, found.broken_since) == (1, night(5), night(4))
    assert (found.nights_since, found.is_new) == (2, False)
    first = _one(tmp_path / "new", *records[:10])
    assert (first.verdict_since, first.broken_since, first.is_new) == (night(4), night(4), True)


def test_a_broken_streak_goes_on_over_nights_that_are_neither_broken_nor_as_expected(tmp_path: Path) -> None:
    silent = _one(tmp_path, *nights(run(0), run(1, integration=BAD_TEST), None))
    assert (silent.verdict, silent.verdict_since, silent.broken_since) == (V.NO_DATA, night(2), night(1))
    broken = _one(tmp_path, plan(3), run(3, stages={"build": "failed"}))
    assert (broken.verdict, broken.verdict_since, broken.broken_since) == (V.BUILD_BROKEN, night(3), night(1))
    infra = _one(tmp_path, plan(4), run(4, stages={"check": "failed"}), plan(5), run(5))
    assert (infra.verdict, infra.verdict_since, infra.broken_since) == (V.OK, night(5), None)
    alone = _one(tmp_path, plan(6), run(6, stages={"check": "failed"}))
    assert (alone.verdict, alone.broken_since) == (V.INFRA, None)


def test_the_latest_attempt_counts_and_the_others_are_kept(tmp_path: Path) -> None:
    first = run(0, integration=BAD_TEST)
    assert _one(tmp_path, plan(0), run(0, attempt=2), first).verdict is V.OK
    assert len(whole_runs(History(tmp_path / "data"), "dev")) == 2
    tenth = run(0, smoke={"one": "crashed"}, attempt=10)
    assert _one(tmp_path, tenth, now=night(0)).verdict is V.SMOKE_BROKEN


def test_an_advisory_suite_is_shown_and_does_not_decide(tmp_path: Path) -> None:
    suites = (PlannedSuite(name="smoke"), PlannedSuite(name="integration", required=False))
    bad = run(0, integration=BAD_TEST)
    found = _one(tmp_path, plan(0, suites=suites), bad)
    assert found.verdict is V.OK
    assert [item.change.value for item in found.changes] == ["new_failure"]
    assert found.counts.failures == 0


@pytest.mark.parametrize("claim", [{"required": False}, {"min_tests": 1}], ids=["advisory", "fewer-tests"])
def test_what_was_planned_counts_and_not_what_the_run_says_was_planned(
    tmp_path: Path, claim: dict[str, object]
) -> None:
    suites = (PlannedSuite(name="smoke"), PlannedSuite(name="integration", min_tests=5))
    lying = run(0, integration={"two": "passed"}, reports={"integration": claim})
    assert _one(tmp_path, plan(0, suites=suites), lying).verdict is V.LOST_TESTS


def test_each_suite_is_compared_with_its_own_last_whole_report(tmp_path: Path) -> None:
    good = run(0, integration={"two": "failed", "three": "passed"})
    cut = run(1, integration={}, reports={"integration": {"state": "truncated", "detail": "cut"}})
    again = run(2, integration={"two": "failed", "three": "passed"})
    found = _one(tmp_path, plan(0), good, plan(1), cut, plan(2), again)
    assert (found.verdict, found.new_failures) == (V.FAILING, 0)
    fewer = run(2, integration={"two": "passed"})
    lost = _one(tmp_path / "b", plan(0), good, plan(1), cut, plan(2), fewer)
    assert (lost.verdict, lost.reason) == (
        V.LOST_TESTS,
        "integration: 1 of 2 tests no longer run, first integration/test_x.py::three",
    )


def test_a_pause_shows_its_reason_and_ends_with_the_next_nightly(tmp_path: Path) -> None:
    paused = plan(1, (), {"dev": "being moved"})
    found = _one(tmp_path, plan(0), run(0), paused)
    assert (found.verdict, found.reason) == (V.PAUSED, "being moved")
    assert found.since == night(1)
    resumed = _one(tmp_path, plan(2), run(2))
    assert resumed.verdict is V.OK
    assert [item.verdict for item in resumed.history] == [V.OK, V.PAUSED, V.OK]
    later = device(paused={"reason": "again"}).model_copy(update={"sha256": "1" * 64})
    now_paused = judged(tmp_path, registry=(later,), now=night(2))
    assert (now_paused.devices[0].verdict, now_paused.devices[0].reason) == (V.PAUSED, "again")
    assert now_paused.devices[0].since is None


def test_a_paused_device_that_was_asked_for_by_name_has_the_verdict_of_its_run(tmp_path: Path) -> None:
    paused = device(paused={"reason": "no runner"})
    judged(tmp_path, plan(0), run(0, stages={"import": "failed"}), registry=(paused,))
    found = judged(tmp_path, registry=(paused, device("two")), now=night(0))
    assert (found.devices[0].verdict, list(found.gate.without_result)) == (V.IMPORT_BROKEN, ["two"])
    judged(tmp_path, plan(1, (), {"dev": "no runner"}), registry=(paused,))
    assert judged(tmp_path, registry=(paused,), now=night(1)).devices[0].verdict is V.PAUSED


def test_a_paused_device_neither_blocks_nor_counts(tmp_path: Path) -> None:
    devices = (device(), device("two", paused={"reason": "being moved"}))
    found = judged(tmp_path, plan(0), run(0), registry=devices)
    assert found.gate.answer == "yes"
    assert found.summary.endswith(": 1 of 1 device as expected · 1 paused.")


@pytest.mark.parametrize("verdict", [verdict for verdict in BAD if verdict not in (V.OK, V.INFRA)])
def test_the_gate_blocks_for_whatever_is_broken(tmp_path: Path, verdict: VerdictName) -> None:
    gate = judged(tmp_path, plan(0), BAD[verdict]).gate
    assert (gate.answer, gate.blocking) == ("no", ("dev",))
    assert gate.reason == f"blocked by 1 of 1 gating device: Dev ({verdict.value})"


def test_the_summary_is_one_sentence_of_numerators_and_denominators(tmp_path: Path) -> None:
    names = ("a", "b", "c", "d")
    records = [plan(0, names), *(run(0, name) for name in names), plan(1, names)]
    records += [run(1, "a"), run(1, "b", stages={"build": "failed"}), run(1, "c", stages={"check": "failed"})]
    found = judged(tmp_path, *records, registry=tuple(device(name) for name in (*names, "e")))
    assert found.summary.startswith("Nightly 2026-11-02")
    assert found.summary.endswith(
        ": 1 of 5 devices as expected · 1 newly broken · 1 no report · 1 infrastructure · 1 never reported."
    )


def test_a_verdict_that_was_given_stays(tmp_path: Path) -> None:
    given = []
    for number in range(5):
        made = run(number, integration=BAD_TEST) if number in (1, 2, 4) else run(number)
        given.append([item.verdict for item in _one(tmp_path, plan(number), made).history])
    for earlier, later in itertools.pairwise(given):
        assert later[: len(earlier)] == earlier
