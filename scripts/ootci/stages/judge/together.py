"""What fails on the newest nightly, on all devices together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ootci.history.cause import Source
from ootci.history.clusters import Failing, clusters_of
from ootci.model.cluster import Cluster, Spell
from ootci.model.device import Device, RegisteredDevice, Tier
from ootci.model.plan import Plan
from ootci.model.verdict import Change, DeviceVerdict

CLUSTERS = 1_000
"""Clusters that verdicts.json has; the others are counted. A night with more of them has nothing in common."""
NAMES = 20
"""Names besides its first that a cluster has there."""


def together(
    registry: Sequence[RegisteredDevice], newest: Plan | None, failing: Mapping[str, Sequence[Failing]]
) -> tuple[Cluster, ...]:
    """The clusters of the newest nightly.

    Args:
        failing: what fails on each device's newest night.

    """
    if newest is None:
        return ()
    expected = [item.device for item in registry if newest.expected(item.device.name) is not None]
    found = [item for device in expected for item in failing.get(device.name, ())]
    return clusters_of(newest.id, [_source(device) for device in expected], found)


def _source(device: Device) -> Source:
    plugin = device.plugin
    source = plugin.git.url if plugin.git else plugin.path or plugin.package
    return Source(device.name, device.tier is Tier.REFERENCE, plugin.distribution, source)


def since(changes: Sequence[Change], failing: Sequence[Failing]) -> tuple[tuple[Change, ...], tuple[Spell, ...]]:
    """The changes with the names of the failures and the places of their spells, and all spells."""
    by_id = {item.test_id: item for item in failing}
    spells = list(dict.fromkeys(item.spell for item in sorted(failing, key=lambda item: item.spell.first_failed.date)))
    places = {spell: place for place, spell in enumerate(spells)}
    named = (
        replace(change, signature=item.name.id, spell=places[item.spell])
        if (item := by_id.get(change.id)) is not None
        else change
        for change in changes
    )
    return tuple(named), tuple(spells)


def kept(clusters: Sequence[Cluster]) -> tuple[Cluster, ...]:
    """The first of the clusters, each with the first of its names: what a device says is bounded by nothing else."""
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
