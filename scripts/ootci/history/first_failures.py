"""Since when each failure of a device's newest night lasts, found in the nights before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ootci.model.build import StageName, StageResult, StageStatus
from ootci.model.cluster import Cause, Signature, Streak
from ootci.model.outcome import OutcomeName

from .clusters import Failing
from .excuses import Excuses
from .nights import DeviceNight, Seen, results, streak_of
from .signature import signature_of_stage
from .stored import Failure, StoredRun

_INFRASTRUCTURE = (StageName.FETCH, StageName.CHECK)


def failing_of(nights: Sequence[DeviceNight], excuses: Excuses) -> tuple[Failing, ...]:
    """The failures on the newest of a device's nights, oldest first, each with its first night.

    Tests that fail because of a defect of PyTorch that the suites know are among them. Only nights of one channel are
    compared, none on a newer torch; nothing is told of a night on which another torch replaced the requested one.
    """
    run = nights[-1].run if nights else None
    if run is None or run.head.channel is None:
        return ()
    comparable = [night for night in nights if night.run is None or night.compares_with(run)]
    return (*_stages(comparable, run), *_tests(comparable, run, excuses))


def _stages(nights: Sequence[DeviceNight], run: StoredRun) -> Iterator[Failing]:
    for name, signature in broken_stages(run):
        now = run.head.stage(name)
        is_vendors = now is not None and now.is_vendors
        streak = streak_of(
            Seen(night.mark, outcome_of_stage(_of(night, name, is_vendors=is_vendors))) for night in reversed(nights)
        )
        if streak is not None:
            settled = Cause.INFRASTRUCTURE if name in _INFRASTRUCTURE else None
            settled = Cause.PLUGIN if is_vendors else settled
            yield Failing(run.head.device, name, signature, streak, settled)


def _of(night: DeviceNight, name: str, *, is_vendors: bool) -> StageResult | None:
    """A stage of a night; None where there is none, or it failed by another's fault than tonight."""
    stage = night.run.head.stage(name) if night.run else None
    return None if stage is not None and stage.broke and stage.is_vendors is not is_vendors else stage


def broken_stages(run: StoredRun) -> Iterator[tuple[str, Signature | None]]:
    """The stages of a run that broke by themselves, and what each failure is called."""
    for stage in run.head.stages:
        if outcome_of_stage(stage) is OutcomeName.FAILED:
            yield (
                stage.name,
                signature_of_stage(run.head.device, stage.name, stage.status, stage.reason, stage.excerpt),
            )


def outcome_of_stage(stage: StageResult | None) -> OutcomeName | None:
    """A stage's result in a test's terms; failing tests are no failure of the stage."""
    if stage is None or stage.status is StageStatus.NOT_RUN:
        return None
    return OutcomeName.PASSED if stage.came_through else OutcomeName.FAILED


def _tests(nights: Sequence[DeviceNight], run: StoredRun, excuses: Excuses) -> Iterator[Failing]:
    newest_first = nights[::-1]
    for item in run.failures:
        if item.id in excuses.unsettled:
            continue
        # A test that passed in the end fails on this night only.
        streak = streak_of(results(newest_first, item.id)) or Streak(first_failed=nights[-1].mark)
        yield Failing(run.head.device, item.id, item.signature, streak, _settled_cause(item, excuses))
    for row in run.with_outcomes((OutcomeName.XFAILED,)):
        expected = streak_of(results(newest_first, run.tests[row].id, (OutcomeName.XFAILED,)))
        if expected is not None and row in run.signatures:
            yield Failing(run.head.device, run.tests[row].id, run.signatures[row], expected, Cause.CORE_DEFECT)


def _settled_cause(item: Failure, excuses: Excuses) -> Cause | None:
    if item.id in excuses.known:
        return Cause.KNOWN
    if item.is_flaky or item.id in excuses.flaky:
        return Cause.FLAKY
    return Cause.INFRASTRUCTURE if item.id in excuses.unreachable else None
