"""Whether a device meets the criteria of PyTorch's CI relay for level L3, from its nightlies.

Pull requests are in no history, so nightlies stand for them: the same jobs on the same machines. The relay's
maintainers count its reports, not these. Source of the criteria: PyTorch's cross-repository CI relay, from L2 to L3.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from statistics import fmean, median

from ootci.model.record import Record, Time
from ootci.model.relay import Conclusion, concluded
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict, VerdictName
from ootci.model.words import duration

DAYS = 14
"""Days up to the newest nightly that count."""
LONGEST = 3 * 3600.0
"""Seconds from plan to result."""
LONGEST_QUEUE = 30 * 60.0
"""Seconds of waiting for a machine."""
FEWEST_DAYS = 30
_NOT_ASKED = (VerdictName.PAUSED, VerdictName.NEVER_RAN)


class Criterion(Record):
    """One criterion."""

    name: str
    """The criterion."""
    goal: str
    """The goal."""
    value: str
    """The value; empty where nothing was measured."""
    met: bool | None = None
    """Whether the goal is met; null where there is not enough data."""

    @property
    def word(self) -> str:
        """The same in words."""
        return "not enough data" if self.met is None else "met" if self.met else "not met"


class Readiness(Record):
    """The criteria of level L3 for a device."""

    device: str
    """Name of the device."""
    nights: int
    """Nightlies of the last 14 days on which it was tested, or should have been."""
    first: Time | None = None
    """The first of them."""
    last: Time | None = None
    """The newest of them."""
    criteria: tuple[Criterion, ...]
    """Each criterion, in the relay's order."""


def readiness(verdict: DeviceVerdict, runs: Mapping[str, Run]) -> Readiness:
    """Hold a device's nightlies against the criteria.

    Args:
        verdict: of the device, with its nights.
        runs: of each nightly the run that counts, by the nightly's id; its tests are not looked at.

    """
    asked = [night for night in verdict.history if night.verdict not in _NOT_ASKED]
    lately = [night for night in asked if asked[-1].date - night.date < timedelta(days=DAYS)]
    reported = [runs[night.plan_id] for night in lately if night.plan_id in runs]
    total = [(run.finished_at - run.queued_at).total_seconds() for run in reported if run.queued_at is not None]
    queue = [seconds for run in reported if (seconds := run.queue_duration) is not None]
    slow = sum(seconds > LONGEST for seconds in total)
    silent = len(lately) - len(reported)
    concluding = [concluded(night.verdict) for night in lately if night.plan_id in runs]
    passed = concluding.count(Conclusion.SUCCESS)
    ends = passed + concluding.count(Conclusion.FAILURE)
    enough = len(lately) > 1 and lately[-1].date - lately[0].date >= timedelta(days=DAYS - 1)
    age = asked[-1].date - asked[0].date if asked else timedelta()
    middle, waited = median(total or [0.0]), fmean(queue or [0.0])
    # The criterion, its goal, its value, whether it is met, and the number of nights.
    measured = (
        ("time from plan to result, median", "below 3 h", duration(middle), middle < LONGEST, len(total)),
        ("runs over 3 h", "below 1 %", f"{slow} of {len(total)}", 100 * slow < len(total), len(total)),
        ("time in the queue, mean", "below 30 min", duration(waited), waited < LONGEST_QUEUE, len(queue)),
        ("no report", "below 1 %", f"{silent} of {len(lately)}", 100 * silent < len(lately), len(lately)),
        ("successful results", "at least 90 %", f"{passed} of {ends}", 10 * passed >= 9 * ends, ends),
    )
    long_enough = Criterion(
        name="results for",
        goal=f"at least {FEWEST_DAYS} days, at level L2",
        value=f"{age.days} days",
        met=age >= timedelta(days=FEWEST_DAYS),
    )
    others = (
        Criterion(name=name, goal=goal, value=value if nights else "", met=is_met if nights and enough else None)
        for name, goal, value, is_met, nights in measured
    )
    return Readiness(
        device=verdict.device,
        nights=len(lately),
        first=lately[0].date if lately else None,
        last=lately[-1].date if lately else None,
        criteria=(long_enough, *others),
    )
