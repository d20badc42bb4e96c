"""The one sentence of the front page."""

from __future__ import annotations

from collections.abc import Sequence

from ootci.model.cluster import Cause, Cluster
from ootci.model.plan import Plan
from ootci.model.verdict import AS_EXPECTED, BROKEN, DeviceVerdict, VerdictName


def sentence(devices: Sequence[DeviceVerdict], newest: Plan | None, clusters: Sequence[Cluster] = ()) -> str:
    """The one sentence of the front page."""
    if newest is None:
        return f"No nightly has run yet; {_devices(len(devices))} registered."
    active = [item for item in devices if item.verdict is not VerdictName.PAUSED]
    good = sum(item.verdict in AS_EXPECTED for item in active)
    parts = [f"Nightly {_nightly_name(devices, newest)}: {good} of {_devices(len(active))} as expected"]
    broken = [item for item in active if item.verdict in BROKEN and item.nights == 1]
    newly, first = sum(not item.is_first for item in broken), sum(item.is_first for item in broken)
    if newly:
        parts.append(f"{newly} newly broken")
    if first:
        parts.append(f"{first} failing since the first run")
    parts += _upstream(clusters)
    for verdict, text in (
        (VerdictName.NO_DATA, "silent"),
        (VerdictName.INFRA, "without working infrastructure"),
        (VerdictName.NEVER_RAN, "never ran"),
    ):
        count = sum(item.verdict is verdict for item in active)
        if count:
            parts.append(f"{count} {text}")
    paused = len(devices) - len(active)
    if paused:
        parts.append(f"{paused} paused")
    return " · ".join(parts) + "."


def _upstream(clusters: Sequence[Cluster]) -> list[str]:
    """Is it us? Devices with failures that began this nightly and are probably PyTorch's."""
    found = [item for item in clusters if item.is_new and item.cause is Cause.UPSTREAM]
    broken = {part.device for item in found for part in item.devices if part.new}
    if not broken:
        return []
    commits = sorted({item.commits for item in found if item.commits})
    where = f", {commits[0]}" if len(commits) == 1 else ""
    who = "the reference" if len(broken) == 1 else _devices(len(broken))
    return [f"{who} broke{' alike' if len(broken) > 1 else ''}, probably upstream{where}"]


def _devices(count: int) -> str:
    return f"{count} device" if count == 1 else f"{count} devices"


def _nightly_name(devices: Sequence[DeviceVerdict], newest: Plan) -> str:
    """The torch that the nightly tested, with its commit, where all devices tested the same; always the date."""
    run_ids = {run.run_id for run in newest.runs}
    builds = {
        f"{item.torch.version} ({(item.torch.git_version or 'unknown')[:7]})"
        for item in devices
        if item.run_id in run_ids and item.torch is not None
    }
    date = f"{newest.created_at:%Y-%m-%d}"
    if len(builds) == 1:
        return f"{date} on torch {builds.pop()}"
    return f"{date} on {len(builds)} builds of torch" if builds else date
