"""The baseline: lost tests stay lost until they are back or the loss is accepted, on nights of one channel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from functools import partial
from pathlib import Path

import pytest
from unit.samples import changed, device, night, nights, on_release, on_torch, outcomes, plan, run, with_runs
from unit.stages.judging import judged
from unit.stages.other_torches import RELEASE

from ootci.model.alert import Alert, Condition, Standing
from ootci.model.capability import Capability
from ootci.model.device import LostTests, Unsupported
from ootci.model.outcome import Counts
from ootci.model.plan import Plan, PlannedSuite
from ootci.model.run import Run
from ootci.model.torch_build import Channel, TorchBuild
from ootci.model.verdict import ChangeName, DeviceVerdict, VerdictName, Verdicts
from ootci.stages.alert import conditions

V = VerdictName
REFERENCE = device("ref", tier="reference")
_judge = partial(judged, registry=(device(),))


def _names(*spans: range, file: str = "t") -> dict[str, str]:
    return {f"{file}{number:03d}": "passed" for span in spans for number in span}


def _strip(verdicts: Verdicts, name: str = "dev") -> list[VerdictName]:
    return [item.verdict for item in _of(verdicts, name).history]


def _of(verdicts: Verdicts, name: str = "dev") -> DeviceVerdict:
    return next(item for item in verdicts.devices if item.device == name)


FULL = _names(range(300))
SHRUNKEN = {
    "by-88": (_names(range(212)), 88),
    "by-one": (_names(range(1, 300)), 1),
    "by-a-renamed-file": ({**_names(range(290)), **_names(range(290, 300), file="renamed")}, 10),
    "ten-lost-fifteen-new": (_names(range(10, 315)), 10),
    "skipped": ({**FULL, "t000": "skipped"}, 1),
}


@pytest.mark.parametrize("case", SHRUNKEN)
def test_lost_tests_stay_lost_every_night_until_they_are_back(tmp_path: Path, case: str) -> None:
    left, count = SHRUNKEN[case]
    found = _judge(tmp_path, *nights(run(0, integration=FULL), *(run(n, integration=left) for n in range(1, 4))))
    assert _strip(found) == [V.OK, V.LOST_TESTS, V.LOST_TESTS, V.LOST_TESTS]
    assert _of(found).reason.startswith(f"integration: {count} of {len({**FULL, **left})} tests no longer run, first ")
    if case != "skipped":
        gone = [item.id for item in _of(found).changes if item.change is ChangeName.DISAPPEARED]
        assert len(gone) == count
    back = _judge(tmp_path, plan(4), run(4, integration={**left, **FULL}))
    assert _strip(back)[-1] is V.OK


def test_a_test_whose_title_changes_is_not_lost_and_is_expected_once(tmp_path: Path) -> None:
    def titled(record: Run, title: str) -> Run:
        return changed(record, lambda _: True, title=title)

    four, three = _names(range(4)), _names(range(3))
    records = (plan(0), titled(run(0, integration=four), "old"), plan(1), titled(run(1, integration=four), "new"))
    assert _strip(_judge(tmp_path, *records)) == [V.OK, V.OK]
    found = _judge(tmp_path, plan(2), titled(run(2, integration=three), "new"))
    assert _of(found).reason.startswith("integration: 1 of 4 tests no longer run")


def test_new_tests_join_the_baseline_and_a_cut_report_takes_none_away(tmp_path: Path) -> None:
    cut = run(2, integration={}, reports={"integration": {"state": "truncated", "detail": "cut"}})
    records = (plan(0), run(0), plan(1), run(1, integration=_names(range(3))), plan(2), cut, plan(3), run(3))
    found = _judge(tmp_path, *records)
    # Night 1 lost the test `two`, and brought three others.
    assert _strip(found) == [V.OK, V.LOST_TESTS, V.LOST_TESTS, V.LOST_TESTS]
    assert _of(found).reason.startswith("integration: 3 of 4 tests")


def test_the_reference_accepts_a_loss_on_the_night_on_which_it_lacks_the_tests_too(tmp_path: Path) -> None:
    both, less = _names(range(5)), _names(range(3))
    names = ("dev", "ref")
    found = _judge(
        tmp_path,
        *(plan(0, names), run(0, integration=both), run(0, "ref", integration=both)),
        # The reference still has them: a loss.
        *(plan(1, names), run(1, integration=less), run(1, "ref", integration=both)),
        # The reference does not report: nobody accepts anything.
        *(plan(2, names), run(2, integration=less)),
        *(plan(3, names), run(3, integration=less), run(3, "ref", integration=less)),
        *(plan(4, names), run(4, integration=less), run(4, "ref", integration=both)),
        registry=(device(), REFERENCE),
    )
    assert _strip(found) == [V.OK, V.LOST_TESTS, V.LOST_TESTS, V.OK, V.OK]


def test_of_a_test_that_a_device_skips_the_reference_has_to_skip_it_too(tmp_path: Path) -> None:
    names, skips, lacks = ("dev", "ref"), {**_names(range(4)), "t004": "skipped"}, _names(range(4))
    found = _judge(
        tmp_path,
        *(plan(0, names), run(0, integration=_names(range(5))), run(0, "ref", integration=_names(range(5)))),
        *(plan(1, names), run(1, integration=skips), run(1, "ref", integration=lacks)),
        *(plan(2, names), run(2, integration=skips), run(2, "ref", integration=skips)),
        registry=(device(), REFERENCE),
    )
    assert _strip(found) == [V.OK, V.LOST_TESTS, V.OK]


def test_a_cut_report_of_the_reference_accepts_nothing(tmp_path: Path) -> None:
    names, less = ("dev", "ref"), _names(range(3))
    cut = run(1, "ref", integration=less, reports={"integration": {"state": "truncated", "detail": "cut"}})
    first = (plan(0, names), run(0, integration=FULL), run(0, "ref", integration=FULL))
    found = _judge(tmp_path, *first, plan(1, names), run(1, integration=less), cut, registry=(device(), REFERENCE))
    assert _of(found).verdict is V.LOST_TESTS


def test_the_reference_does_not_accept_its_own_loss(tmp_path: Path) -> None:
    names, less = ("dev", "ref"), _names(range(3))
    first = (plan(0, names), run(0, integration=FULL), run(0, "ref", integration=FULL))
    again = (plan(1, names), run(1, integration=FULL), run(1, "ref", integration=less))
    found = _judge(tmp_path, *first, *again, registry=(device(), REFERENCE))
    assert (_of(found).verdict, _of(found, "ref").verdict) == (V.OK, V.LOST_TESTS)


def test_the_reference_s_loss_is_accepted_when_another_device_lost_the_same_tests(tmp_path: Path) -> None:
    names, less = ("dev", "ref"), {**_names(range(1)), **_names(range(1, 3), file="renamed")}
    first = (plan(0, names), run(0, integration=FULL), run(0, "ref", integration=FULL))
    again = (plan(1, names), run(1, integration=less), run(1, "ref", integration=less))
    found = _judge(tmp_path, *first, *again, registry=(device(), REFERENCE))
    assert (_of(found).verdict, _of(found, "ref").verdict) == (V.OK, V.OK)


def test_of_a_suite_that_the_vendor_brings_the_reference_accepts_no_loss(tmp_path: Path) -> None:
    names, suites = ("dev", "ref"), (PlannedSuite(name="smoke"), PlannedSuite(name="mine"))
    records: list[Plan | Run] = []
    for number, tests in enumerate((_names(range(5)), _names(range(3)))):
        records += [plan(number, names, suites=suites)]
        records += [run(number, name, suite="mine", integration=tests) for name in names]
    found = _judge(tmp_path, *records, registry=(device(), REFERENCE))
    assert _of(found).verdict is V.LOST_TESTS


def test_the_device_file_that_runs_a_suite_no_longer_accepts_its_loss(tmp_path: Path) -> None:
    smoke = (PlannedSuite(name="smoke"),)
    less = run(1, stages={"integration": "not_run"})
    less = less.model_copy(update={"suites": less.suites[:1], "outcomes": less.outcomes[:1]})
    assert _strip(_judge(tmp_path, plan(0), run(0), plan(1, suites=smoke), less)) == [V.OK, V.OK]


@pytest.mark.parametrize(("declared", "verdict"), [(True, V.OK), (False, V.LOST_TESTS)])
def test_a_capability_that_is_declared_unsupported_accepts_the_loss_of_its_tests(
    tmp_path: Path, declared: bool, verdict: VerdictName
) -> None:
    def with_streams(record: Run, outcome: str) -> Run:
        more = [item.model_copy(update={"capability": "streams_events"}) for item in outcomes("integration", s=outcome)]
        counts = Counts.of([*record.outcomes[1:], *more])
        suites = (record.suites[0], record.suites[1].model_copy(update={"counts": counts}))
        return record.model_copy(update={"outcomes": (*record.outcomes, *more), "suites": suites})

    claim = (Unsupported(capability=Capability("streams_events"), reason="none"),) if declared else ()
    records = (plan(0), with_streams(run(0), "passed"), with_runs(plan(1), unsupported=claim))
    assert _of(_judge(tmp_path, *records, with_streams(run(1), "unsupported"))).verdict is verdict


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        ({}, V.OK),
        ({"id": "integration/test_y.py::*"}, V.LOST_TESTS),
        ({"expires": "2026-11-01", "added": "2026-10-01"}, V.LOST_TESTS),
    ],
    ids=["accepted", "of-others", "expired"],
)
def test_the_device_file_accepts_a_loss_in_words_for_a_time(
    tmp_path: Path, entry: Mapping[str, str], verdict: VerdictName
) -> None:
    values = {"id": "integration/test_x.py::*", "reason": "split", "added": "2026-11-02", "expires": "2026-11-02"}
    accepted = LostTests.model_validate_json(json.dumps({**values, **entry}))
    less = _names(range(3))
    records: list[Plan | Run] = [plan(0), run(0, integration=FULL)]
    records += [with_runs(plan(1), lost_tests=(accepted,)), run(1, integration=less)]
    assert _of(_judge(tmp_path, *records)).verdict is verdict
    # What was accepted once stays accepted when the entry is gone; what was not is still lost.
    assert _of(_judge(tmp_path, plan(2), run(2, integration=less))).verdict is verdict
    assert accepted.added <= date(2026, 11, 2)


BAD = {"two": "failed"}


def test_a_fallback_night_does_not_break(tmp_path: Path) -> None:
    bad = on_release(run(1, integration=BAD))
    found = _judge(tmp_path, plan(0), run(0), plan(1), bad)
    assert _of(found).verdict is not V.REGRESSED
    assert (_of(found).new_failures, _of(found).broken_since, found.clusters) == (0, None, ())
    after = _of(_judge(tmp_path, plan(2), run(2)))
    assert (after.verdict, after.verdict_since, after.nights) == (V.OK, night(0), 2)


def test_a_fallback_night_does_not_fix_and_enters_no_range(tmp_path: Path) -> None:
    tonight = _of(_judge(tmp_path, *nights(run(0), run(1, integration=BAD), on_release(run(2)))))
    assert tonight.broken_since == night(1)
    found = _of(_judge(tmp_path, plan(3), run(3, integration=BAD)))
    assert (found.verdict, found.broken_since, found.new_failures) == (V.FAILING, night(1), 0)
    (streak,) = found.streaks
    assert streak.last_passed is not None
    assert (streak.last_passed.date, streak.first_failed.date) == (night(0), night(1))


def test_a_fallback_night_loses_no_tests_and_brings_none_back(tmp_path: Path) -> None:
    less = _names(range(3))
    records = nights(run(0, integration=FULL), on_release(run(1, integration=less)))
    assert _of(_judge(tmp_path, *records)).verdict is V.OK
    found = _judge(tmp_path, plan(2), run(2, integration=less), plan(3), on_release(run(3, integration=FULL)))
    found = _judge(tmp_path, plan(4), run(4, integration=less))
    assert _strip(found)[2::2] == [V.LOST_TESTS, V.LOST_TESTS]
    assert _of(found).broken_since == night(2)


def test_a_fallback_night_opens_closes_and_ages_no_issue(tmp_path: Path) -> None:
    def alert(verdicts: Verdicts) -> Alert:
        return next(item for item in conditions(verdicts) if item.condition is Condition.BROKEN)

    bad = on_release(run(1, integration=BAD))
    assert alert(_judge(tmp_path / "a", plan(0), run(0), plan(1), bad)).standing is Standing.UNKNOWN
    broken = (plan(0), run(0), plan(1), run(1, integration=BAD))
    found = alert(_judge(tmp_path / "b", *broken, plan(2), on_release(run(2)), plan(3), on_release(run(3))))
    assert (found.standing, found.good) == (Standing.UNKNOWN, ())
    after = alert(_judge(tmp_path / "b", plan(4), run(4, integration=BAD)))
    assert (after.standing, after.began) == (Standing.PRESENT, night(1))


def test_a_release_under_the_name_of_a_nightly_is_a_fallback_too(tmp_path: Path) -> None:
    odd = run(1, integration=BAD).model_copy(update={"torch": TorchBuild(version="2.13.0+cpu")})
    found = _of(_judge(tmp_path, plan(0), run(0), plan(1), odd))
    assert (found.broken_since, found.history[-1].fallback) == (None, True)


def _on(version: str, record: Run) -> Run:
    """The run on a wheel that somebody gave by hand."""
    commit = f"{version.replace('.', ''):0<40}"
    return on_torch(record, version, commit, wanted_channel=Channel.WHEEL, channel=Channel.WHEEL)


def test_an_older_torch_has_not_lost_what_a_newer_one_brought(tmp_path: Path) -> None:
    older, newer = _names(range(10)), _names(range(12))
    tried = [("2.15.0", newer), ("2.12.1", older), ("2.13.0", older), ("2.15.0", newer), ("2.15.1", newer)]
    tried += [("2.12.1", _names(range(1, 10))), ("2.15.0", older), ("2.16.0", older)]
    runs = (_on(version, run(number, integration=tests)) for number, (version, tests) in enumerate(tried))
    found = _judge(tmp_path, *nights(*runs))
    # Each against its own and older ones: the last three lack a test of 2.12.1, two of 2.15.0, and these two still.
    assert _strip(found) == [V.OK] * 5 + [V.LOST_TESTS] * 3
    assert _of(found).reason.startswith("integration: 2 of 12 tests no longer run, first integration/test_x.py::t010")


def test_another_release_has_other_tests_of_pytorch(tmp_path: Path) -> None:
    """An operator that a release no longer lists is nobody's loss; on nightlies, and in other suites, it is told."""
    for suite, channel, verdict in (
        ("ops", Channel.WHEEL, V.OK),
        ("integration", Channel.WHEEL, V.LOST_TESTS),
        ("ops", Channel.NIGHTLY, V.LOST_TESTS),
    ):
        records: list[Plan | Run] = []
        versions = ("2.12.1", "2.13.0") if channel is Channel.WHEEL else ("2.12.0.dev1", "2.13.0.dev1")
        for number, (version, last) in enumerate(zip(versions, (3, 2), strict=True)):
            found = run(number, integration=_names(range(last)), suite=suite)
            tried = on_torch(found, version, version, wanted_channel=channel, channel=channel)
            records += [plan(number, suites=(PlannedSuite(name="smoke"), PlannedSuite(name=suite))), tried]
        assert _strip(_judge(tmp_path / f"{suite}-{channel.value}", *records)) == [V.OK, verdict], (suite, channel)


def test_what_fails_on_an_older_torch_is_not_new_since_a_newer_one(tmp_path: Path) -> None:
    records = [plan(0), _on("2.15.0", run(0)), plan(1), _on("2.12.1", run(1, integration=BAD))]
    found = _of(_judge(tmp_path, *records))
    assert (found.verdict, found.is_first) == (V.FAILING, True)
    (streak,) = found.streaks
    assert (streak.last_passed, streak.commits) == (None, None)
    found = _of(_judge(tmp_path, plan(2), _on("2.15.0", run(2, integration=BAD))))
    assert (found.verdict, found.streaks[0].last_passed and found.streaks[0].last_passed.date) == (
        V.REGRESSED,
        night(0),
    )


def test_a_device_that_changes_to_releases_begins_anew(tmp_path: Path) -> None:
    bad = on_torch(run(1, integration=BAD), "2.13.0+cpu", **RELEASE)
    found = _of(_judge(tmp_path, plan(0), run(0), plan(1), bad))
    assert (found.verdict, found.is_first) == (V.FAILING, True)
    assert [item.last_passed for item in found.streaks] == [None]
