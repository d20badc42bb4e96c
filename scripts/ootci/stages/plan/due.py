"""When a scheduled nightly starts: once per nightly of PyTorch, and by a time of day with what there is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time

from ootci.adapters.torch_index import night_of
from ootci.model.plan import Plan, PlannedRun
from ootci.model.torch_build import Channel, TorchRequest, version_of

DEADLINE = time(14)
"""UTC. PyTorch cuts its nightly at about 07:30 UTC, and the wheels follow hours later, one variant after another."""


class NotDue(Exception):
    """The nightly need not start yet. Its text is a reason for people."""


def due(plan: Plan, before: Plan | None) -> Plan:
    """The plan to run now; a device whose nightly is not new has the reason as its torch's fallback reason.

    A nightly is due when the index has a new one for every device, and after the deadline with what there is: a
    nightly that is new for some devices only, or the last one where none was started that day.

    Args:
        plan: what would run now.
        before: the scheduled nightly before it; None where there was none.

    Raises:
        NotDue: it is to start later, or has been started.

    """
    nights, old = _nights(plan), _nights(before) if before else {}
    newest, known = _newest(nights), _newest(old)
    is_new = newest is not None and (known is None or newest > known)
    missing = [name for name, night in nights.items() if night != newest and _is_expected(night, old.get(name), known)]
    started_today = before is not None and before.created_at.date() >= plan.created_at.date()
    is_late = plan.created_at.time() >= DEADLINE or not nights
    if not (is_new and not missing) and not (is_late and (is_new or not started_today)):
        if started_today and not is_new:
            raise NotDue(f"the nightly of {known or 'today'} was started, and the index has no newer one")
        waiting = f"for {', '.join(missing)}" if is_new else f"newer than {known}" if known else "at all"
        raise NotDue(f"the index has no nightly {waiting} yet; from {DEADLINE:%H:%M} UTC on it starts without one")
    at = f"{plan.created_at:%Y-%m-%d %H:%M} UTC"
    runs = tuple(_marked(run, nights, newest if is_new else None, at) for run in plan.runs)
    return plan.model_copy(update={"runs": runs})


def _is_expected(night: date | None, before: date | None, known: date | None) -> bool:
    """Whether a device without the newest nightly is waited for; a variant that is no longer built is not."""
    if night is None:
        return before is not None
    return known is None or night >= known


def _marked(run: PlannedRun, nights: Mapping[str, date | None], new: date | None, at: str) -> PlannedRun:
    night = nights.get(run.device)
    if night is None or night == new or run.torch.fallback_reason:
        return run
    torch = run.torch.model_copy(update={"fallback_reason": f"no nightly newer than {night} was published by {at}"})
    return run.model_copy(update={"torch": torch})


def _nights(plan: Plan) -> dict[str, date | None]:
    """The nightly of each device that wants one, and of predictions; None where it has another torch, or none."""
    wanted = (run for run in plan.runs if run.external is None and run.torch.wanted_channel is Channel.NIGHTLY)
    nights = {run.device: _night(run.torch) for run in wanted}
    return nights | ({"the predictions": _night(plan.nightly)} if plan.nightly else {})


def _night(torch: TorchRequest) -> date | None:
    version = version_of(torch.version) if torch.channel is Channel.NIGHTLY else None
    return night_of(version) if version is not None else None


def _newest(nights: Mapping[str, date | None]) -> date | None:
    return max((night for night in nights.values() if night is not None), default=None)
