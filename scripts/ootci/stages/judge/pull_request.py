"""May one merge a pull request: what its runs show that the newest nightly did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from ootci.history.baseline import as_planned
from ootci.history.difference import newly_failing
from ootci.history.run_file import signatures_of
from ootci.history.store import History
from ootci.history.stored import StoredRun, stored
from ootci.model.build import StageName
from ootci.model.device import Device, RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.pull_request import WITHOUT_RESULT, Effect, EffectName, PullRequestGate
from ootci.model.relay import Conclusion, concluded_of_change
from ootci.model.run import Run
from ootci.model.verdict import VerdictName
from ootci.model.words import many

from .gate import answer_of, named, names_of, silent_reference, too_little
from .night import Judged
from .timeline import Known
from .witnesses import Witnesses

NIGHTS = 30
"""Nights of a device that are searched for the last complete report of each suite."""
NAMED = 20
"""Newly failing tests that are named; the others are counted."""

_TOO_EARLY = frozenset({VerdictName.BUILD_BROKEN, VerdictName.IMPORT_BROKEN, VerdictName.SMOKE_BROKEN})


def judge_pull_request(
    registry: Sequence[RegisteredDevice],
    plan: Plan,
    runs: Mapping[str, Run],
    history: History,
    overrides: Mapping[str, str],
    *,
    only: Sequence[str] = (),
    any_tier: bool = False,
) -> PullRequestGate:
    """Hold the runs of a pull request against each device's newest nightly.

    Args:
        runs: what was reported, by device.
        overrides: why a device shall not block, by name.
        only: ask these devices alone, whatever their tier is, and as the relay is told: without a nightly to
            compare it with, the run alone decides, and one that was broken before is no reason to test again.
        any_tier: ask every device of the plan, whatever its tier is.

    Raises:
        HistoryCorrupt: a record of the history cannot be read back.

    """
    gating = set(only) or {item.device.name for item in registry if any_tier or item.device.gates}
    ranges = {item.device.name: item.device.bad_ranges for item in registry}
    effects = tuple(
        _effect(
            plan,
            Known(planned.device, ranges.get(planned.device, ())),
            runs.get(planned.device),
            history,
            planned.device in gating,
        )
        for planned in plan.runs
        if not only or planned.device in only
    )
    asked = [item for item in effects if item.gates]
    wanted = [item for item in asked if item.effect is not EffectName.NOT_WORSE]
    overridden = {item.device: overrides[item.device] for item in wanted if item.device in overrides}
    asked = [item for item in asked if item.device not in overridden]
    blocking = [item for item in asked if _blocks(item, alone=bool(only))]
    silent = {item.device: item.reason for item in asked if _is_silent(item, alone=bool(only))}
    missing = silent_reference(registry, silent)
    # Only gating devices block: a pull request in which none takes part may be merged.
    no_gating = not any(item.gates for item in effects)
    answer = answer_of(len(asked), len(asked) - len(silent), len(blocking), reference=missing is None)
    return PullRequestGate(
        answer="yes" if no_gating else answer,
        reason=_reason(
            effects, asked, blocking, silent, missing, {item.device.name: item.device.display_name for item in registry}
        ),
        blocking=tuple(item.device for item in blocking),
        without_result=silent,
        overridden=overridden,
        torch=_torch_of(runs),
        devices=effects,
    )


def _torch_of(runs: Mapping[str, Run]) -> str | None:
    """The torch that was tested; the plan has it only after PyTorch's CI or a build gave one."""
    tested = next((run for run in runs.values() if run.torch is not None), None)
    if tested is None or tested.torch is None:
        return None
    request = tested.torch_request
    return "; ".join(filter(None, (tested.torch.version, request.origin, request.fallback_reason)))


def _blocks(effect: Effect, *, alone: bool) -> bool:
    if alone:
        return concluded_of_change(effect) is Conclusion.FAILURE
    return effect.effect is EffectName.NEWLY_BROKEN


def _is_silent(effect: Effect, *, alone: bool) -> bool:
    if alone:
        return concluded_of_change(effect) is Conclusion.NEUTRAL and effect.effect is not EffectName.BROKEN_BEFORE
    return effect.effect in WITHOUT_RESULT


def _reason(
    effects: Sequence[Effect],
    asked: Sequence[Effect],
    blocking: Sequence[Effect],
    silent: Mapping[str, str],
    missing: Device | None,
    called: Mapping[str, str],
) -> str:
    if not effects:
        return "no device is tested on it"
    if not asked:
        return "no gating device takes part in it"
    if said := too_little(len(asked), silent, missing, called):
        return said
    if blocking:
        names = ", ".join(names_of((item.device for item in blocking), called))
        return f"{len(blocking)} of {many(len(asked), 'gating device')} newly broken: {names}{named(silent, called)}"
    return f"none of {many(len(asked) - len(silent), 'gating device')} is newly broken{named(silent, called)}"


def _effect(plan: Plan, known: Known, reported: Run | None, history: History, gates: bool) -> Effect:
    device, no_witnesses = known.device, Witnesses((), history, ())
    nights = _nights(history, device, reported)
    before: Judged | None = None
    for planned, night in reversed(nights):
        before = known.judge(planned, night, no_witnesses, ever=True)
        known.add(planned, night, before)
    run = as_planned(plan, stored(reported, history.tests, signatures_of(reported)) if reported else None)
    judged = known.judge(plan, run, no_witnesses, ever=True)
    if run is None:
        return Effect(device=device, effect=EffectName.NO_DATA, gates=gates, verdict=judged.verdict, reason="no report")
    if run.head.unreadable is not None:
        reason = f"its report could not be read: {run.head.unreadable.removeprefix('report unreadable: ')}"
        return Effect(device=device, effect=EffectName.UNREADABLE, gates=gates, verdict=judged.verdict, reason=reason)
    base, excuses = known.earlier.of(run).before, judged.excuses
    new = newly_failing(base, run, excuses.all)
    failing = [item for item in run.failures if item.suite in run.head.required_suites]
    firm = [item.id for item in failing if not item.is_flaky and item.id not in excuses.all]
    covered = sum(item.id in excuses.known for item in failing)
    flaky = sum(item.is_flaky or item.id in excuses.flaky for item in failing if item.id not in excuses.known)
    effect, reason = _meaning(judged, len(new), base, before)
    return Effect(
        device=device,
        effect=effect,
        verdict=judged.verdict,
        reason=reason,
        newly_failing=len(new),
        first=tuple(item.id for item in new[:NAMED]),
        still_failing=len(firm) - len(new),
        known=covered,
        flaky=flaky,
        gates=gates,
        run_id=run.head.id,
        base=base.head.id if base else None,
        base_torch=base.head.torch.version if base and base.head.torch else None,
    )


def _nights(history: History, device: str, reported: Run | None) -> list[tuple[Plan, StoredRun]]:
    """The last nights of a device on the pull request's base, the newest first, each with its last attempt.

    The base is told by the release that torch becomes: a pull request to the branch of a release is compared with that
    release's nightlies, however far main has come.
    """
    plans = {plan.id: plan for plan in history.plans()}
    release = reported.release if reported is not None else None
    found = []
    for run, *_ in islice(history.attempts_by_nightly(device), NIGHTS):
        plan = plans[run.head.plan_id]
        planned = as_planned(plan, run)
        if planned is not None and run.head.channel is not None and run.head.release == release:
            found.append((plan, planned))
    return found


def _meaning(judged: Judged, new: int, base: StoredRun | None, before: Judged | None) -> tuple[EffectName, str]:
    if judged.verdict is VerdictName.INFRA or judged.broke_at == StageName.FETCH:
        return EffectName.INFRA, judged.reason
    if base is None or before is None:
        return EffectName.NO_DATA, "no nightly on the same base has a complete report to hold it against"
    if judged.verdict in _TOO_EARLY and judged.verdict is before.verdict and not new:
        return EffectName.BROKEN_BEFORE, f"as on the newest nightly: {judged.reason}"
    if new or judged.verdict in _TOO_EARLY or judged.verdict is VerdictName.LOST_TESTS:
        return EffectName.NEWLY_BROKEN, judged.reason
    if judged.verdict is VerdictName.NO_DATA:
        return EffectName.NO_DATA, judged.reason
    return EffectName.NOT_WORSE, judged.reason
