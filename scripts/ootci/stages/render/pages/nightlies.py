"""The pages of nightlies: one PyTorch, and the result of every device on it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from ootci.history.named import KEPT
from ootci.history.nights import CommitCounts, build_of_nightly
from ootci.history.reader import Withdrawn
from ootci.model.build import PluginBuild
from ootci.model.device import RegisteredDevice
from ootci.model.outcome import PassRate
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import Record, Time
from ootci.model.torch_build import TorchBuild, TorchRequest, commits_between
from ootci.model.verdict import Night, VerdictName, Verdicts
from ootci.model.words import many

from ..facts import Fact, torch_view
from ..links import folder_name, nightly_path, pytorch_commit, web_address
from ..nights import before_words
from ..page_maker import PageMaker
from ..publish import File
from ..run_pages import RunPage, by_nightly
from ..status import VERDICTS, urgency
from ..text import one_line
from .accuracy import OperatorRegression
from .board import NIGHTS_LISTED
from .night_failure import NightFailure
from .past_errors import NewError
from .published import Compact, WithPage, api_file

_TOP = "../../"

REGRESSIONS = 20
"""The most operators with an accuracy regression that a nightly's page lists."""


class VerdictCount(Record):
    """How many devices of a nightly have a verdict."""

    verdict: VerdictName | None
    """The verdict; null where none is kept any more."""
    devices: int
    """How many devices."""


class WithdrawnNight(Record):
    """That a nightly does not count any more."""

    at: Time
    """When it was withdrawn."""
    reason: str
    """Why."""


class NightlyHead(Record):
    """A nightly: one PyTorch on every device."""

    plan_id: str
    """The nightly."""
    planned_at: Time
    """When it was planned."""
    event: str
    """What started it."""
    url: str | None
    """Page of its workflow run."""
    torch: str | None
    """The version of the nightly build that was tested; null when no device reported it with its commit."""
    commit: str | None
    """That build's commit."""
    verdicts: tuple[VerdictCount, ...]
    """The devices that it expected, by verdict, what needs a person first."""


class NightlyEntry(NightlyHead):
    """A nightly, and its address."""

    path: str
    """Address of its file."""
    page: str
    """Address of its page."""


class NightliesFile(Compact):
    """nightlies.json: every nightly."""

    page: str
    """Address of the newest of them for people."""
    nightlies: tuple[NightlyEntry, ...]
    """Oldest first."""


class NightlyDevice(Record):
    """A device that a nightly expected a report from."""

    device: str
    """Name of the device."""
    verdict: VerdictName | None
    """Its verdict on that nightly; null where it is not kept any more."""
    before: Annotated[str | None, Field(exclude_if=lambda words: words is None)] = None
    """What it was before a late report, until when and why; absent where the report came in time, or never."""
    passed: PassRate | None
    """Tests of the required suites; null where nothing was reported."""
    torch: str | None
    """The version that was installed, or else the one that was going to be."""
    commit: str | None
    """Its commit; null where it is not known."""
    deviation: str | None
    """What was wanted and what was got, where that differs."""
    page: str | None
    """Address of the permanent page of its run; null where there is none."""


class NightlyLeftOut(Record):
    """A device that a nightly did not run."""

    device: str
    """Name of the device."""
    paused: bool
    """Whether its file paused it."""
    reason: str
    """Why."""


class CommitsSince(Record):
    """The commits that were new on a nightly."""

    plan_id: str
    """The nightly before whose commit is known."""
    commit: str
    """Its commit."""
    address: str | None
    """Where the commits since are listed; null when there are none."""
    count: Annotated[int | None, Field(exclude_if=lambda count: count is None)] = None
    """How many there are; absent where it is not known."""


class NightlyFile(WithPage, Compact, NightlyHead):
    """nightlies/<nightly>.json: the result of every device on a nightly."""

    since: CommitsSince | None
    """What was new; null when its commit or every earlier one is unknown."""
    devices: tuple[NightlyDevice, ...]
    """By tier, then what needs a person first."""
    left_out: tuple[NightlyLeftOut, ...]
    """Those that were not expected to report."""
    new_errors: Annotated[tuple[NewError, ...], Field(exclude_if=lambda errors: not errors)] = ()
    """The errors that were not seen on any earlier one of the newest nightlies; absent where there are none."""
    more_errors: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many more there are; absent where none."""
    accuracy_regressions: Annotated[tuple[OperatorRegression, ...], Field(exclude_if=lambda errors: not errors)] = ()
    """The accuracy regressions that began on it and last; absent where there are none."""
    more_accuracy_regressions: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many more there are; absent where none."""
    failure: Annotated[NightFailure | None, Field(exclude_if=lambda found: found is None)] = None
    """What broke on it; absent where no device was broken."""
    withdrawn: Annotated[WithdrawnNight | None, Field(exclude_if=lambda found: found is None)] = None
    """When and why it was withdrawn: it has no verdicts then. Absent where it counts."""


@dataclass(frozen=True)
class NightReport:
    """What is kept of the attempt that counts of one device on one nightly, so that no run need be in memory."""

    href: str
    torch_request: TorchRequest
    torch: TorchBuild | None
    passed: PassRate
    plugin: PluginBuild | None = None


def night_reports(device: str, pages: Sequence[RunPage], plans: Mapping[str, Plan]) -> dict[str, NightReport]:
    """What a device reported, by nightly: of every nightly the attempt that counts."""
    found = {}
    for plan_id, page in by_nightly(pages).items():
        plan = plans.get(plan_id)
        expected = plan.expected(device) if plan is not None else None
        if expected is not None:
            passed = page.stored.counts(expected.required_suites).pass_rate
            run = page.run
            found[plan_id] = NightReport(page.path, run.torch_request, run.torch, passed, run.plugin)
    return found


def builds_of(plans: Iterable[str], reported: Mapping[str, Mapping[str, NightReport]]) -> dict[str, TorchBuild]:
    """The build of PyTorch that each nightly tested, where its devices reported it."""
    found = {}
    for plan_id in plans:
        tonight = (reports[plan_id] for reports in reported.values() if plan_id in reports)
        build = build_of_nightly((item.torch_request, item.torch) for item in tonight)
        if build is not None:
            found[plan_id] = build
    return found


def nightly_pages(
    maker: PageMaker,
    nightlies: Iterator[NightlyFile],
    plans: Sequence[Plan],
    drawn: Mapping[str, object],
    withdrawn: Sequence[NightlyFile] = (),
    cut: Mapping[str, Container[str]] = MappingProxyType({}),
) -> Iterator[File]:
    """A page for every nightly and the list of all, each with its file; of an old one the page has only counts.

    Args:
        nightlies: the nightlies, oldest first.
        drawn: the nights of all devices, for the list.
        withdrawn: those that do not count any more, whose addresses stay.
        cut: by nightly, the devices of which not all errors on it are looked at.

    """
    entries: list[NightlyEntry] = []
    newest: deque[NightlyFile] = deque(maxlen=NIGHTS_LISTED)
    ids = [None, *(plan.id for plan in plans), None]

    def files_of(night: NightlyFile, before: str | None, after: str | None, *, is_old: bool = False) -> Iterator[File]:
        data, path = api_file(f"nightlies/{folder_name(night.plan_id)}.json", night), nightly_path(night.plan_id)
        values: dict[str, object] = {"page": night, "before": before, "after": after}
        if is_old:
            yield maker.show(path, "old_nightly.html", **values, file=data[0], nights_listed=NIGHTS_LISTED)
        else:
            paused = VERDICTS[VerdictName.PAUSED]
            values |= {"paused": paused, "facts_of": nightly_facts, "seen_nights": KEPT, "not_kept": cut}
            yield maker.show(path, "nightly.html", **values)
        yield data

    for number, night in enumerate(nightlies, 1):
        is_old = number <= len(plans) - NIGHTS_LISTED
        yield from files_of(night, ids[number - 1], ids[number + 1], is_old=is_old)
        folder = folder_name(night.plan_id)
        head = {name: getattr(night, name) for name in NightlyHead.model_fields}
        entries.append(
            NightlyEntry(**head, path=f"nightlies/{folder}.json", page=f"{_TOP}{nightly_path(night.plan_id)}")
        )
        newest.appendleft(night)
    for night in withdrawn:
        yield from files_of(night, None, None)
    listed = {"nights": tuple(newest), "total": len(plans), "withdrawn": withdrawn[::-1], **drawn}
    yield maker.show("n/index.html", "nightlies.html", **listed)
    yield api_file("nightlies.json", NightliesFile(page=f"{_TOP}n/index.html", nightlies=tuple(entries)))


def nightly_files(
    registry: Sequence[RegisteredDevice],
    verdicts: Verdicts,
    plans: Sequence[Plan],
    reported: Mapping[str, Mapping[str, NightReport]],
    builds: Mapping[str, TorchBuild],
    new_errors: Mapping[str, tuple[Sequence[NewError], int]] = MappingProxyType({}),
    failures: Mapping[str, NightFailure] = MappingProxyType({}),
    regressions: Mapping[str, Sequence[OperatorRegression]] = MappingProxyType({}),
) -> Iterator[NightlyFile]:
    """The result of every device on every nightly, oldest first, made one by one.

    Args:
        verdicts: what the judge found; the verdicts of past nights are in it.
        plans: every nightly, oldest first.
        reported: by device and nightly, what was reported.
        new_errors: by nightly, the errors that were first seen on it, and how many more there are.
        failures: by nightly, what broke on it.
        regressions: by nightly, the accuracy regressions that began on it.

    """
    judged: dict[str, dict[str, Night]] = {}
    for device in verdicts.devices:
        for night in device.history:
            judged.setdefault(night.plan_id, {})[device.device] = night
    devices = {item.device.name: item for item in registry}
    known: tuple[Plan, TorchBuild] | None = None
    counts = CommitCounts(plan.new_commits for plan in plans)
    for plan in plans:
        build = builds.get(plan.id)
        found = _nightly(plan, build, devices, reported, judged.get(plan.id, {}))
        errors, more = new_errors.get(plan.id, ((), 0))
        new = {"new_errors": tuple(errors), "more_errors": more, "failure": failures.get(plan.id)}
        on_it = regressions.get(plan.id, ())
        new |= {
            "accuracy_regressions": tuple(on_it[:REGRESSIONS]),
            "more_accuracy_regressions": len(on_it[REGRESSIONS:]),
        }
        yield found.model_copy(update={"since": _since(build, known, counts), **new})
        known = (plan, build) if build is not None else known


def withdrawn_nightlies(
    registry: Sequence[RegisteredDevice],
    withdrawn: Sequence[Withdrawn],
    reported: Mapping[str, Mapping[str, NightReport]],
) -> Iterator[NightlyFile]:
    """What was reported on nightlies that do not count any more, oldest first; as :func:`nightly_files`."""
    devices = {item.device.name: item for item in registry}
    builds = builds_of([item.plan.id for item in withdrawn], reported)
    for item in withdrawn:
        note = WithdrawnNight(at=item.at, reason=one_line(item.reason))
        found = _nightly(item.plan, builds.get(item.plan.id), devices, reported, {})
        yield found.model_copy(update={"verdicts": (), "withdrawn": note})


def _nightly(
    plan: Plan,
    build: TorchBuild | None,
    devices: Mapping[str, RegisteredDevice],
    reported: Mapping[str, Mapping[str, NightReport]],
    judged: Mapping[str, Night],
) -> NightlyFile:
    """The result of every device on a nightly; what was new in its PyTorch is left open."""
    rows = [
        _row(run, judged.get(run.device), reported.get(run.device, {}).get(plan.id), registered=run.device in devices)
        for run in plan.runs
    ]
    tiers = {name: item.device.tier for name, item in devices.items()}
    rows.sort(key=lambda row: urgency(tiers.get(row.device), row.verdict))
    counts = Counter(row.verdict for row in sorted(rows, key=lambda row: urgency(None, row.verdict)))
    return NightlyFile(
        plan_id=plan.id,
        planned_at=plan.created_at,
        event=plan.trigger.event,
        url=web_address(plan.trigger.url),
        torch=one_line(build.version, 60) if build else None,
        commit=build.source if build else None,
        verdicts=tuple(VerdictCount(verdict=verdict, devices=count) for verdict, count in counts.items()),
        page=f"../{_TOP}{nightly_path(plan.id)}",
        since=None,
        devices=tuple(rows),
        left_out=_left_out(plan, devices),
    )


def nightly_facts(night: NightlyFile) -> tuple[Fact, ...]:
    """Which PyTorch it was, and its commits since the nightly before whose commit is known."""
    if night.torch is None:
        return (Fact("PyTorch", "unknown: no device reported the commit of a nightly build"),)
    commit, since = night.commit or "", night.since
    facts = [
        Fact("PyTorch", night.torch, code=True),
        Fact("commit", commit[:12], pytorch_commit(commit), code=True, whole=commit),
    ]
    if night.withdrawn is not None:
        return tuple(facts)
    if since is None:
        return (*facts, Fact("new commits", "unknown: no earlier nightly has a known commit"))
    before = one_line(since.plan_id, 60)
    span = f"{since.commit[:7]}...{commit[:7]}" if since.address else "none"
    count = f", {many(since.count, 'commit')}," if since.count is not None else ""
    return (*facts, Fact("new commits", f"{span}{count} since nightly {before}", since.address))


def _since(
    build: TorchBuild | None, known: tuple[Plan, TorchBuild] | None, counts: CommitCounts
) -> CommitsSince | None:
    """The commits since the last nightly before whose build is known."""
    if build is None or known is None:
        return None
    plan, before = known
    return CommitsSince(
        plan_id=plan.id,
        commit=before.source or "",
        address=commits_between(before, build),
        count=counts.between(before.source, build.source),
    )


def _row(run: PlannedRun, night: Night | None, told: NightReport | None, *, registered: bool) -> NightlyDevice:
    build = told.torch if told else None
    commit = build.git_version if build else None
    torch = torch_view(told.torch_request if told else run.torch, build)
    return NightlyDevice(
        device=run.device if registered else one_line(run.device, 60),
        verdict=night.verdict if night else None,
        before=before_words(night.before) if night and night.before else None,
        passed=told.passed if told else None,
        torch=torch.version,
        commit=commit if pytorch_commit(commit) else None,
        deviation=torch.marker,
        page=f"../{_TOP}{told.href}" if told and registered else None,
    )


def _left_out(plan: Plan, devices: Mapping[str, RegisteredDevice]) -> tuple[NightlyLeftOut, ...]:
    """The devices without a result, each with the reason; a device that the plan does not name is listed, too."""
    named = {run.device for run in plan.runs} | {item.device for item in plan.left_out}
    rows = [
        (item.device if item.device in devices else one_line(item.device, 60), item.paused, one_line(item.reason))
        for item in plan.left_out
    ]
    rows += [(name, False, "the plan of this nightly does not name it") for name in devices if name not in named]
    return tuple(NightlyLeftOut(device=name, paused=paused, reason=reason) for name, paused, reason in rows)
