"""Since when each failure of a device's newest night lasts, found in the nights before."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ootci.model.build import StageName, StageResult, StageStatus
from ootci.model.cluster import Cause
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.plan import Plan
from ootci.model.signature import Signature
from ootci.model.spell import Mark, Spell
from ootci.model.torch_build import Channel

from .clusters import Failing
from .excuses import Excuses
from .signature import signature_of_stage
from .spell import Seen, spell_of
from .stored import Failure, StoredRun

_INFRASTRUCTURE = (StageName.FETCH, StageName.CHECK)


@dataclass(frozen=True)
class Reported:
    """A night that concerned a device.

    Attributes:
        plan: what was expected.
        run: what was reported; None when nothing was.

    """

    plan: Plan
    run: StoredRun | None

    @property
    def channel(self) -> Channel | None:
        """The channel that was tested; None where nothing was, or where another torch stood in for the one wanted."""
        return self.run.head.channel if self.run is not None else None

    @property
    def is_fallback(self) -> bool:
        """Whether another torch stood in for the one wanted, so that the night is evidence of nothing."""
        return self.run is not None and self.channel is None

    @cached_property
    def mark(self) -> Mark:
        """The night, with what was under test."""
        torch = self.run.head.torch if self.run is not None else None
        plugin = self.run.head.plugin if self.run is not None else None
        return Mark(
            plan_id=self.plan.id,
            date=self.plan.created_at,
            torch_version=torch.version if torch else None,
            torch_commit=torch.git_version if torch else None,
            plugin_version=plugin.version if plugin else None,
            plugin_commit=plugin.commit if plugin else None,
            plugin_sources=plugin.sources_sha256 if plugin else None,
        )


def failing_of(nights: Sequence[Reported], excuses: Excuses) -> tuple[Failing, ...]:
    """What fails on the newest of a device's nights, each with the night on which that began.

    Tests that fail because of a defect of PyTorch that the suites know are among them. Only nights of one channel are
    compared; nothing is told of a night on which another torch stood in for the one wanted.

    Args:
        nights: every night that concerned the device, oldest first.
        excuses: what excuses tests that fail on the newest night.

    """
    run = nights[-1].run if nights else None
    if run is None or run.head.channel is None:
        return ()
    comparable = [night for night in nights if night.run is None or night.channel is run.head.channel]
    return (*_stages(comparable, run), *_tests(comparable, run, excuses))


def _stages(nights: Sequence[Reported], run: StoredRun) -> Iterator[Failing]:
    for name, signature in broken_stages(run):
        spell = spell_of(
            Seen(night.mark, _came_to(next((item for item in _all_stages(night) if item.name == name), None)))
            for night in reversed(nights)
        )
        if spell is not None:
            settled = Cause.INFRASTRUCTURE if name in _INFRASTRUCTURE else None
            yield Failing(run.head.device, name, signature, spell, settled)


def broken_stages(run: StoredRun) -> Iterator[tuple[str, Signature | None]]:
    """The stages of a run that broke by themselves, and what each failure is called."""
    for stage in run.head.stages:
        if _came_to(stage) is OutcomeName.FAILED:
            yield (
                stage.name,
                signature_of_stage(run.head.device, stage.name, stage.status, stage.reason, stage.excerpt),
            )


def _all_stages(night: Reported) -> Sequence[StageResult]:
    return night.run.head.stages if night.run is not None else ()


def _came_to(stage: StageResult | None) -> OutcomeName | None:
    """What a stage came to, as if it were a test; failing tests are no failure of the stage."""
    if stage is None or stage.status is StageStatus.NOT_RUN:
        return None
    return OutcomeName.PASSED if stage.status is StageStatus.PASSED or stage.only_tests else OutcomeName.FAILED


def _tests(nights: Sequence[Reported], run: StoredRun, excuses: Excuses) -> Iterator[Failing]:
    tonight = nights[-1].mark
    for item in run.failures:
        # A test that passed in the end fails on this night only.
        spell = spell_of(_seen(nights, item.id, FAILURES)) or Spell(first_failed=tonight)
        yield Failing(run.head.device, item.id, item.signature, spell, _settled_cause(item, excuses))
    for row in run.with_outcomes((OutcomeName.XFAILED,)):
        expected = spell_of(_seen(nights, run.tests[row].id, (OutcomeName.XFAILED,)))
        if expected is not None and row in run.signatures:
            yield Failing(run.head.device, run.tests[row].id, run.signatures[row], expected, Cause.CORE_DEFECT)


def _settled_cause(item: Failure, excuses: Excuses) -> Cause | None:
    if item.id in excuses.known:
        return Cause.KNOWN
    if item.is_flaky or item.id in excuses.flaky:
        return Cause.FLAKY
    return Cause.INFRASTRUCTURE if item.id in excuses.unreachable else None


def _seen(nights: Sequence[Reported], test_id: str, failing: Container[OutcomeName]) -> Iterator[Seen]:
    """What came of a test night by night, the newest first, with one outcome for all that count as failing."""
    for night in reversed(nights):
        yield Seen(night.mark, _settled(night.run, test_id, failing) if night.run is not None else None)


def _settled(run: StoredRun, test_id: str, failing: Container[OutcomeName]) -> OutcomeName | None:
    outcome, is_flaky = run.result(test_id)
    return OutcomeName.PASSED if is_flaky else OutcomeName.FAILED if outcome in failing else outcome
