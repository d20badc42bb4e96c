"""The pages of nightlies: one PyTorch, and what became of every device on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ootci.history.nightly_build import build_of_nightly
from ootci.model.device import RegisteredDevice, Tier
from ootci.model.outcome import PassRate
from ootci.model.plan import Plan, PlannedRun
from ootci.model.torch_build import TorchBuild, TorchRequest, commits_between
from ootci.model.verdict import VerdictName, Verdicts

from .device_view import RunPage, by_nightly
from .facts import Fact, TorchView, torch_view
from .links import folder_name, pytorch_commit, web_address
from .status import SEVERITY, VERDICTS, Status
from .text import one_line
from .words import day

NIGHTS_LISTED = 90
"""So many of the newest nightlies are on the list; every nightly has a page."""
NOT_KEPT = Status("not kept", "off", "gap")
"""Verdicts are kept for the newest nights only; what was reported before stands on the runs' pages."""
LEFT_OUT = Status("left out", "off", "never")

_EVENTS = {"schedule": "by the schedule", "workflow_dispatch": "by hand", "local": "on a person's own machine"}


@dataclass(frozen=True)
class NightReport:
    """What is kept of the attempt that counts of one device on one nightly, so that no run need be in memory."""

    href: str
    request: TorchRequest
    torch: TorchBuild | None
    passed: PassRate


@dataclass(frozen=True)
class Who:
    """A device that a nightly names; ``registered`` is false when its file is gone, and its pages with it."""

    name: str
    display_name: str
    registered: bool
    tier: str
    gates: bool


@dataclass(frozen=True)
class NightlyRow:
    """One device that the nightly expected a report from; ``passed`` is None where there is none, and ``verdict`` where
    none is kept.
    """

    who: Who
    verdict: VerdictName | None
    href: str | None
    passed: PassRate | None
    torch: TorchView
    commit: Fact | None

    @property
    def status(self) -> Status:
        """The verdict as it is shown."""
        return _shown(self.verdict)


@dataclass(frozen=True)
class LeftOutRow:
    """One device that the nightly did not run."""

    who: Who
    paused: bool
    reason: str

    @property
    def status(self) -> Status:
        """Why, in a word."""
        return VERDICTS[VerdictName.PAUSED] if self.paused else LEFT_OUT


@dataclass(frozen=True)
class Since:
    """The nightly before whose commit is known; ``address`` has the commits since, and is None where there are none."""

    plan_id: str
    commit: str
    address: str | None


@dataclass(frozen=True)
class NightlyPage:
    """Everything that a nightly's page shows, and its line on the list."""

    plan: Plan
    folder: str
    day: str
    trigger: str
    trigger_href: str | None
    build: TorchBuild | None
    since: Since | None
    counts: tuple[tuple[VerdictName | None, int], ...]
    rows: tuple[NightlyRow, ...]
    left_out: tuple[LeftOutRow, ...]
    before: str | None
    after: str | None

    @property
    def tally(self) -> tuple[Status, ...]:
        """How many devices have which verdict, in words."""
        shown = ((_shown(verdict), count) for verdict, count in self.counts)
        return tuple(replace(status, word=f"{count} {status.word}") for status, count in shown)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Which PyTorch it was, and its commits since the nightly before whose commit is known."""
        if self.build is None:
            return (Fact("PyTorch", "unknown: no device said the commit of a nightly build"),)
        commit, since = self.build.git_version or "", self.since
        facts = [
            Fact("PyTorch", one_line(self.build.version, 60), code=True),
            Fact("commit", commit[:12], pytorch_commit(commit), code=True, whole=commit),
        ]
        if since is None:
            return (*facts, Fact("new commits", "unknown: no earlier nightly says its commit"))
        before = one_line(since.plan_id, 60)
        span = f"{since.commit[:7]}...{commit[:7]}" if since.address else "none"
        return (*facts, Fact("new commits", f"{span} since nightly {before}", since.address))


def _shown(verdict: VerdictName | None) -> Status:
    return VERDICTS[verdict] if verdict is not None else NOT_KEPT


def night_reports(device: str, pages: Sequence[RunPage], plans: Mapping[str, Plan]) -> dict[str, NightReport]:
    """What a device reported, by nightly: of every nightly the attempt that counts."""
    found = {}
    for plan_id, page in by_nightly(pages).items():
        plan = plans.get(plan_id)
        expected = plan.expected(device) if plan is not None else None
        if expected is not None:
            passed = page.stored.counts(expected.required_suites).pass_rate
            found[plan_id] = NightReport(page.path, page.run.torch_request, page.run.torch, passed)
    return found


def nightly_pages(
    registry: Sequence[RegisteredDevice],
    verdicts: Verdicts,
    plans: Sequence[Plan],
    reported: Mapping[str, Mapping[str, NightReport]],
) -> Iterator[NightlyPage]:
    """A page for every nightly, oldest first, made one by one.

    Args:
        registry: every registered device, in registry order.
        verdicts: what the judge found; the verdicts of past nights are in it.
        plans: every nightly, oldest first.
        reported: by device and nightly, what was reported.

    """
    judged = {(device.device, night.plan_id): night.verdict for device in verdicts.devices for night in device.history}
    devices = {item.device.name: item for item in registry}
    known: tuple[Plan, TorchBuild] | None = None
    for number, plan in enumerate(plans):
        tonight = {name: reports[plan.id] for name, reports in reported.items() if plan.id in reports}
        build = build_of_nightly((item.request, item.torch) for item in tonight.values())
        rows = [
            _row(devices.get(run.device), run, judged.get((run.device, plan.id)), tonight.get(run.device))
            for run in plan.runs
        ]
        rows.sort(key=_rank)
        counts = Counter(row.verdict for row in sorted(rows, key=_severity))
        yield NightlyPage(
            plan=plan,
            folder=folder_name(plan.id),
            day=day(plan.created_at),
            trigger=_EVENTS.get(plan.trigger.event, one_line(plan.trigger.event, 60)),
            trigger_href=web_address(plan.trigger.url),
            build=build,
            since=_since(build, known),
            counts=tuple(counts.items()),
            rows=tuple(rows),
            left_out=_left_out(plan, devices),
            before=folder_name(plans[number - 1].id) if number else None,
            after=folder_name(plans[number + 1].id) if number + 1 < len(plans) else None,
        )
        known = (plan, build) if build is not None else known


def _since(build: TorchBuild | None, known: tuple[Plan, TorchBuild] | None) -> Since | None:
    """The commits since the last nightly before whose build is known."""
    if build is None or known is None:
        return None
    plan, before = known
    return Since(plan.id, before.git_version or "", commits_between(before, build))


def _row(
    item: RegisteredDevice | None, run: PlannedRun, verdict: VerdictName | None, told: NightReport | None
) -> NightlyRow:
    build = told.torch if told else None
    commit = build.git_version if build else None
    href = pytorch_commit(commit)
    return NightlyRow(
        who=_who(item, run.device),
        verdict=verdict,
        href=told.href if told and item is not None else None,
        passed=told.passed if told else None,
        torch=torch_view(told.request if told else run.torch, build),
        commit=Fact("commit", commit[:12], href, code=True, whole=commit) if commit and href else None,
    )


def _left_out(plan: Plan, devices: Mapping[str, RegisteredDevice]) -> tuple[LeftOutRow, ...]:
    """Who was left out and why; a device that the plan does not name at all is not passed over in silence."""
    rows = [
        LeftOutRow(
            _who(devices.get(item.device), item.device),
            item.paused,
            one_line(item.reason),
        )
        for item in plan.left_out
    ]
    named = {run.device for run in plan.runs} | {item.device for item in plan.left_out}
    rows += [
        LeftOutRow(_who(item, name), False, "the plan of this nightly does not name it")
        for name, item in devices.items()
        if name not in named
    ]
    return tuple(rows)


def _who(item: RegisteredDevice | None, name: str) -> Who:
    """A device as a nightly names it; None for one whose file is gone."""
    if item is None:
        return Who(one_line(name, 60), one_line(name, 60), False, "not registered", False)
    device = item.device
    return Who(device.name, one_line(device.display_name, 60), True, device.tier.value, device.gates)


def _rank(row: NightlyRow) -> tuple[int, int]:
    """By tier, then what needs a person first; the sorting keeps the order of the registry otherwise."""
    tiers = [tier.value for tier in Tier]
    return tiers.index(row.who.tier) if row.who.tier in tiers else len(tiers), _severity(row)


def _severity(row: NightlyRow) -> int:
    return SEVERITY.index(row.verdict) if row.verdict is not None else len(SEVERITY)
