"""A device's nights, and the one query over them: since when something fails, and what changed when it began.

Also the PyTorch that a nightly tested, by the torch that its devices reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from ootci.model.build import DIRTY, PluginBuild
from ootci.model.cluster import Mark, Streak
from ootci.model.commits import NewCommits
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, OutcomeName
from ootci.model.plan import Plan
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest, commits_between, full_commit, short_range

from .stored import StoredRun


@dataclass(frozen=True)
class DeviceNight:
    """A night that concerned a device, and what was reported, if anything was."""

    plan: Plan
    run: StoredRun | None

    @property
    def channel(self) -> Channel | None:
        """The channel that was tested; None where nothing was, or where another torch replaced the requested one."""
        return self.run.head.channel if self.run is not None else None

    @property
    def is_fallback(self) -> bool:
        """Whether another torch replaced the requested one, so that the night is evidence of nothing."""
        return self.run is not None and self.channel is None

    def compares_with(self, later: StoredRun) -> bool:
        """Whether a later run may be compared with the night: its channel is the same, and its torch is not older."""
        if self.run is None or self.channel is None or self.channel is not later.head.channel:
            return False
        releases = self.run.head.release, later.head.release
        return releases[0] is None or releases[1] is None or releases[0] <= releases[1]

    @cached_property
    def mark(self) -> Mark:
        """The night, with what was under test."""
        head = self.run.head if self.run is not None else None
        return mark_of(self.plan, head.torch if head else None, head.plugin if head else None)


def mark_of(plan: Plan, torch: TorchBuild | None = None, plugin: PluginBuild | None = None) -> Mark:
    """A night, with what was under test."""
    return Mark(
        plan_id=plan.id,
        date=plan.created_at,
        torch_version=torch.version if torch else None,
        torch_commit=plan.told(torch).source if torch else None,
        plugin_version=plugin.version if plugin else None,
        plugin_commit=plugin.commit if plugin else None,
        plugin_sources=plugin.sources_sha256 if plugin else None,
    )


def attempts_by_nightly(runs: Iterable[StoredRun]) -> dict[str, list[StoredRun]]:
    """The attempts of each nightly, by its id, in order: the last one counts."""
    found: dict[str, list[StoredRun]] = {}
    for run in sorted(runs, key=lambda run: run.head.attempt):
        found.setdefault(run.head.plan_id, []).append(run)
    return found


@dataclass(frozen=True)
class Seen:
    """The outcome of something on one night: a test that passed in the end has passed; None where it was not there."""

    mark: Mark
    outcome: OutcomeName | None


def results(
    newest_first: Iterable[DeviceNight], test_id: str, failing: Container[OutcomeName] = FAILURES
) -> Iterator[Seen]:
    """The result of a test on each night: `failed` for each outcome in `failing`, `passed` where it was flaky."""
    for night in newest_first:
        outcome, is_flaky = night.run.result(test_id) if night.run is not None else (None, False)
        settled = OutcomeName.PASSED if is_flaky else OutcomeName.FAILED if outcome in failing else outcome
        yield Seen(night.mark, settled)


def streak_of(newest_first: Iterable[Seen]) -> Streak | None:
    """The row of failures that lasts until the newest night; None when the last that is known of it is no failure.

    Nights on which it was skipped, not run or not reported do not interrupt a row: who is silent has not passed. No
    more is read than is needed.
    """
    first_failed: Mark | None = None
    for seen in newest_first:
        if seen.outcome in FAILURES:
            first_failed = seen.mark
        elif seen.outcome in AS_THEY_SHOULD:
            return streak_between(seen.mark, first_failed) if first_failed is not None else None
    return streak_between(None, first_failed) if first_failed is not None else None


def streak_between(last_passed: Mark | None, first_failed: Mark) -> Streak:
    """The row of failures that began then, with what changed in between."""
    if last_passed is None:
        return Streak(first_failed=first_failed)
    ends = _torch(last_passed), _torch(first_failed)
    return Streak(
        first_failed=first_failed,
        last_passed=last_passed,
        torch_changed=_torch_changed(last_passed, first_failed),
        plugin_changed=_plugin_changed(last_passed, first_failed),
        commits=short_range(*ends),
        commits_url=commits_between(*ends),
    )


def _torch(mark: Mark) -> TorchBuild:
    return TorchBuild(version=mark.torch_version or "", git_version=mark.torch_commit)


def _torch_changed(before: Mark, after: Mark) -> bool | None:
    if before.torch_commit and after.torch_commit:
        return before.torch_commit != after.torch_commit
    if before.torch_version and after.torch_version:
        return before.torch_version != after.torch_version
    return None


def _plugin_changed(before: Mark, after: Mark) -> bool | None:
    """Whether the plugin changed; unknown where the commit is the same and something was not committed.

    Its source files tell it best: a plugin in a larger repository has another commit whenever anything there changes.
    """
    if before.plugin_sources and after.plugin_sources:
        return before.plugin_sources != after.plugin_sources
    if before.plugin_commit and after.plugin_commit:
        commits = [mark.removesuffix(DIRTY) for mark in (before.plugin_commit, after.plugin_commit)]
        if commits[0] != commits[1]:
            return True
        return None if before.plugin_commit.endswith(DIRTY) or after.plugin_commit.endswith(DIRTY) else False
    if before.plugin_version and after.plugin_version:
        # A published package is identified by its version.
        return before.plugin_version != after.plugin_version
    return None


MAX_IDS = 20_000
"""Two megabytes of the plan. PyTorch's own tests that a device does not support yet are among them."""
MAX_RUNS = 30


class FailingBefore(NamedTuple):
    """The tests that failed when their suite last reported completely.

    Attributes:
        ids: all of them, but for tests that were flaky then: when one fails again, it is to be retried.
        not_retried: those of them that began to fail then and were not retried, as when too many fail at once.

    """

    ids: tuple[str, ...]
    not_retried: tuple[str, ...] = ()


def failing_before(newest_first: Iterable[StoredRun]) -> FailingBefore | None:
    """The tests that failed when their suite last reported completely; None when no suite ever did.

    Raises:
        HistoryCorrupt: a run cannot be read back.

    """
    wanted: set[str] | None = None
    failing: list[str] = []
    # Of each suite, the failures that were not retried; they are new unless the report before had them, too.
    single: dict[str, list[str]] = {}
    old: set[str] = set()
    looked_back: set[str] = set()
    for run in islice(newest_first, MAX_RUNS):
        # Failures on a torch that replaced the requested one are no evidence about that one.
        if run.head.channel is None:
            continue
        wanted = {report.suite for report in run.head.suites} if wanted is None else wanted
        complete = run.head.complete_suites
        for suite in complete & single.keys() - looked_back:
            old.update(test for test in single[suite] if run.result(test)[0] in FAILURES)
            looked_back.add(suite)
        found = [item for item in run.failures if item.suite in complete - single.keys() and not item.is_flaky]
        failing += [item.id for item in found]
        for suite in complete - single.keys():
            single[suite] = [item.id for item in found if item.suite == suite and item.row not in run.attempts]
        if single.keys() >= wanted and all(suite in looked_back or not ids for suite, ids in single.items()):
            break
    if not single:
        return None
    kept = failing[:MAX_IDS]
    unsettled = {test for ids in single.values() for test in ids} - old
    return FailingBefore(tuple(kept), tuple(test for test in kept if test in unsettled))


def plugin_before(newest_first: Iterable[StoredRun]) -> str | None:
    """The commit of the plugin in the newest of a device's reports that has one, whatever its torch was.

    Raises:
        HistoryCorrupt: a run cannot be read back.

    """
    plugins = (run.head.plugin for run in islice(newest_first, MAX_RUNS))
    return next((commit for plugin in plugins if plugin and (commit := full_commit(plugin.commit))), None)


def build_of_nightly(runs: Iterable[tuple[TorchRequest, TorchBuild | None]]) -> TorchBuild | None:
    """The nightly build that most runs had, by the torch requested and tested; None where none named its commit.

    Builds of one commit for different processors or cards are one build here. A run that got a release instead of the
    nightly does not count. Where two commits have as many runs, the newer version counts.
    """
    found: Counter[str] = Counter()
    versions: dict[str, str] = {}
    sources: dict[str, str | None] = {}
    for request, build in runs:
        commit = full_commit(build.git_version if build else None)
        if build is not None and commit is not None and request.channel is Channel.NIGHTLY:
            found[commit] += 1
            sources[commit] = build.made_of or sources.get(commit)
            versions[commit] = max(versions.get(commit, ""), build.version.partition("+")[0])
    if not found:
        return None
    commit = max(found, key=lambda commit: (found[commit], versions[commit], commit))
    return TorchBuild(version=versions[commit], git_version=commit, made_of=sources[commit])


class CommitCounts:
    """How many commits there are between two builds of PyTorch or of a plugin, by the steps from build to build."""

    def __init__(self, steps: Iterable[NewCommits | None]) -> None:
        # By where they lead: after a step back, several lead on from one commit.
        self._steps = {step.until: step for step in steps if step is not None}

    def between(self, before: str | None, after: str | None) -> int | None:
        """The number from one commit to another; None where a step between them is not known."""
        at, total = after, 0
        for _ in self._steps:
            step = self._steps.get(at or "")
            if step is None:
                return None
            at, total = step.since, total + step.count
            if at == before:
                return total
        return None
