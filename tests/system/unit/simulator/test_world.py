"""The invented world: valid, the same for the same seed, and as rich as was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulator import ABSENT, Event, Kind, World
from simulator.truth import Truth

from ootci.history.signature import signature_of, signature_of_stage
from ootci.history.store import History
from ootci.model.build import StageStatus
from ootci.model.device import Device
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.record import parse
from ootci.model.run import CapabilityCounts, Run
from ootci.model.verdict import VerdictName

NAMES = tuple(OutcomeName)
NIGHTS = 90


@pytest.fixture(scope="module")
def world() -> World:
    return World(3, nights=NIGHTS, tests=140)


def test_the_same_seed_makes_the_same_world(world: World) -> None:
    again, other = World(3, nights=NIGHTS, tests=140), World(4, nights=NIGHTS, tests=140)
    night = world.night(60)
    assert again.night(60) == night
    assert again.events == world.events
    assert other.events != world.events
    assert other.night(60) != night


def test_a_night_is_the_same_whether_the_nights_before_were_made_or_not(world: World) -> None:
    in_order = World(3, nights=NIGHTS, tests=140)
    for number in range(31):
        night = in_order.night(number)
    assert world.night(30) == night


def test_what_it_writes_is_read_back_and_taken_by_the_history(world: World, tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in range(0, NIGHTS, 9):
        night = world.night(number)
        assert parse(Plan, night.plan.to_json().encode(), where="plan.json") == night.plan
        assert history.append_plan(night.plan)
        for run in night.arrivals:
            assert parse(Run, run.to_json().encode(), where="run.json") == run
            # Reports of other nights arrive, too, whose nightlies are not in this history.
            assert run.plan_id != night.plan.id or history.append_run(run)
        for item in night.registry:
            assert Device.model_validate_json(item.device.model_dump_json(), strict=True) == item.device


def test_counts_of_a_report_are_those_of_its_outcomes(world: World) -> None:
    for number in range(0, NIGHTS, 7):
        for run in world.night(number).arrivals:
            assert sum(report.counts.total for report in run.suites) == len(run.outcomes)
            assert sum(report.counts.failures for report in run.suites) == run.counts.failures
            assert sum(report.counts.flaky for report in run.suites) == run.counts.flaky
            assert run.capabilities == CapabilityCounts.of(run.outcomes)


def test_the_compact_form_says_the_same_as_the_runs(world: World) -> None:
    compared = 0
    for number in range(0, NIGHTS, 5):
        for device in range(len(world.makers)):
            codes, runs = world.codes(device, number), world.runs(device, number)
            if codes is None:
                assert not any(run.outcomes for run in runs)
                continue
            told = {item.id: item.outcome for item in runs[-1].outcomes}
            pairs = zip(world.test_ids, codes, strict=True)
            assert {test: NAMES[code] for test, code in pairs if code != ABSENT} == told
            compared += 1
    assert compared > 200


def test_everything_that_can_happen_happens_in_a_year() -> None:
    assert {event.kind for event in World(1).events} == set(Kind)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_last_page_may_show_every_verdict(seed: int) -> None:
    *_, page = Truth(World(seed, nights=90, ending=True)).pages()
    assert {expected.verdict for expected in page.devices} >= set(VerdictName) - {VerdictName.KNOWN}


@pytest.mark.parametrize("nights", [20, 60])
def test_a_short_world_is_a_whole_one(nights: int) -> None:
    world = World(5, nights=nights, tests=120, devices=6)
    numbers = [night.number for night in world.all_nights()]
    assert numbers == [number for number in range(nights) if not world.meets(Kind.GAP, number)]


def _failures(world: World, event: Event) -> dict[str, list[tuple[str, Outcome]]]:
    """The failures of an event's tests on its first night, with the device's name, by test."""
    ids = {world.test_ids[test] for test in event.tests}
    found: dict[str, list[tuple[str, Outcome]]] = {}
    for device in event.devices:
        for run in world.runs(device, event.first)[-1:]:
            for item in run.outcomes:
                if item.is_failure and item.id in ids:
                    found.setdefault(item.id, []).append((run.device, item))
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_what_pytorch_broke_is_told_in_other_words_on_each_device_and_has_one_signature(seed: int) -> None:
    world = World(seed)
    for event in world.events:
        if event.kind in (Kind.UPSTREAM_REGRESSION, Kind.SMOKE_BREAK_UPSTREAM):
            for failures in _failures(world, event).values():
                assert len(failures) > 1
                assert len({item.text for _, item in failures}) == len(failures)
                signatures = {
                    signature_of(device, item.outcome, item.message, item.text, test_id=item.id)
                    for device, item in failures
                }
                assert len(signatures) == 1
                assert None not in signatures


@pytest.mark.parametrize("seed", [1, 2])
def test_what_pytorch_broke_in_a_build_or_an_import_has_one_signature(seed: int) -> None:
    world = World(seed)
    for event in world.events:
        if event.kind in (Kind.BUILD_BREAK_UPSTREAM, Kind.IMPORT_BREAK_UPSTREAM) and not world.meets(
            Kind.GAP, event.first
        ):
            signatures = set()
            for device in event.devices:
                run = world.runs(device, event.first)[-1]
                stage = next(stage for stage in run.stages if stage.status is StageStatus.FAILED)
                found = signature_of_stage(run.device, stage.name, stage.status, stage.reason, stage.excerpt)
                signatures.add((found, stage.name))
            assert len(signatures) == 1


@pytest.mark.parametrize(("tests", "why"), [(200_000, "there are"), (50, "too few")])
def test_a_number_of_tests_that_cannot_be_is_refused(tests: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        World(1, nights=3, tests=tests)
