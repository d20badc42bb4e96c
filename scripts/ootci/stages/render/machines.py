"""What programs read: the API, badges and feeds, made from the verdicts as the pages are."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ootci.history.parity import Parity
from ootci.history.tables import TestTable
from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.verdict import Verdicts

from .badge import badge, parity_badge, predicted_badge, support_badge, tests_releases
from .card import Card
from .feed import Entry, accuracy_entries, cluster_entries, feed, predicted_entries, verdict_entries
from .page_maker import PageMaker
from .pages.accuracy import OperatorRegression
from .pages.api import KINDS, api_schemas
from .pages.night_failure import NightFailure
from .pages.published import (
    API,
    API_VERSION,
    SCHEMA_VERSION,
    GateFile,
    IndexEntry,
    IndexFile,
    OfNewest,
    api_file,
)
from .pages.run_files import tests_files
from .pages.support import SupportCell
from .publish import File


@dataclass(frozen=True)
class News:
    """What feeds tell of broken devices.

    Attributes:
        cards: the card of each device's page.
        broke: by nightly, the failure that its page is about.
        plans: every nightly, oldest first.

    """

    cards: Mapping[str, Card | None]
    broke: Mapping[str, NightFailure]
    plans: Sequence[Plan]


def machine_files(
    maker: PageMaker,
    tests: TestTable,
    clusters: Container[str],
    parity: Mapping[str, Parity],
    support: Mapping[str, Sequence[SupportCell]],
    regressions: Mapping[str, Sequence[OperatorRegression]],
    news: News,
) -> Iterator[File]:
    """Every file that is made for programs.

    Args:
        tests: the tests of all devices; which of them ran where is in the files of runs, made with their pages.
        clusters: ids of the signatures that have a page.
        parity: how many of PyTorch's own tests pass, by device that runs them.
        support: what is known of each device on each torch, newest first.
        regressions: by nightly, the accuracy regressions that began on it.
        news: what feeds tell besides.

    """
    verdicts, pages = maker.verdicts, maker.runs
    devices = {item.device.name: item.device for item in maker.registry}
    entries = [
        *cluster_entries(verdicts.clusters, devices, clusters),
        *predicted_entries(verdicts.predicted, devices),
        *accuracy_entries(regressions, devices),
    ]
    for name, device in devices.items():
        badges = {name: badge(device, maker.judged[name])}
        forecast = verdicts.predicted.of(name) if verdicts.predicted is not None else None
        if forecast is not None:
            badges[f"{name}-predicted"] = predicted_badge(device, forecast)
        if name in parity:
            badges[f"{name}-parity"] = parity_badge(device, parity[name])
        if tests_releases(device):
            badges[f"{name}-support"] = support_badge(device, support[name])
        for file, shown in badges.items():
            yield maker.show(f"badge/{file}.svg", "badge.svg", badge=shown)
            yield f"badge/{file}.json", shown.endpoint()
        entries += verdict_entries(device, maker.judged[name], pages[name], news.cards[name], news.broke)
        yield _feed(maker, f"d/{name}/feed.xml", device, entries, news)
    yield _feed(maker, "feed.xml", None, entries, news)
    yield f"{API}/verdicts.json", f"{verdicts.model_dump_json()}\n".encode()
    found = GateFile(schema_version=verdicts.schema_version, **OfNewest.of(verdicts), **verdicts.gate.model_dump())
    path, gate = api_file("gate.json", found)
    yield path, gate
    # At the top, too, for programs that poll it.
    yield "gate.json", gate
    tables = dict(tests_files(tests))
    yield _index(verdicts.judged_at, devices, [path.removeprefix(f"{API}/") for path in tables])
    yield from tables.items()
    for kind, schema in api_schemas().items():
        yield f"{API}/schema/{kind}.json", schema.encode("utf-8")


def _index(judged_at: datetime, devices: Iterable[str], tests: Sequence[str]) -> File:
    files = []
    for kind in KINDS:
        if kind.about and kind.folder:
            folder, about = kind.folder, kind.about
            files += [_listed(f"{folder}/{name}.json", kind.name, about.format(name)) for name in devices]
        elif kind.about:
            files.append(_listed(f"{kind.name}.json", kind.name, kind.about))
    files += [_listed(path, "tests", "Which tests the rows are that files of runs name.") for path in tests]
    return api_file("index.json", IndexFile(api_version=API_VERSION, judged_at=judged_at, files=tuple(files)))


def _listed(path: str, kind: str, about: str) -> IndexEntry:
    version = Verdicts.VERSION if kind in ("verdicts", "gate") else SCHEMA_VERSION
    return IndexEntry(path=path, schema_path=f"schema/{kind}.json", schema_version=version, about=about)


def _feed(maker: PageMaker, path: str, device: Device | None, entries: Sequence[Entry], news: News) -> File:
    made = feed(device, entries, maker.verdicts.judged_at, news.plans, maker.canonical(""))
    return maker.show(path, "feed.xml", **made, path=path)
