"""Failures of one night with the same error, as clusters across all devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from ootci.history.cause import Began, Blamed, Source, any_of, blame, plugins
from ootci.history.nights import streak_between
from ootci.history.signature import short
from ootci.model.cluster import Cause, Cluster, ClusterDevice, Mark, Signature, Streak

NAMED = 5
"""Tests that a cluster names of each device; the others are counted."""


@dataclass(frozen=True)
class Failing:
    """A test that fails on the newest night, or a stage that broke.

    Attributes:
        test_id: the test; the stage's name where a stage broke.
        signature: the failure's name; None for a failure without a text.
        settled: its cause, where the device's own report tells it: infrastructure, the plugin, a core defect,
            known, flaky.

    """

    device: str
    test_id: str
    signature: Signature | None
    streak: Streak
    settled: Cause | None = None

    @property
    def name(self) -> Signature:
        """The failure's name, or the test's where there is no text."""
        return self.signature or unnamed(self.test_id)


def unnamed(test_id: str) -> Signature:
    """The name of a failure without a text."""
    return Signature.of(f"{test_id}: it gave no text")


_SETTLED = {
    Cause.INFRASTRUCTURE: "the machine, the device or the network was not there, on {devices}",
    Cause.PLUGIN: "a repository or ref named in the device file does not exist, on {devices}",
    Cause.CORE_DEFECT: "a defect of PyTorch that the suites know, on {devices}",
    Cause.KNOWN: "known to the vendor, on {devices}",
    Cause.FLAKY: "fails and passes by turns, on {devices}",
}
"""Causes that the devices' reports tell by themselves; the first of them that a cluster has is its cause."""


def clusters_of(plan_id: str, sources: Sequence[Source], failing: Iterable[Failing]) -> tuple[Cluster, ...]:
    """Every failure of a night in exactly one cluster; what began this night first, then what most devices share.

    Failures are one cluster when they have one name, or when the same test or stage began to fail on several devices in
    overlapping ranges of nights, whatever each vendor's error is. So are tests whose failures only the test itself
    names, such as crashes and wrong values, where they began on the same nights on the same several devices. The
    sources are all devices that the nightly expected.
    """
    by_device = {source.device: source for source in sources}
    by_test: dict[str, list[Failing]] = defaultdict(list)
    for item in failing:
        by_test[item.test_id].append(item)
    found = []
    for items in _alike(by_test):
        events = [_cluster(plan_id, by_device, part, by_test) for part in _events(items)]
        cluster = _cluster(plan_id, by_device, items, by_test)
        found.append(cluster.model_copy(update={"events": tuple(events)}) if len(events) > 1 else cluster)
    return tuple(
        sorted(found, key=lambda item: (not item.is_new, -len(item.devices), -item.tests, item.signature.text))
    )


def _alike(by_test: Mapping[str, Sequence[Failing]]) -> list[list[Failing]]:
    failing = [item for items in by_test.values() for item in items]
    same: dict[Signature, Signature] = {item.name: item.name for item in failing}

    def root(name: Signature) -> Signature:
        while (above := same[name]) != name:
            # Names come closer to their root each time, or ten thousand of one cluster would take minutes.
            same[name] = same[above]
            name = above
        return name

    for test, items in by_test.items():
        unexpected = [item for item in items if item.settled is None]
        if "/" not in test:
            unexpected = _own_errors(unexpected)
        for one, other in combinations(unexpected, 2):
            if one.device != other.device and one.name != other.name and _overlap(one.streak, other.streak):
                same[root(one.name)] = root(other.name)
    groups: dict[Signature, list[Failing]] = defaultdict(list)
    for item in failing:
        groups[root(item.name)].append(item)
    together: dict[object, list[Failing]] = defaultdict(list)
    for name, items in groups.items():
        together[_nights_of_one_test(items) or name] += items
    return list(together.values())


def _nights_of_one_test(failing: Sequence[Failing]) -> frozenset[tuple[str, Streak]] | None:
    """On which devices and nights a test began to fail, if its failures' names say only which test it is; else None.

    None for a single device, too. A change in PyTorch that makes values wrong breaks many tests at once on several.
    """
    unexpected = [item for item in failing if item.settled is None]
    tests = {item.test_id for item in failing}
    if len({item.device for item in unexpected}) < 2 or len(tests) > 1:
        return None
    named = all(item.name.text.startswith(short(item.test_id)) for item in unexpected)
    return frozenset((item.device, item.streak) for item in unexpected) if named else None


def _own_errors(stages: Sequence[Failing]) -> list[Failing]:
    """The devices of a stage that broke whose different errors may have one cause.

    A stage can break in many ways. Where several devices share an error, another one is evidence of another cause, and
    so it is where the plugin changed.
    """
    shared = Counter(item.name for item in stages)
    return [item for item in stages if shared[item.name] == 1 and not item.streak.plugin_changed]


def _events(failing: Sequence[Failing]) -> list[list[Failing]]:
    """The failures of a cluster by cause: one error can have several causes, each since its own night.

    Failures that a device first shows on one night have one cause. So have those that may have begun on several
    devices on one night; of several such nights the earliest counts. Tests that never passed, and failures that the
    device's own report explains, such as flaky ones, are no evidence of a night; each kind of them is a group.
    """
    aside: dict[Cause | None, list[Failing]] = defaultdict(list)
    begun: dict[tuple[str, datetime], list[Failing]] = defaultdict(list)
    for item in failing:
        if item.settled in (None, Cause.KNOWN):
            begun[item.device, item.streak.first_failed.date].append(item)
        else:
            aside[item.settled].append(item)
    torch = _first_nights([item.streak for items in begun.values() for item in items])
    dated: list[tuple[datetime, datetime, list[Failing]]] = []
    for (_, night), items in begun.items():
        passed = [date for item in items if (date := _passed(item.streak, torch)) is not None]
        if passed:
            dated.append((night, max(passed), items))
        else:
            aside[None] += items
    found: list[list[Failing]] = []
    first: datetime | None = None
    for night, last_passed, items in sorted(dated, key=lambda one: one[:2]):
        if first is None or first <= last_passed:
            first = night
            found.append([])
        found[-1] += items
    return [*found, *(aside[cause] for cause in sorted(aside, key=lambda cause: (cause is None, cause)))]


def _first_nights(streaks: Sequence[Streak]) -> dict[str, datetime]:
    """The first night of each commit of PyTorch, as far as these rows tell."""
    marks = [mark for streak in streaks for mark in (streak.last_passed, streak.first_failed) if mark is not None]
    newest_first = sorted(marks, key=_when, reverse=True)
    return {mark.torch_commit: mark.date for mark in newest_first if mark.torch_commit is not None}


def _passed(streak: Streak, torch: Mapping[str, datetime]) -> datetime | None:
    """The last night before a row; that of its PyTorch, where the device got that later than others did."""
    mark = streak.last_passed
    if mark is None or mark.torch_commit is None or not streak.torch_changed:
        return mark.date if mark is not None else None
    return torch[mark.torch_commit]


def _overlap(one: Streak, other: Streak) -> bool:
    """Whether two failures may have begun on the same night."""
    passed = [streak.last_passed.date for streak in (one, other) if streak.last_passed is not None]
    return not passed or max(passed) < min(one.first_failed.date, other.first_failed.date)


def _cluster(
    plan_id: str,
    sources: dict[str, Source],
    failing: Sequence[Failing],
    by_test: Mapping[str, Sequence[Failing]],
) -> Cluster:
    unexpected = [item for item in failing if item.settled is None]
    blamed = _settled(len(sources), failing) if not unexpected else _blamed(sources, failing, by_test)
    streaks = [streak for item in blamed.began for streak in item.streaks]
    streak = _tightest(streaks) if streaks else None
    began = streak or max((item.streak for item in unexpected or failing), key=_begin)
    signature, *others = _names(unexpected or failing, failing)
    return Cluster(
        signature=signature,
        also=tuple(others),
        plan_id=plan_id,
        cause=blamed.cause,
        reason=blamed.reason,
        devices=tuple(
            _device(plan_id, sources.get(name, Source(name)), [item for item in failing if item.device == name])
            for name in sorted({item.device for item in failing})
        ),
        since=began.first_failed,
        last_passed=began.last_passed,
        commits=streak.commits if streak else None,
        commits_url=streak.commits_url if streak else None,
    )


def _names(named: Sequence[Failing], failing: Sequence[Failing]) -> list[Signature]:
    """The names of a cluster: first the one that began first, so that it stays when a device joins."""
    chosen = {item.name for item in named}
    devices: dict[Signature, set[str]] = defaultdict(set)
    began: dict[Signature, tuple[object, ...]] = {}
    for item in failing:
        devices[item.name].add(item.device)
        if item.name in chosen:
            when = _when(item.streak.first_failed)[:2]
            began[item.name] = min(began.get(item.name, when), when)
    last = max(began.values())
    return sorted(devices, key=lambda name: (name not in began, began.get(name, last), -len(devices[name]), name.text))


def _device(plan_id: str, source: Source, failing: Sequence[Failing]) -> ClusterDevice:
    first = min((item.streak for item in failing), key=_begin)
    return ClusterDevice(
        device=source.device,
        is_reference=source.is_reference,
        tests=len(failing),
        new=sum(
            item.settled in (None, Cause.PLUGIN) and item.streak.first_failed.plan_id == plan_id for item in failing
        ),
        first=tuple(sorted(item.test_id for item in failing)[:NAMED]),
        plugin_changed=any_of(item.streak.plugin_changed for item in failing),
        since=first.first_failed,
        last_passed=first.last_passed,
    )


def _settled(devices: int, failing: Sequence[Failing]) -> Blamed:
    cause = next(cause for cause in _SETTLED if any(item.settled is cause for item in failing))
    count = len({item.device for item in failing})
    which = f"all {count} devices" if count == devices > 1 else "one device" if count == 1 else f"{count} devices"
    return Blamed(cause, _SETTLED[cause].format(devices=which), ())


def _blamed(sources: dict[str, Source], failing: Sequence[Failing], by_test: Mapping[str, Sequence[Failing]]) -> Blamed:
    """The cause that the last night shows on which it began, several plugins at once before one alone."""
    unexpected = [item for item in failing if item.settled is None and item.streak.last_passed is not None]
    # That a vendor knows of it by now does not mean that it did not begin there with a new PyTorch.
    doubtful = [item.streak for item in unexpected if item.streak.torch_changed is not False]
    evidence = unexpected + [
        item
        for item in failing
        if item.settled is Cause.KNOWN
        and item.streak.last_passed is not None
        and any(_overlap(item.streak, streak) for streak in doubtful)
    ]
    if not unexpected:
        return Blamed(Cause.UNKNOWN, "it has never passed, so nothing is known of how it began", ())
    nights = sorted({item.streak.first_failed.date for item in evidence})
    groups = [[item for item in evidence if _may_have_begun(item.streak, night)] for night in nights]
    # A group of which another has all members, and more, is no explanation of its own.
    ids = [frozenset(map(id, group)) for group in groups]
    chosen = [
        _began(sources, group)
        for group, members in zip(groups, ids, strict=True)
        if any(item.settled is None for item in group) and not any(members < others for others in ids)
    ]
    last = max(chosen, key=lambda group: (plugins(group) > 1, max(_when(item.first_failed) for item in group)))
    named = {item.source.device for item in last}
    others = any(
        other.device not in named and _overlap(other.streak, item.streak)
        for item in failing
        if item.device in named
        for other in by_test[item.test_id]
    )
    return blame(last, others=others)


def _may_have_begun(streak: Streak, night: datetime) -> bool:
    return streak.last_passed is not None and streak.last_passed.date < night <= streak.first_failed.date


def _began(sources: dict[str, Source], failing: Sequence[Failing]) -> list[Began]:
    """How it began, device by device."""
    devices = sorted({item.device for item in failing})
    return [
        Began(
            sources.get(name, Source(name)),
            tuple(item.streak for item in sorted(failing, key=lambda item: item.test_id) if item.device == name),
        )
        for name in devices
    ]


def _tightest(streaks: Sequence[Streak]) -> Streak:
    """The tightest range that is within all of these, which have a night in common: it has the fewest commits."""
    passed = max((streak.last_passed for streak in streaks), key=_when)
    return streak_between(passed, min((streak.first_failed for streak in streaks), key=_when))


def _begin(streak: Streak) -> tuple[object, ...]:
    return _when(streak.first_failed), _when(streak.last_passed)


def _when(mark: Mark | None) -> tuple[object, ...]:
    if mark is None:
        return ()
    return mark.date, mark.plan_id, *(getattr(mark, name) or "" for name in _UNDER_TEST)


_UNDER_TEST = ("torch_version", "torch_commit", "plugin_version", "plugin_commit")
