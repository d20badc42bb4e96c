"""external: a report from a vendor's own machine, imported as the run that tonight's plan expects."""

from __future__ import annotations

from datetime import datetime, timedelta

from ootci.errors import ExternalRefused
from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.record import parse
from ootci.model.run import Run, TakenFrom

AHEAD = timedelta(minutes=15)
"""How far another machine's clock may be ahead of ours."""


def reported(device: Device, content: bytes, address: str, now: datetime) -> Run:
    """The report that lies at a device's address.

    Raises:
        ExternalRefused: it is another device's, or its times cannot be.
        StageFileInvalid, StageFileVersion: it is no run.json that can be read.

    """
    run = parse(Run, content, where=address)
    if run.device != device.name:
        what = f"it is a report of `{ascii(run.device[:40])[1:-1]}` and not of `{device.name}`"
        raise ExternalRefused(what, where=address, fix="publish the device's own run.json there")
    if run.finished_at > now + AHEAD or run.started_at > run.finished_at:
        raise ExternalRefused("the report's times cannot be", where=address, fix="set that machine's clock")
    return run


def taken_in(device: Device, plan: Plan, run: Run, before: Run | None, *, now: datetime, attempt: int) -> Run:
    """The run that the plan expects, made of a report from elsewhere.

    Versions, times and outcomes come from the report; device, run and nightly come from the plan. The report is data
    like any other: the judge takes neither known failures nor required test counts from it.

    Args:
        plan: the nightly, which expects the device's report from elsewhere.
        attempt: which attempt of the nightly this is.

    Raises:
        ExternalRefused: it is too old, or was taken before.

    """
    planned = plan.run_of(device.name)
    address = planned.external or ""
    age, limit = now - run.finished_at, device.cadence.stale_after
    if age > limit:
        hours = limit.total_seconds() / 3600
        what = f"the report is {age.total_seconds() / 3600:.0f} hours old, more than {hours:.0f}"
        raise ExternalRefused(what, where=address, fix="see whether the vendor's own nightly still runs")
    if before is not None and (before.started_at, before.finished_at) == (run.started_at, run.finished_at):
        what = f"there is nothing new: the report was taken in as {before.id} already"
        raise ExternalRefused(what, where=address, fix="see whether the vendor's own nightly still runs")
    source = TakenFrom(address=address, taken_at=now, run_id=run.id[:200])
    return run.model_copy(
        update={"id": planned.run_id, "plan_id": plan.id, "attempt": attempt, "queued_at": None, "external": source}
    )
