"""Predicted breaks of the newest nightly: since when each part is missing, and which plugins need it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ootci.history.nights import CommitCounts, mark_of
from ootci.history.store import History
from ootci.model.cluster import Mark
from ootci.model.compat import (
    OF_PYTORCH,
    Compat,
    DevicePrediction,
    Finding,
    FindingKind,
    Forecast,
    MissingPart,
    Parts,
    Predicted,
    PredictedBreak,
    Prediction,
)
from ootci.model.plan import Plan
from ootci.model.torch_build import TorchBuild, commits_between, short_range
from ootci.model.verdict import DeviceVerdict, VerdictName

NIGHTS = 90
"""How many nightlies' predictions are looked at."""
EXPORTS = 400
"""How many nightlies' changes of PyTorch's exports are looked at: more than a year."""
FINDINGS = 50
"""Findings that verdicts.json has of each device and torch, and parts of each break; the others are counted."""
BREAKS = 200
"""Breaks that verdicts.json has; the others are counted."""
_SHARED = OF_PYTORCH | {FindingKind.COMPILE_ERROR}
"""What several plugins may lack, or fail with, by one change of PyTorch."""
_Key = tuple[FindingKind, str]
_Range = tuple[Mark, TorchBuild | None]
"""The first nightly without a part, and the last torch with it."""


@dataclass(frozen=True)
class _Night:
    plan: Plan
    compat: Compat

    @property
    def torch(self) -> TorchBuild:
        return self.plan.told(self.compat.torches[0])

    @cached_property
    def mark(self) -> Mark:
        return mark_of(self.plan, self.torch)

    @cached_property
    def of(self) -> dict[str, Prediction]:
        """The prediction for the nightly's torch, by device."""
        version = self.compat.torches[0].version
        return {item.plugin: item for item in self.compat.predictions if item.torch == version}


def predicted(
    plans: Sequence[Plan], history: History, verdicts: Sequence[DeviceVerdict], counts: CommitCounts
) -> Predicted | None:
    """The predictions of the newest of the given nightlies that has any; None where no recent one has.

    Args:
        counts: of PyTorch's commits.

    """
    found = ((plan, history.compat(plan.id)) for plan in plans[-NIGHTS:])
    nights = [_Night(plan, compat) for plan, compat in found if compat is not None and compat.torches]
    if not nights:
        return None
    newest = nights[-1]
    removals = _removals(plans[-EXPORTS:], history)
    breaks = _breaks(nights, frozenset(item.device for item in verdicts), removals, counts)
    return Predicted(
        plan_id=newest.plan.id,
        torches=newest.compat.torches,
        checked=sum(item.wheel is not None or item.source is not None for item in newest.of.values()),
        devices=tuple(_device(nights, item, removals) for item in verdicts if item.device in newest.of),
        breaks=tuple(breaks[:BREAKS]),
        more=len(breaks[BREAKS:]),
    )


def _device(nights: Sequence[_Night], verdict: DeviceVerdict, removals: Mapping[_Key, _Range]) -> DevicePrediction:
    nightly = nights[-1].of[verdict.device]
    others = (item for item in nights[-1].compat.predictions if item.plugin == verdict.device)
    predictions = (nightly, *(item for item in others if item.torch != nightly.torch))
    return DevicePrediction(
        device=verdict.device,
        predictions=tuple(item.model_copy(update={"findings": item.findings[:FINDINGS]}) for item in predictions),
        more=len(nightly.findings[FINDINGS:]) + nightly.more,
        since=_since(nights, verdict.device, removals) if nightly.forecast is Forecast.BREAK else None,
        explains=next((_part(item) for item in nightly.findings if _names(verdict, item)), None),
    )


def _since(nights: Sequence[_Night], device: str, removals: Mapping[_Key, _Range]) -> Mark | None:
    """The first night of the streak; nights on which the device could not be checked do not end it.

    A streak without a known beginning begins with the first removal of what is missing now.
    """
    first: Mark | None = None
    is_of_source = _compiled(nights[-1].of[device]) is Forecast.BREAK
    for night in reversed(nights):
        found = night.of.get(device)
        if found is None or found.forecast is Forecast.UNCHECKED:
            continue
        if is_of_source and found.forecast is not Forecast.BREAK and _compiled(found) in (None, Forecast.UNCHECKED):
            continue
        if found.forecast is not Forecast.BREAK:
            break
        first = night.mark
    else:
        known = (_removal(removals, (item.kind, item.name)) for item in nights[-1].of[device].findings)
        marks = [mark for mark, _ in filter(None, known)]
        return min((*marks, first or nights[-1].mark), key=lambda mark: mark.date)
    return first


def _compiled(prediction: Prediction) -> Forecast | None:
    """What compiling the source predicted; None where it was not tried."""
    return prediction.source.forecast if prediction.source is not None else None


def _names(verdict: DeviceVerdict, finding: Finding) -> bool:
    """Whether the error of a broken import names what is missing, as the dynamic loader and Python do."""
    if verdict.verdict is not VerdictName.IMPORT_BROKEN:
        return False
    module, _, attribute = finding.name.rpartition(".")
    texts = {
        FindingKind.SYMBOL: rf"undefined symbol: {re.escape(finding.name)}(?!\w)",
        FindingKind.NAME: rf"cannot import name '{re.escape(attribute)}' from '{re.escape(module)}'"
        rf"|No module named '{re.escape(finding.name)}'",
    }
    return finding.kind in texts and re.search(texts[finding.kind], verdict.reason) is not None


def _part(finding: Finding) -> MissingPart:
    return MissingPart(kind=finding.kind, name=finding.name, text=finding.text, header=finding.header)


def _removals(plans: Sequence[Plan], history: History) -> dict[_Key, _Range]:
    """By part of PyTorch that was removed, or changed, and not added again: when it was."""
    found: dict[_Key, _Range] = {}
    marks: dict[str, Mark] = {}
    builds: dict[str, TorchBuild] = {}
    for plan in plans:
        if (changes := history.exports(plan.id)) is not None:
            # Several nightlies may have tested one torch; the first of them counts.
            builds.setdefault(changes.after.version, plan.told(changes.after))
            before = builds.get(changes.before.version, changes.before)
            when = marks.setdefault(changes.after.version, mark_of(plan, changes.after)), before
            found |= dict.fromkeys(_keys(changes.removed), when)
            found |= dict.fromkeys(((FindingKind.SCHEMA, name) for name in changes.schemas), when)
            for key in _keys(changes.added):
                found.pop(key, None)
    return found


def _keys(parts: Parts) -> Iterator[_Key]:
    yield from ((FindingKind.SYMBOL, name) for name in parts.symbols)
    yield from ((FindingKind.NAME, name) for name in parts.names)
    yield from ((FindingKind.OPERATOR, name) for name in parts.operators)


def _removal(removals: Mapping[_Key, _Range], key: _Key) -> _Range | None:
    """When a part was removed, by itself or with its module; None where that is not known."""
    kind, name = key
    while key not in removals and kind is FindingKind.NAME and "." in name:
        name = name.rpartition(".")[0]
        key = kind, name
    return removals.get(key)


def _breaks(
    nights: Sequence[_Night], registered: frozenset[str], removals: Mapping[_Key, _Range], counts: CommitCounts
) -> list[PredictedBreak]:
    """The missing parts, grouped by the nightly on which it went missing and by the devices that need it."""
    lacking: dict[_Key, tuple[MissingPart, dict[str, Prediction]]] = {}
    for device, item in nights[-1].of.items():
        for finding in item.findings:
            if finding.kind in _SHARED and device in registered:
                part = _part(finding)
                lacking.setdefault((part.kind, part.name), (part, {}))[1][device] = item
    groups: dict[tuple[tuple[str, ...], str, str | None], tuple[Mark, TorchBuild | None, list[MissingPart]]] = {}
    for key, (part, today) in lacking.items():
        since, last = _removal(removals, key) or _beginning(nights, key, today)
        group = (tuple(sorted(today)), since.plan_id, last.version if last else None)
        groups.setdefault(group, (since, last, []))[2].append(part)
    breaks = [_break(devices, *found, counts) for (devices, _, _), found in groups.items()]
    return sorted(breaks, key=lambda item: (-len(item.devices), -item.since.date.timestamp(), item.devices))


def _beginning(nights: Sequence[_Night], key: _Key, today: Mapping[str, Prediction]) -> _Range:
    """The same of a part whose removal is in no list of changes: from the predictions.

    A night tells only where a wheel that needs the part today was compared with the same baseline: another version may
    not have needed it. Of a compile error it tells whether the source compiled, at whatever commit.
    """
    first = nights[-1].mark
    if key[0] is FindingKind.COMPILE_ERROR:
        for night in reversed(nights[:-1]):
            compiled = {_compiled(night.of[device]) for device in today if device in night.of}
            if Forecast.BREAK in compiled:
                first = night.mark
            elif Forecast.NO_BREAK in compiled:
                return first, night.torch
        return first, None
    for night in reversed(nights[:-1]):
        found = [(night.of[device], item) for device, item in today.items() if device in night.of]
        same = [then for then, now in found if (then.version, then.baseline) == (now.version, now.baseline)]
        if any((finding.kind, finding.name) == key for item in same for finding in item.findings):
            first = night.mark
        elif same:
            return first, night.torch
    return first, None


def _break(
    devices: tuple[str, ...],
    since: Mark,
    last: TorchBuild | None,
    parts: Sequence[MissingPart],
    counts: CommitCounts,
) -> PredictedBreak:
    first = TorchBuild(version=since.torch_version or "", git_version=since.torch_commit)
    return PredictedBreak(
        parts=tuple(parts[:FINDINGS]),
        more=len(parts[FINDINGS:]),
        devices=devices,
        since=since,
        last_present=last,
        commits=short_range(last, first),
        commits_url=commits_between(last, first),
        commits_count=counts.between(last.source, since.torch_commit) if last else None,
    )
