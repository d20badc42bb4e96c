"""What broke on a nightly: on which devices, since when, with which error, and how to reproduce it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ootci.history.nights import CommitCounts
from ootci.model.cluster import Mark
from ootci.model.device import Device, RegisteredDevice, Tier
from ootci.model.record import Record
from ootci.model.run import Run
from ootci.model.torch_build import commits_between, full_commit, short_range
from ootci.model.verdict import AS_EXPECTED, DeviceVerdict, Night, Verdicts

from ..card import CommitRange, plugin_range
from ..commands import commands
from ..nights import broken_streaks
from ..text import one_line
from .past_errors import Names, NewError

if TYPE_CHECKING:
    from .nightlies import NightReport


class BrokenStreak(Record):
    """The broken streak of a device that a night belongs to: when it began, and what had changed."""

    first_bad: Mark
    """The first night of its broken streak."""
    last_good: Mark | None
    """The last night before on which it was as expected; null where none is known."""
    pytorch: CommitRange | None
    """What changed of PyTorch between these nights; null where nothing is known to have changed."""
    plugin: CommitRange | None
    """What changed of its plugin between these nights; null where nothing is known to have changed."""


class NightFailure(BrokenStreak):
    """What broke on a nightly."""

    is_new: bool
    """Whether the devices broke on this nightly; if not, they had been broken before, and no other broke."""
    devices: tuple[str, ...]
    """Names of the devices, in registry order."""
    error: NewError | None
    """The error that most of them had; null where none is known."""
    device: str
    """The device that the streak and the commands are about: the reference device if it had the error."""
    commands: tuple[str, ...]
    """What reproduces it, in a checkout of the repository that has its device file, on its machine."""


def night_failures(
    registry: Sequence[RegisteredDevice],
    verdicts: Verdicts,
    reports: Mapping[str, Mapping[str, NightReport]],
    names: Names,
    counts: CommitCounts,
) -> Mapping[str, NightFailure]:
    """By nightly, what broke on it; nightlies on which no device was broken are left out.

    Args:
        reports: by device and nightly, what was reported.
        names: the names of all failures.
        counts: of PyTorch's commits.

    """
    streaks: dict[str, dict[str, tuple[Night, Night | None]]] = {}
    for device in verdicts.devices:
        for plan_id, ends in streaks_of(device).items():
            streaks.setdefault(plan_id, {})[device.device] = ends
    chosen: dict[str, tuple[bool, list[str]]] = {}
    for plan_id, found in streaks.items():
        broken = [item.device.name for item in registry if item.device.name in found]
        new = [name for name in broken if found[name][0].plan_id == plan_id]
        if broken:
            chosen[plan_id] = bool(new), new or broken
    errors = names.main_errors(
        {
            plan_id: {name: streaks[plan_id][name][0].plan_id for name in broken}
            for plan_id, (_, broken) in chosen.items()
        }
    )
    devices = {item.device.name: item for item in registry}
    of_plugins = {name: plugin_counts(reports.get(name, {})) for name in devices}
    failures = {}
    for plan_id, (is_new, broken) in chosen.items():
        error, failed = errors.get(plan_id, (None, {}))
        name = min(
            failed or broken, key=lambda name: (devices[name].device.tier is not Tier.REFERENCE, broken.index(name))
        )
        told = reports.get(name, {})
        tests = failed[name].first if failed else ()
        failures[plan_id] = NightFailure(
            is_new=is_new,
            devices=tuple(broken),
            error=error,
            device=name,
            **dict(streak(devices[name].device, streaks[plan_id][name], told, counts, of_plugins[name])),
            commands=commands(devices[name], told.get(plan_id), tests),
        )
    return failures


def streak(
    device: Device,
    ends: tuple[Night, Night | None],
    told: Mapping[str, NightReport | Run],
    counts: CommitCounts,
    of_plugin: CommitCounts,
) -> BrokenStreak:
    """What is known of a broken streak.

    Args:
        ends: its first night, and the last good night before that.
        told: by nightly, what the device reported.
        counts: of PyTorch's commits.
        of_plugin: of the plugin's.

    """
    first, good = ends
    bad, last_good = _mark(first, told), _mark(good, told) if good else None
    builds = [told[night.plan_id].torch if night and night.plan_id in told else None for night in (good, first)]
    pytorch = short_range(*builds)
    torch, plugin = (last_good.torch_commit, last_good.plugin_commit) if last_good else (None, None)
    new = counts.between(torch, bad.torch_commit)
    return BrokenStreak(
        first_bad=bad,
        last_good=last_good,
        pytorch=CommitRange(text=pytorch, address=commits_between(*builds), count=new) if pytorch else None,
        plugin=plugin_range(device, last_good, bad, of_plugin.between(plugin, bad.plugin_commit)),
    )


def plugin_counts(told: Mapping[str, NightReport | Run]) -> CommitCounts:
    """The numbers of a plugin's commits, of what its device reported."""
    return CommitCounts(report.plugin.new_commits for report in told.values() if report.plugin)


def streaks_of(device: DeviceVerdict) -> Mapping[str, tuple[Night, Night | None]]:
    """Of each broken night of a device, the first night of its streak and the last good night before that."""
    good: dict[str, Night | None] = {}
    last = None
    for night in device.history:
        good[night.plan_id] = last
        last = night if night.verdict in AS_EXPECTED and not night.fallback else last
    return {night.plan_id: (first, good[first.plan_id]) for night, first in broken_streaks(device.history)}


def _mark(night: Night, told: Mapping[str, NightReport | Run]) -> Mark:
    """A night of a device; its versions come from a device run, so they are cut."""
    torch = told[night.plan_id].torch if night.plan_id in told else None
    plugin = told[night.plan_id].plugin if night.plan_id in told else None
    return Mark(
        plan_id=night.plan_id,
        date=night.date,
        torch_version=_cut(torch.version if torch else None),
        torch_commit=full_commit(torch.source if torch else None),
        plugin_version=_cut(plugin.version if plugin else None),
        plugin_commit=_cut(plugin.commit if plugin else None),
        plugin_sources=plugin.sources_sha256 if plugin else None,
    )


def _cut(version: str | None) -> str | None:
    return one_line(version, 60) if version else None
