"""The card of a failure: what broke, since when, whose it is, and how to reproduce it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlencode

from pydantic import Field

from ootci.model.cluster import EXCUSED, Cause, Cluster, ClusterDevice, Mark
from ootci.model.device import Device, RegisteredDevice
from ootci.model.outcome import FAILURES
from ootci.model.record import Record
from ootci.model.run import Run
from ootci.model.verdict import BROKEN, DeviceVerdict, VerdictName, Verdicts
from ootci.model.words import many

from .commands import Tested, commands, is_ours
from .links import cluster_path, web_address
from .status import VERDICTS
from .text import one_line
from .words import day

NEW_ISSUE = "https://github.com/pytorch/pytorch/issues/new"
TITLE_LIMIT = 120
UPSTREAM = (Cause.UPSTREAM, Cause.SUSPECTED_UPSTREAM)
ISSUE_DEVICES = 10
"""Devices that the text of a new issue names: it travels in an address, and servers refuse long ones."""
_ISSUES = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/issues/?")
_SOURCE = re.compile(r"(https://github\.com/[\w.-]+/[\w.-]+?)(\.git)?/?")


class CommitRange(Record):
    """What changed of PyTorch or of a plugin between the last good night and the first bad one."""

    text: str
    """Its commits or versions."""
    address: str | None
    """Where the commits are listed; null where that is not known."""
    count: Annotated[int | None, Field(exclude_if=lambda count: count is None)] = None
    """How many commits there are; absent where it is not known."""


class Card(Record):
    """What a person has to know of a broken device before anything else."""

    headline: str
    """What broke, in a few words."""
    retried: str | None
    """The outcome of the new failures on retry; null where none was retried."""
    cluster: Cluster | None
    """The failures that it is a part of; null where nothing tells."""
    part: ClusterDevice | None
    """Those of the device that reproduces it."""
    first_bad: Mark | None
    """The first night of those failures."""
    plugin: CommitRange | None
    """What changed of the plugin before it; null where nothing did, or it is not known."""
    commands: tuple[str, ...]
    """What reproduces it, in a checkout of the repository that has the device file."""
    bisect: str | None
    """The command that finds the first bad nightly; null where no test of ours shows it."""
    issue: str | None
    """An address that opens an issue with the text filled in; null where nobody is named."""
    receiver: str
    """The receiver of that issue: PyTorch or the vendor."""

    @property
    def pytorch(self) -> CommitRange | None:
        """What changed of PyTorch; None where nothing is known to have changed."""
        if self.cluster is None or not self.cluster.commits:
            return None
        return CommitRange(
            text=one_line(self.cluster.commits, 60),
            address=web_address(self.cluster.commits_url),
            count=self.cluster.commits_count,
        )


def card(
    item: RegisteredDevice, verdict: DeviceVerdict, run: Run | None, cluster: Cluster | None, address: str | None
) -> Card | None:
    """The card of a device; None where it is not broken.

    Args:
        run: the run that the verdict was derived from.
        cluster: the failures that most of it is part of.
        address: where the site is published, if that is known.

    """
    if verdict.verdict not in BROKEN:
        return None
    device = item.device
    part = next((part for part in cluster.devices if part.device == device.name), None) if cluster else None
    return Card(
        headline=_headline(verdict),
        retried=_retried(run) if run else None,
        cluster=cluster,
        part=part,
        first_bad=part.since if part else None,
        plugin=_plugin(device, part) if part else None,
        commands=commands(item, verdict, part.first if part else ()),
        bisect=bisect_command((part,)) if part else None,
        issue=_issue(device, cluster, address) if cluster else None,
        receiver="PyTorch" if cluster is None or cluster.cause in UPSTREAM else "the vendor",
    )


def cluster_card(
    cluster: Cluster,
    part: ClusterDevice,
    item: RegisteredDevice,
    tested: Tested | None,
    address: str | None,
) -> Card:
    """The card of failures with the same error.

    Args:
        part: those of the device that is easiest to have.
        tested: the torch and the plugin on it.
        address: where the site is published, if that is known.

    """
    return Card(
        headline=f"{many(cluster.tests, 'failure')} on {many(len(cluster.devices), 'device')}",
        retried=None,
        cluster=cluster,
        part=part,
        first_bad=cluster.since,
        plugin=_plugin(item.device, part),
        commands=commands(item, tested, part.first),
        bisect=bisect_command((part,)),
        issue=_issue(item.device, cluster, address),
        receiver="PyTorch" if cluster.cause in UPSTREAM else "the vendor",
    )


def bisect_command(parts: Iterable[ClusterDevice]) -> str | None:
    """The command that finds the nightly on which the first test of ours began to fail; None where there is none."""
    for part in parts:
        for test in part.first:
            if part.last_passed is not None and is_ours(test):
                return f"ootci bisect {shlex.quote(part.device)} {shlex.quote(one_line(test))}"
    return None


def pytorch_issue(cluster: Cluster, address: str | None) -> str | None:
    """The address that opens an issue at PyTorch with the text filled in; None where PyTorch is not suspected."""
    return f"{NEW_ISSUE}?{_text_of_issue(cluster, address)}" if cluster.cause in UPSTREAM else None


def _issue(device: Device, cluster: Cluster, address: str | None) -> str | None:
    """Where an issue is opened: at PyTorch, or where the vendor takes them; the text is filled in on GitHub."""
    if cluster.cause in UPSTREAM:
        return pytorch_issue(cluster, address)
    place = web_address(device.links.issues)
    if place is not None and _ISSUES.fullmatch(place):
        return f"{place.rstrip('/')}/new?{_text_of_issue(cluster, address)}"
    return place


def _text_of_issue(cluster: Cluster, address: str | None) -> str:
    text = one_line(cluster.text, TITLE_LIMIT)
    devices = ", ".join(one_line(part.device, 60) for part in cluster.devices[:ISSUE_DEVICES])
    if len(cluster.devices) > ISSUE_DEVICES:
        devices += f" and {len(cluster.devices) - ISSUE_DEVICES} more"
    lines = [
        f"Out-of-tree devices with the same error since {day(cluster.since.date)}: {devices}.",
        f"Error: `{text}`",
        f"Commits: {one_line(cluster.commits, 60)}" if cluster.commits else "Commits: not known",
        one_line(cluster.reason),
    ]
    lines += [f"Evidence: {address}{cluster_path(cluster.signature.id)}"] if address else []
    return urlencode({"title": text, "body": "\n".join(lines)})


def _headline(verdict: DeviceVerdict) -> str:
    if verdict.new_failures and verdict.is_first:
        return f"{many(verdict.new_failures, 'failure')} since the first run"
    if verdict.new_failures:
        return many(verdict.new_failures, "new failure")
    return f"Stage: {verdict.broke_at}" if verdict.broke_at else VERDICTS[verdict.verdict].word.capitalize()


def _retried(run: Run) -> str | None:
    """The outcome of the failing tests that were retried."""
    tried = [item for item in run.outcomes if item.outcome in FAILURES and item.attempts]
    if not tried:
        return None
    failed = sum(item.attempts[-1].outcome in FAILURES for item in tried)
    return f"{failed} of {len(tried)} failed again when run alone"


def _plugin(device: Device, part: ClusterDevice) -> CommitRange | None:
    return plugin_range(device, part.last_passed, part.since, part.plugin_commits) if part.plugin_changed else None


def plugin_range(device: Device, before: Mark | None, after: Mark, count: int | None) -> CommitRange | None:
    """The plugin's commits, or its versions, between two nights; None where unchanged.

    Args:
        count: how many commits there are, where it is known.

    """
    if before is None or (before.plugin_sources and before.plugin_sources == after.plugin_sources):
        return None
    if before.plugin_commit and after.plugin_commit and before.plugin_commit != after.plugin_commit:
        ends = [one_line(commit, 60) for commit in (before.plugin_commit, after.plugin_commit)]
        source = _SOURCE.fullmatch(device.plugin.git.url) if device.plugin.git else None
        href = web_address(f"{source[1]}/compare/{ends[0]}...{ends[1]}") if source else None
        return CommitRange(text="...".join(end[:7] for end in ends), address=href, count=count)
    if before.plugin_version and after.plugin_version and before.plugin_version != after.plugin_version:
        versions = (one_line(version, 40) for version in (before.plugin_version, after.plugin_version))
        return CommitRange(text=" to ".join(versions), address=None)
    return None


def main_clusters(verdicts: Verdicts) -> dict[str, Cluster]:
    """The cluster with most of what is new on each device, else with most of what breaks it, by device."""
    found: dict[str, tuple[tuple[int, int], Cluster]] = {}
    # Lost tests are in no cluster, but a suite that ended early is in one.
    lost = {item.device: item.broke_at for item in verdicts.devices if item.verdict is VerdictName.LOST_TESTS}
    for cluster in verdicts.clusters:
        for part in cluster.devices if cluster.cause not in EXCUSED else ():
            size = (part.new, part.tests)
            tells = part.device not in lost or lost[part.device] in part.first
            if tells and (part.device not in found or size > found[part.device][0]):
                found[part.device] = (size, cluster)
    return {device: cluster for device, (_, cluster) in found.items()}
