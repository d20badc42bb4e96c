"""What fails with the same error: a list of clusters, a page for each of them, and the box of the front page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from ootci.model.cluster import Cause, Cluster
from ootci.model.device import RegisteredDevice, Tier
from ootci.model.record import Time
from ootci.model.verdict import Verdicts

from ..card import UPSTREAM, Card, cluster_card, main_clusters
from ..links import cluster_path, device_path
from ..page_maker import PageMaker
from ..publish import File
from ..run_view import RunView
from ..search import Entry
from ..status import VERDICTS
from ..text import Excerpt, excerpt, one_line
from .past_errors import LATELY, Names
from .published import Published, api_file

SHOWN = 200
"""Clusters that have a row and a page; a night on which nothing works may have one for every test. Of the others those
have a page that a device's card or row links to.
"""
LOG_LIMIT = 4_000


class ClustersFile(Published):
    """clusters.json: the failures of the newest nightly, grouped by error."""

    judged_at: Time
    """The `now` that staleness was judged against."""
    plan_id: str | None
    """The newest nightly; null when there has been none."""
    clusters: tuple[Cluster, ...]
    """New ones first, then those of the most devices."""
    more: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many there are besides; absent where there are none."""


def _is_featured(cluster: Cluster) -> bool:
    return cluster.is_new or cluster.cause in UPSTREAM


class Clusters:
    """The clusters of the newest nightly as pages show them."""

    def __init__(self, registry: Sequence[RegisteredDevice], verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self._devices = {item.device.name: item for item in registry}
        self._judged = {item.device: item for item in verdicts.devices}
        self._controls = [
            VERDICTS[self._judged[name].verdict].word
            for name, item in self._devices.items()
            if item.device.tier is Tier.REFERENCE and name in self._judged
        ]
        # By device, and by test or stage: where its pages show what it reported, and the text.
        self._places: dict[str, dict[str, str]] = {}
        self._texts: dict[str, dict[str, Excerpt]] = {}
        self.main = main_clusters(verdicts)
        """By device, the cluster that its card and its row are about."""
        linked = {cluster.signature.id for cluster in self.main.values()}
        others = (cluster for cluster in verdicts.clusters[SHOWN:] if cluster.signature.id in linked)
        self._shown = (*verdicts.clusters[:SHOWN], *others)
        self._wanted = {one_line(name) for cluster in self._shown for part in cluster.devices for name in part.first}
        self.names = frozenset(name for cluster in self._shown for name in cluster.names)
        """The ids of the signatures that have a page."""

    @property
    def featured(self) -> list[Cluster]:
        """The failures that are new or probably PyTorch's, the latter first."""
        return sorted(filter(_is_featured, self._shown), key=lambda item: item.cause is not Cause.UPSTREAM)

    @property
    def more_featured(self) -> int:
        """How many of them have no page; all those count of which nothing is kept."""
        without = (item for item in self._verdicts.clusters if item.signature.id not in self.names)
        return sum(map(_is_featured, without)) + self._verdicts.more_clusters

    @cached_property
    def alike(self) -> Mapping[str, tuple[int, str | None]]:
        """By the signature's id, how many other devices fail so, and the cluster's page, from the top."""
        return {
            name: (len(item.devices) - 1, cluster_path(name) if name in self.names else None)
            for item in self._verdicts.clusters
            for name in item.names
        }

    def found(self) -> Iterator[Entry]:
        """Every cluster with a page, for the search."""
        for cluster in self._shown:
            yield Entry("error", one_line(cluster.text, 200), cluster_path(cluster.signature.id))

    def is_first_run(self, cluster: Cluster) -> bool:
        """Whether it is from first runs only, so that nobody knows since when it fails."""
        first = {name for name, item in self._judged.items() if item.is_first}
        return first.issuperset(part.device for part in cluster.devices)

    def control(self, cluster: Cluster) -> str | None:
        """The reference device's result for it; None where there is none."""
        if any(part.is_reference for part in cluster.devices):
            return "same error"
        return f"not seen on the reference device, which is {', '.join(self._controls)}" if self._controls else None

    def read(self, name: str, run: RunView | None) -> None:
        """Keep what a cluster's page takes from the newest run of a device."""
        path = device_path(name)
        places = self._places[name] = {}
        texts = self._texts[name] = {}
        if run is None:
            return
        for number, row in enumerate(run.failures, 1):
            test = row.outcome
            for test_id in (one_line(other.id) for other in (test, *row.alike)):
                if test_id in self._wanted:
                    places[test_id] = f"{path}#failure-{number}"
            if one_line(test.id) in self._wanted and (test.text or test.message):
                said = excerpt(test.text, row.limit) if test.text else Excerpt(one_line(test.message or "", 200))
                texts[one_line(test.id)] = said
        for stage in run.run.stages:
            if stage.name in self._wanted:
                places[stage.name] = f"{path}#stages"
                if stage.excerpt:
                    texts[stage.name] = excerpt(stage.excerpt, LOG_LIMIT)
                elif stage.reason:
                    texts[stage.name] = Excerpt(one_line(stage.reason))

    def pages(self, maker: PageMaker, gone: Names) -> Iterator[File]:
        """The list, its file, and a page for each listed cluster."""
        verdicts = self._verdicts
        file = ClustersFile(
            judged_at=verdicts.judged_at,
            plan_id=verdicts.plan_id,
            clusters=verdicts.clusters,
            more=verdicts.more_clusters,
        )
        yield maker.show("c/index.html", "clusters.html", page=file, shown_clusters=SHOWN, names=gone, lately=LATELY)
        yield api_file("clusters.json", file)
        for cluster in self._shown:
            said = (
                (part.device, test, self._texts[part.device][test])
                for part in cluster.devices
                for test in map(one_line, part.first)
                if test in self._texts.get(part.device, ())
            )
            values = {
                "page": cluster,
                "places": self._places,
                "runs": maker.runs,
                "evidence": next(said, None),
                "found": self._card(cluster, maker.canonical("")),
                "nights": gone.nights(cluster.signature.id),
            }
            for name in sorted(cluster.names):
                yield maker.show(cluster_path(name), "cluster.html", **values)

    def _card(self, cluster: Cluster, address: str | None) -> Card | None:
        """The card of a cluster; it reproduces the failure on the reference device where that has it, too."""
        known = [part for part in cluster.devices if part.device in self._devices]
        part = min(known, key=lambda part: not part.is_reference, default=None)
        if part is None:
            return None
        return cluster_card(cluster, part, self._devices[part.device], self._judged.get(part.device), address)
