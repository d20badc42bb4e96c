"""Atom feeds: an entry for each change of a verdict, new failures, predicted breaks, and accuracy regressions.

An entry's id is made of the site's address, of what happened, to which device and on which nightly, and of nothing
else: rendering again never changes it. Links are absolute where the site's address is known, else relative to the feed.

Source: RFC 4287 (Atom), RFC 4151 (tag URIs), RFC 2606 (the name ``invalid``, which nobody can own).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timezone
from hashlib import sha256
from itertools import pairwise
from urllib.parse import quote, urlsplit

from ootci.model.cluster import Cause, Cluster, ClusterDevice
from ootci.model.compat import Predicted
from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.verdict import BROKEN, FAILING, NEW_FAILURES, DeviceVerdict, VerdictName
from ootci.model.words import many

from .card import Card
from .links import cluster_path, device_path, folder_name
from .pages.accuracy import OperatorRegression
from .pages.night_failure import NightFailure
from .status import VERDICTS
from .text import one_line
from .words import commit_count, day, ulp_words

UNKNOWN_HOST = "pytorch-integration-tests.invalid"
NIGHTS = 30
"""Entries of the newest nightlies are kept."""
NAMED = 3
"""Devices that a title names."""

_EXPECTED = frozenset({Cause.KNOWN, Cause.CORE_DEFECT})
"""Failures that the vendor or the reference device already explains: no news."""


@dataclass(frozen=True)
class Entry:
    """One thing that happened.

    Attributes:
        id: what it is, unique on this site.
        updated: when it happened, as far as the verdicts say.
        href: the page about it, relative to the site.
        devices: whose feeds have it.
        failure: the card of the device's page, or what broke on that nightly; None where nothing more is known.
        failing: ids of the failing tests, new ones only where there are any.

    """

    id: str
    updated: datetime
    title: str
    text: str
    href: str
    devices: frozenset[str]
    failure: Card | NightFailure | None = None
    failing: tuple[str, ...] = ()


def tag(address: str | None) -> str:
    """The beginning of the ids of a site's entries: no two sites share one."""
    place = urlsplit(address or "")
    return f"tag:{place.hostname or UNKNOWN_HOST},2026:{quote(place.path.lstrip('/'))}"


def feed(
    device: Device | None, entries: Sequence[Entry], built: datetime, plans: Sequence[Plan], address: str | None
) -> dict[str, object]:
    """What the feed of a device, or of all, shows.

    Args:
        built: its time as long as nothing has happened.
        plans: every nightly, oldest first.
        address: where the site is published, if that is known.

    """
    since = plans[-NIGHTS:][0].created_at if plans else built
    chosen = [entry for entry in entries if entry.updated >= since and (device is None or device.name in entry.devices)]
    chosen.sort(key=lambda entry: (entry.updated, entry.id), reverse=True)
    return {
        "tag": tag(address),
        "id": f"feed/{device.name}" if device else "feed",
        "title": f"{one_line(device.display_name, 60) if device else 'All devices'} · PyTorch integration tests",
        "updated": chosen[0].updated if chosen else built,
        "entries": chosen,
    }


def verdict_entries(
    device: Device,
    verdict: DeviceVerdict,
    pages: Mapping[str, str],
    card: Card | None = None,
    broke: Mapping[str, NightFailure] | None = None,
) -> Iterator[Entry]:
    """Each night with another verdict than the night before.

    Args:
        pages: the addresses of runs, by nightly.
        card: the card of the device's page.
        broke: by nightly, the failure that its page is about.

    """
    last = verdict.history[-1] if verdict.history else None
    turns = [turn for turn in pairwise(verdict.history) if turn[0].verdict is not turn[1].verdict]
    for before, night in turns:
        in_force = night is turns[-1][1] and night.verdict is verdict.verdict
        past = (broke or {}).get(night.plan_id) if night.verdict in BROKEN else None
        of_card = card if in_force else None
        yield _turn(
            device,
            (before.verdict, night.verdict),
            night.plan_id,
            night.date,
            f"Nightly {one_line(night.plan_id, 80)}. " + (_in_force(verdict, night.date) if in_force else ""),
            pages.get(night.plan_id),
            of_card or (past if past and past.device == device.name else None),
            _failing(verdict) if of_card else (),
        )
    if last is not None and last.verdict is not verdict.verdict:
        # Paused, or silent for too long: that happened after the newest night, and no night tells of it.
        text = f"Since nightly {one_line(last.plan_id, 80)}. {one_line(verdict.reason)}"
        turn = (last.verdict, verdict.verdict)
        yield _turn(device, turn, last.plan_id, verdict.since or last.date, text, None)


def _in_force(verdict: DeviceVerdict, date: datetime) -> str:
    older = verdict.broken_since is not None and verdict.broken_since < date
    return one_line(verdict.reason) + (f". Broken since {day(verdict.since)}" if older and verdict.since else "")


def _failing(verdict: DeviceVerdict) -> tuple[str, ...]:
    """A device's new failures that are not known; where none is new, all failures that are not."""
    failing = [change for change in verdict.changes if change.change in FAILING and not change.known]
    new = [change.id for change in failing if change.change in NEW_FAILURES]
    return tuple(new or (change.id for change in failing))


def _turn(
    device: Device,
    turn: tuple[VerdictName, VerdictName],
    plan_id: str,
    at: datetime,
    text: str,
    page: str | None,
    failure: Card | NightFailure | None = None,
    failing: tuple[str, ...] = (),
) -> Entry:
    before, after = turn
    return Entry(
        id=f"verdict/{device.name}/{folder_name(plan_id)}/{after.value}",
        updated=at,
        title=f"{one_line(device.display_name, 60)}: {VERDICTS[before].word} → {VERDICTS[after].word}",
        text=text.strip(),
        href=page or device_path(device.name),
        devices=frozenset({device.name}),
        failure=failure,
        failing=failing,
    )


def cluster_entries(
    clusters: Sequence[Cluster], devices: Mapping[str, Device], shown: Container[str]
) -> Iterator[Entry]:
    """Each night on which failures began that still fail with the same error; those that somebody expects are left out.

    Only what fails on the newest nightly has a cluster, so that an entry goes when its failures do. The signatures
    whose ids are ``shown`` have a page, which stays when the failures go.
    """
    for cluster in clusters:
        name = cluster.signature.id
        began: dict[str, list[ClusterDevice]] = {}
        for item in cluster.devices if cluster.cause not in _EXPECTED else ():
            if item.device in devices:
                began.setdefault(item.since.plan_id, []).append(item)
        for plan_id, items in began.items():
            text = f"Since nightly {one_line(plan_id, 80)}. {one_line(cluster.reason)}"
            if cluster.commits is not None and cluster.since.plan_id == plan_id:
                text += f". {_in_between(cluster.commits, cluster.commits_count)}"
            yield Entry(
                id=f"failure/{folder_name(name)}/{folder_name(plan_id)}",
                updated=items[0].since.date,
                title=f"New failure of {_names([item.device for item in items], devices)}: {one_line(cluster.text)}",
                text=text,
                href=cluster_path(name) if name in shown else device_path(items[0].device),
                devices=frozenset(item.device for item in items),
            )


def _in_between(commits: str, count: int | None) -> str:
    return f"PyTorch's commits in between: {one_line(commits, 100)}{commit_count(count)}"


def predicted_entries(predicted: Predicted | None, devices: Mapping[str, Device]) -> Iterator[Entry]:
    """Each predicted break that still is; as with failures, an entry goes when its break does."""
    for item in predicted.breaks if predicted is not None else ():
        names = [name for name in item.devices if name in devices]
        if not names:
            continue
        first = item.parts[0]
        more = f" and {many(item.count - 1, 'other part')}" if item.count > 1 else ""
        text = f"Predicted, not tested. Broken since nightly {one_line(item.since.plan_id, 80)}."
        if item.commits is not None:
            text += f" {_in_between(item.commits, item.commits_count)}"
        yield Entry(
            id=f"predicted/{folder_name(item.since.plan_id)}/{sha256(first.name.encode()).hexdigest()[:12]}",
            updated=item.since.date,
            title=f"Predicted break of {_names(names, devices)}: {one_line(first.text, 200)}{more}",
            text=text,
            href="compat/index.html",
            devices=frozenset(names),
        )


def accuracy_entries(
    regressions: Mapping[str, Sequence[OperatorRegression]], devices: Mapping[str, Device]
) -> Iterator[Entry]:
    """Each nightly on which accuracy regressions began that last; an entry goes when they are over."""
    for plan_id, errors in regressions.items():
        first, on = errors[0], errors[0].devices[0]
        names = sorted({item.device for error in errors for item in error.devices})
        more = f" and {many(len(errors) - 1, 'other')}" if len(errors) > 1 else ""
        noun = "Accuracy regressions" if len(errors) > 1 else "Accuracy regression"
        yield Entry(
            id=f"accuracy/{folder_name(plan_id)}",
            updated=datetime.combine(on.regression.since, time(), timezone.utc),
            title=f"{noun} on {_names(names, devices)}: {first.operator} {first.dtype}{more}",
            text=f"Since nightly {one_line(plan_id, 80)}. On {_names([on.device], devices)} the largest error of "
            f"{first.operator} grew from {ulp_words(on.regression.before)} to {ulp_words(on.largest)} ulp.",
            href="accuracy/index.html",
            devices=frozenset(names),
        )


def _names(chosen: Sequence[str], devices: Mapping[str, Device]) -> str:
    names = [one_line(devices[name].display_name, 60) for name in chosen]
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
