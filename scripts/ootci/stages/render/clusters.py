"""What fails alike: a list of clusters, a page for each of them, and the box of the front page."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ootci.model.cluster import Cause, Cluster, ClusterDevice
from ootci.model.device import RegisteredDevice, Tier
from ootci.model.verdict import DeviceVerdict, Verdicts

from .device_view import DevicePage
from .links import cluster_path, device_path, web_address
from .listed import ListedTest, NamedDevice
from .spells import Alike
from .status import CAUSES, VERDICTS, Status
from .text import Excerpt, excerpt, one_line
from .words import changed, day

SHOWN = 200
"""Clusters that have a row and a page; a night on which nothing works may have one for every test."""
FRONT = 3
NAMED = 4
"""Devices that a row names; the others are counted."""
EVIDENCE_LIMIT = 8_000


@dataclass(frozen=True)
class ClusterRow:
    """One cluster in a list.

    Attributes:
        page: its page's address from the top.
        text: what failed.
        cause: whose it probably is.
        reason: why.
        is_new: whether any of it began on the newest nightly, on a device that had reported before.
        is_first: whether it is from first runs only, so that nobody knows since when it fails.
        devices: how many devices fail so.
        named: the first of them.
        tests: how many of their tests and stages.
        plugin_changed: of a single device, whether its plugin changed when it began; None where there are several.
        since: the day on which it began.
        commits: PyTorch's commits that it can come from.
        commits_href: the page that lists them.
        control: what the reference device says to it; None where there is none.

    """

    page: str
    text: str
    cause: Status
    reason: str
    is_new: bool
    is_first: bool
    devices: int
    named: tuple[NamedDevice, ...]
    tests: int
    plugin_changed: str | None
    since: str
    commits: str | None
    commits_href: str | None
    control: str | None


@dataclass(frozen=True)
class PartRow:
    """One device's part in a cluster; ``since_href`` is the page of the run in which it began, where there is one."""

    device: NamedDevice
    is_reference: bool
    tests: int
    new: int
    plugin_changed: str
    since: str
    last_passed: str | None
    since_href: str | None
    torch: str | None
    shown: tuple[ListedTest, ...]

    @property
    def more(self) -> int:
        """Tests that are not named."""
        return self.tests - len(self.shown)


@dataclass(frozen=True)
class Evidence:
    """What one device reported of one of the tests."""

    device: NamedDevice
    test: str
    text: Excerpt


@dataclass(frozen=True)
class ClusterPage:
    """Everything that a cluster's page shows; ``name`` is the id of its signature, ``also`` has other addresses."""

    name: str
    also: tuple[str, ...]
    row: ClusterRow
    parts: tuple[PartRow, ...]
    evidence: Evidence | None


@dataclass(frozen=True)
class ClusterList:
    """Clusters in the judge's order, and how many more there are."""

    rows: tuple[ClusterRow, ...]
    more: int
    total: int

    @property
    def heading(self) -> str:
        """What they have in common, above the box of the front page."""
        if any(row.devices > 1 for row in self.rows):
            return "Broke together"
        return "Failing since the first run" if all(row.is_first for row in self.rows) else "Newly broken"


@dataclass(frozen=True)
class Reported:
    """Where one device's pages show what it reported, by the id of the test or the name of the stage.

    Attributes:
        places: addresses from the top.
        texts: what was said, of those that a cluster names.
        runs: addresses from the top of the pages of its runs, by nightly.

    """

    places: Mapping[str, str]
    texts: Mapping[str, Excerpt]
    runs: Mapping[str, str]


class Clusters:
    """The clusters of the newest nightly as pages show them.

    Args:
        registry: every registered device.
        verdicts: what the judge found.
        place: where the nights of a test are shown, as an address from the top.

    """

    def __init__(
        self, registry: Sequence[RegisteredDevice], verdicts: Verdicts, place: Callable[[str], str | None]
    ) -> None:
        self._place = place
        self._registry = {item.device.name: item.device for item in registry}
        found = {item.device: VERDICTS[item.verdict].word for item in verdicts.devices}
        self._controls = [
            found[item.device.name]
            for item in registry
            if item.device.tier is Tier.REFERENCE and item.device.name in found
        ]
        self._first = {item.device for item in verdicts.devices if item.is_first}
        self._clusters = verdicts.clusters
        self._shown = verdicts.clusters[:SHOWN]
        self._rows = {cluster.signature.id: self._row(cluster) for cluster in self._shown}
        self._wanted = {one_line(name) for cluster in self._shown for part in cluster.devices for name in part.first}

    @property
    def listed(self) -> ClusterList:
        """All that have a page."""
        rows = tuple(self._rows.values())
        return ClusterList(rows, len(self._clusters) - len(rows), len(self._clusters))

    @property
    def together(self) -> ClusterList:
        """What is new and what upstream still owes an answer, what is probably upstream first."""
        chosen = [item for item in self._shown if item.is_new or item.cause in _UPSTREAM]
        chosen.sort(key=lambda item: item.cause is not Cause.UPSTREAM)
        rows = tuple(self._rows[item.signature.id] for item in chosen[:FRONT])
        return ClusterList(rows, len(chosen) - len(rows), len(chosen))

    @cached_property
    def alike(self) -> Mapping[str, Alike]:
        """Every cluster as one of its devices sees it, by the signature's id."""
        return {
            item.signature.id: Alike(
                len(item.devices) - 1, self._rows[item.signature.id].page if item.signature.id in self._rows else None
            )
            for item in self._clusters
        }

    @property
    def names(self) -> Container[str]:
        """The ids of the signatures that have a page, which a cluster with several has under each of them."""
        return frozenset(name for cluster in self._shown for name in cluster.names)

    def of_stage(self, verdict: DeviceVerdict) -> Alike | None:
        """The cluster of the stage at which a device broke; None where tests failed, or nothing."""
        if verdict.broke_at is None:
            return None
        broke = (verdict.device, verdict.broke_at)
        return next(
            (
                self.alike[cluster.signature.id]
                for cluster in self._clusters
                if any((part.device, name) == broke for part in cluster.devices for name in part.first)
            ),
            None,
        )

    def reported(self, page: DevicePage, runs: Mapping[str, str]) -> Reported:
        """What a cluster's page takes from a device's page; ``runs`` has where its runs' pages lie, by nightly."""
        path = device_path(page.device.name)
        places: dict[str, str] = {}
        texts: dict[str, Excerpt] = {}
        if page.run is not None:
            for number, row in enumerate(page.run.failures, 1):
                for test_id in (row.id, *(other.id for other in row.alike)):
                    if test_id in self._wanted:
                        places[test_id] = f"{path}#failure-{number}"
                if row.id in self._wanted and (row.text or row.message):
                    texts[row.id] = row.text or excerpt(row.message or "", EVIDENCE_LIMIT)
            for stage in page.run.stages:
                if stage.name in self._wanted:
                    places[stage.name] = f"{path}#stages"
                    if stage.log or stage.reason:
                        texts[stage.name] = stage.log or excerpt(stage.reason or "", EVIDENCE_LIMIT)
        return Reported(places, texts, runs)

    def pages(self, reported: Mapping[str, Reported]) -> tuple[ClusterPage, ...]:
        """A page for each cluster that is listed; ``reported`` is by device."""
        return tuple(self._page(cluster, reported) for cluster in self._shown)

    def _page(self, cluster: Cluster, reported: Mapping[str, Reported]) -> ClusterPage:
        parts = tuple(self._part(part, reported.get(part.device, _NOTHING)) for part in cluster.devices)
        evidence = next(
            (
                Evidence(row.device, test.id, reported[row.device.name].texts[test.id])
                for row in parts
                for test in row.shown
                if row.device.name in reported and test.id in reported[row.device.name].texts
            ),
            None,
        )
        also = tuple(cluster_path(other.id) for other in cluster.also)
        return ClusterPage(cluster.signature.id, also, self._rows[cluster.signature.id], parts, evidence)

    def _part(self, part: ClusterDevice, reported: Reported) -> PartRow:
        names = ((one_line(name), self._place(name)) for name in part.first)
        return PartRow(
            device=self._device(part.device),
            is_reference=part.is_reference,
            tests=part.tests,
            new=part.new,
            plugin_changed=changed(part.plugin_changed),
            since=day(part.since.date),
            last_passed=day(part.last_passed.date) if part.last_passed else None,
            since_href=reported.runs.get(part.since.plan_id),
            torch=one_line(part.since.torch_version, 60) if part.since.torch_version else None,
            shown=tuple(ListedTest(name, reported.places.get(name), nights) for name, nights in names),
        )

    def _row(self, cluster: Cluster) -> ClusterRow:
        alone = cluster.devices[0] if len(cluster.devices) == 1 else None
        is_first = all(part.device in self._first for part in cluster.devices)
        return ClusterRow(
            page=cluster_path(cluster.signature.id),
            text=one_line(cluster.signature.text, 200),
            cause=CAUSES[cluster.cause],
            reason=one_line(cluster.reason),
            is_new=cluster.is_new and not is_first,
            is_first=is_first,
            devices=len(cluster.devices),
            named=tuple(self._device(part.device) for part in cluster.devices[:NAMED]),
            tests=cluster.tests,
            plugin_changed=changed(alone.plugin_changed) if alone else None,
            since=day(cluster.since.date),
            commits=one_line(cluster.commits, 60) if cluster.commits else None,
            commits_href=web_address(cluster.commits_url),
            control=self._control(cluster),
        )

    def _control(self, cluster: Cluster) -> str | None:
        if any(part.is_reference for part in cluster.devices):
            return "the control fails alike"
        return f"not on the control, which is {', '.join(self._controls)}" if self._controls else None

    def _device(self, name: str) -> NamedDevice:
        device = self._registry.get(name)
        shown = one_line(device.display_name if device else name, 60)
        return NamedDevice(name, shown, device_path(name) if device else None)


_UPSTREAM = (Cause.UPSTREAM, Cause.SUSPECTED_UPSTREAM)
_NOTHING = Reported({}, {}, {})
