"""How many commits there are in the ranges that the judge names."""

from __future__ import annotations

from collections.abc import Mapping

from ootci.history.nights import CommitCounts
from ootci.model.cluster import Cluster, ClusterDevice, Mark, Streak
from ootci.model.verdict import DeviceVerdict


class Counting:
    """Adds the numbers to what has ranges, as far as they are known.

    Args:
        pytorch: of PyTorch's commits.
        plugins: of each device's plugin's commits.

    """

    def __init__(self, pytorch: CommitCounts, plugins: Mapping[str, CommitCounts]) -> None:
        self._pytorch = pytorch
        self._plugins = plugins

    def device(self, verdict: DeviceVerdict) -> DeviceVerdict:
        """A verdict, with those of its streaks."""
        return verdict.model_copy(update={"streaks": tuple(map(self._streak, verdict.streaks))})

    def cluster(self, cluster: Cluster) -> Cluster:
        """A cluster, with those of its devices and events."""
        count = self._of_pytorch(cluster.last_passed, cluster.since) if cluster.commits else None
        devices, events = tuple(map(self._part, cluster.devices)), tuple(map(self.cluster, cluster.events))
        return cluster.model_copy(update={"commits_count": count, "devices": devices, "events": events})

    def _streak(self, streak: Streak) -> Streak:
        return streak.model_copy(update={"commits_count": self._of_pytorch(streak.last_passed, streak.first_failed)})

    def _part(self, part: ClusterDevice) -> ClusterDevice:
        before, counts = part.last_passed, self._plugins.get(part.device)
        count = counts.between(before.plugin_commit, part.since.plugin_commit) if before and counts else None
        return part.model_copy(update={"plugin_commits": count})

    def _of_pytorch(self, before: Mark | None, after: Mark) -> int | None:
        return self._pytorch.between(before.torch_commit, after.torch_commit) if before else None
