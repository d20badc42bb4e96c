"""Failures of one night that have the same name, as clusters across all devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ootci.history.cause import Began, Blamed, Source, any_of, blame, plugins
from ootci.model.cluster import Cause, Cluster, ClusterDevice
from ootci.model.signature import Signature
from ootci.model.spell import Mark, Spell

NAMED = 5
"""Tests that a cluster names of each device; the others are counted."""


@dataclass(frozen=True)
class Failing:
    """A test that fails on the newest night, or a stage that broke.

    Attributes:
        device: name of the device.
        test_id: the test; the stage's name where a stage broke.
        signature: the failure's name; None where nothing was said about it.
        spell: since when it fails.
        settled: its cause, where the device's own report tells it: infrastructure, a core defect, known, flaky.

    """

    device: str
    test_id: str
    signature: Signature | None
    spell: Spell
    settled: Cause | None = None

    @property
    def name(self) -> Signature:
        """The failure's name, or the test's where nothing was said."""
        return self.signature or unnamed(self.test_id)


def unnamed(test_id: str) -> Signature:
    """The name of a failure about which nothing was said."""
    return Signature.of(f"{test_id}: nothing was said")


_SETTLED = {
    Cause.INFRASTRUCTURE: "the machine, the card or the network was not there, on {devices}",
    Cause.CORE_DEFECT: "a defect of PyTorch that the suites know, on {devices}",
    Cause.KNOWN: "known to the vendor, on {devices}",
    Cause.FLAKY: "fails and passes by turns, on {devices}",
}
"""Causes that the devices' reports tell by themselves; the first of them that a cluster has is its cause."""


def clusters_of(plan_id: str, sources: Sequence[Source], failing: Iterable[Failing]) -> tuple[Cluster, ...]:
    """Every failure of a night in exactly one cluster; what began this night first, then what most devices share.

    Args:
        plan_id: the night.
        sources: every device that the nightly expected.
        failing: what fails, in any order.

    """
    by_device = {source.device: source for source in sources}
    by_name: dict[Signature, list[Failing]] = defaultdict(list)
    for item in failing:
        by_name[item.name].append(item)
    found = [_cluster(plan_id, name, by_device, items) for name, items in by_name.items()]
    return tuple(
        sorted(found, key=lambda item: (not item.is_new, -len(item.devices), -item.tests, item.signature.text))
    )


def _cluster(plan_id: str, signature: Signature, sources: dict[str, Source], failing: Sequence[Failing]) -> Cluster:
    unexpected = [item for item in failing if item.settled is None]
    blamed = _settled(len(sources), failing) if not unexpected else _blamed(sources, unexpected)
    spells = [spell for item in blamed.began for spell in item.spells] or [item.spell for item in unexpected or failing]
    spell = _narrowest(spells)
    return Cluster(
        signature=signature,
        plan_id=plan_id,
        cause=blamed.cause,
        reason=blamed.reason,
        devices=tuple(
            _device(plan_id, sources.get(name, Source(name)), [item for item in failing if item.device == name])
            for name in sorted({item.device for item in failing})
        ),
        since=spell.first_failed,
        commits=spell.commits if blamed.began else None,
        commits_url=spell.commits_url if blamed.began else None,
    )


def _device(plan_id: str, source: Source, failing: Sequence[Failing]) -> ClusterDevice:
    return ClusterDevice(
        device=source.device,
        is_reference=source.is_reference,
        tests=len(failing),
        new=sum(item.settled is None and item.spell.first_failed.plan_id == plan_id for item in failing),
        first=tuple(sorted(item.test_id for item in failing)[:NAMED]),
        plugin_changed=any_of(item.spell.plugin_changed for item in failing),
        since=min((item.spell.first_failed for item in failing), key=_when),
    )


def _settled(devices: int, failing: Sequence[Failing]) -> Blamed:
    cause = next(cause for cause in _SETTLED if any(item.settled is cause for item in failing))
    count = len({item.device for item in failing})
    which = f"all {count} devices" if count == devices > 1 else "one device" if count == 1 else f"{count} devices"
    return Blamed(cause, _SETTLED[cause].format(devices=which), ())


def _blamed(sources: dict[str, Source], unexpected: Sequence[Failing]) -> Blamed:
    """The cause that the last nightly shows on which it began, several plugins at once before one alone."""
    nights: dict[str, list[Failing]] = defaultdict(list)
    for item in unexpected:
        if item.spell.last_passed is not None:
            nights[item.spell.first_failed.plan_id].append(item)
    if not nights:
        return Blamed(Cause.UNKNOWN, "it has never passed, so nothing is known of how it began", ())
    began = [_began(sources, items) for items in nights.values()]
    last = max(began, key=lambda group: (plugins(group) > 1, _when(group[0].spells[0].first_failed)))
    return blame(last)


def _began(sources: dict[str, Source], failing: Sequence[Failing]) -> list[Began]:
    """How it began on one nightly, device by device."""
    devices = sorted({item.device for item in failing})
    return [
        Began(
            sources.get(name, Source(name)),
            tuple(item.spell for item in sorted(failing, key=lambda item: item.test_id) if item.device == name),
        )
        for name in devices
    ]


def _narrowest(spells: Sequence[Spell]) -> Spell:
    """Of the rows that began last the one that passed last, so that the fewest commits lie in between."""
    last = max((spell.first_failed for spell in spells), key=_when).plan_id
    began_last = [spell for spell in spells if spell.first_failed.plan_id == last]
    return max(began_last, key=lambda spell: (_when(spell.last_passed), _when(spell.first_failed)))


def _when(mark: Mark | None) -> tuple[object, ...]:
    if mark is None:
        return ()
    return mark.date, mark.plan_id, *(getattr(mark, name) or "" for name in _UNDER_TEST)


_UNDER_TEST = ("torch_version", "torch_commit", "plugin_version", "plugin_commit")
