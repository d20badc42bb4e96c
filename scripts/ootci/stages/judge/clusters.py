"""Results over all devices: the clusters of failures on the newest nightly, and the sentence of the front page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ootci.history.cause import Source
from ootci.history.clusters import Failing, clusters_of
from ootci.model.cluster import Cause, Cluster, Streak
from ootci.model.device import Device, RegisteredDevice, Tier
from ootci.model.plan import Plan
from ootci.model.verdict import AS_EXPECTED, BROKEN, Change, DeviceVerdict, VerdictName
from ootci.model.words import many

CLUSTERS = 1_000
"""The most clusters in verdicts.json; the others are counted."""
NAMES = 20
"""The most further names of a cluster there."""


def newest_clusters(
    registry: Sequence[RegisteredDevice], newest: Plan | None, failing: Mapping[str, Sequence[Failing]]
) -> tuple[Cluster, ...]:
    """The clusters of the newest nightly, from the failures of each device's newest night."""
    if newest is None:
        return ()
    expected = [item.device for item in registry if newest.expected(item.device.name) is not None]
    found = [item for device in expected for item in failing.get(device.name, ())]
    return clusters_of(newest.id, [_source(device) for device in expected], found)


def _source(device: Device) -> Source:
    plugin = device.plugin
    source = plugin.git.url if plugin.git else plugin.path or plugin.package
    return Source(device.name, device.tier is Tier.REFERENCE, plugin.distribution, source, device.display_name)


def since(changes: Sequence[Change], failing: Sequence[Failing]) -> tuple[tuple[Change, ...], tuple[Streak, ...]]:
    """The changes, each with the failure's name and the index of its streak, and all streaks."""
    by_id = {item.test_id: item for item in failing}
    streaks = list(
        dict.fromkeys(item.streak for item in sorted(failing, key=lambda item: item.streak.first_failed.date))
    )
    places = {streak: place for place, streak in enumerate(streaks)}
    named = (
        replace(change, signature=item.name.id, streak=places[item.streak])
        if (item := by_id.get(change.id)) is not None
        else change
        for change in changes
    )
    return tuple(named), tuple(streaks)


def kept(clusters: Sequence[Cluster]) -> tuple[Cluster, ...]:
    """The first of the clusters, each with the first of its names: nothing else bounds a device's text."""
    return tuple(map(_first_names, clusters[:CLUSTERS]))


def _first_names(cluster: Cluster) -> Cluster:
    if len(cluster.also) <= NAMES:
        return cluster
    events = tuple(map(_first_names, cluster.events))
    return cluster.model_copy(update={"also": cluster.also[:NAMES], "events": events})


def named_by_cluster(verdicts: Iterable[DeviceVerdict], clusters: Sequence[Cluster]) -> tuple[DeviceVerdict, ...]:
    """The verdicts with each failing test under the name of its cluster, which may have several."""
    names = {other.id: cluster.signature.id for cluster in clusters for other in cluster.also}
    return tuple(
        verdict.model_copy(
            update={
                "changes": tuple(
                    replace(change, signature=names[change.signature]) if change.signature in names else change
                    for change in verdict.changes
                )
            }
        )
        if names
        else verdict
        for verdict in verdicts
    )


GOOD, UPSTREAM, NEW, FIRST, MORE, BEFORE = "as expected", "upstream", "new", "first", "more", "before"
FALLBACK = "fallback"
_WORDS = {
    NEW: "newly broken",
    FIRST: "failing since the first run",
    MORE: "still broken, with new failures",
    BEFORE: "still broken",
    "UNSTABLE": "with flaky tests",
    FALLBACK: "tested on another torch than requested",
    "NO_DATA": "no report",
    "INFRA": "infrastructure",
    "NEVER_RAN": "never reported",
    "PAUSED": "paused",
}
"""The words for each number but the first two, in order."""


def headline_numbers(devices: Sequence[DeviceVerdict], clusters: Sequence[Cluster] = ()) -> Counter[str]:
    """How many devices there are of each kind: every device is counted exactly once."""
    alike = {
        part.device
        for cluster in clusters
        if cluster.is_new and cluster.cause is Cause.UPSTREAM
        for part in cluster.devices
        if part.new
    }
    return Counter(_kind(item, alike) for item in devices)


def _kind(item: DeviceVerdict, alike: set[str]) -> str:
    if item.verdict is VerdictName.PAUSED:
        return str(item.verdict.value)
    if item.is_fallback:
        return FALLBACK
    if item.verdict in AS_EXPECTED:
        return GOOD
    if item.verdict not in BROKEN:
        return str(item.verdict.value)
    if item.device in alike:
        return UPSTREAM
    if item.is_new or item.is_first:
        return NEW if item.is_new else FIRST
    return MORE if item.new_failures else BEFORE


def sentence(devices: Sequence[DeviceVerdict], newest: Plan | None, clusters: Sequence[Cluster] = ()) -> str:
    """The one sentence of the front page; its numbers add up to that of the devices."""
    if newest is None:
        return f"No nightly has run yet; {many(len(devices), 'device')} registered."
    numbers = headline_numbers(devices, clusters)
    active = len(devices) - numbers["PAUSED"]
    good = f"{numbers[GOOD]} of {many(active, 'device')} as expected" if active else "no device is active"
    parts = [f"Nightly {_nightly_name(devices, newest)}: {good}"]
    if numbers[UPSTREAM]:
        parts.append(_upstream(numbers[UPSTREAM], clusters))
    parts += [f"{numbers[kind]} {words}" for kind, words in _WORDS.items() if numbers[kind]]
    return " · ".join(parts) + "."


def _upstream(count: int, clusters: Sequence[Cluster]) -> str:
    """Devices with failures that began on this nightly and that PyTorch probably caused."""
    found = [item for item in clusters if item.is_new and item.cause is Cause.UPSTREAM]
    commits = sorted({item.commits for item in found if item.commits})
    where = f", {commits[0]}" if len(commits) == 1 else ""
    return f"{many(count, 'device')} broke{' together' if count > 1 else ''}, probably upstream{where}"


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
