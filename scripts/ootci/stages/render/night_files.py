"""What nights were like, for programs: the same as on the pages of nightlies and of trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ootci.history.trends import Measured, Tests, TrendDay
from ootci.model.published_nights import (
    BadNight,
    CommitsSince,
    NightliesFile,
    NightlyDevice,
    NightlyEntry,
    NightlyFile,
    NightlyHead,
    NightlyLeftOut,
    StageSeconds,
    TrendFile,
    TrendNight,
    TrendTests,
    VerdictCount,
)
from ootci.model.verdict import DeviceVerdict

from .links import TRENDS, device_path, web_address
from .nightlies import NightlyPage, NightlyRow
from .text import one_line

NIGHTLIES = "nightlies"
_TOP = "../../"


def nightly_file_path(folder: str) -> str:
    """Where the file of a nightly lies, from the API's folder; ``folder`` is that of its page."""
    return f"{NIGHTLIES}/{folder}.json"


def nightlies_file(entries: Sequence[NightlyEntry]) -> bytes:
    """The list of nightlies.

    Args:
        entries: every nightly, oldest first.

    """
    return NightliesFile(page=f"{_TOP}n/index.html", nightlies=tuple(entries)).to_json().encode("utf-8")


def nightly_entry(night: NightlyPage) -> NightlyEntry:
    """A nightly on the list."""
    return NightlyEntry(
        **vars(_head(night)), path=nightly_file_path(night.folder), page=f"{_TOP}n/{night.folder}/index.html"
    )


def nightly_file(night: NightlyPage) -> bytes:
    """What became of every device on a nightly."""
    since = night.since
    file = NightlyFile(
        **vars(_head(night)),
        page=f"../{_TOP}n/{night.folder}/index.html",
        since=CommitsSince(plan_id=since.plan_id, commit=since.commit, address=since.address) if since else None,
        devices=tuple(_device(row) for row in night.rows),
        left_out=tuple(
            NightlyLeftOut(device=row.who.name, paused=row.paused, reason=row.reason) for row in night.left_out
        ),
    )
    return file.to_json().encode("utf-8")


def _head(night: NightlyPage) -> NightlyHead:
    plan, build = night.plan, night.build
    return NightlyHead(
        plan_id=plan.id,
        planned_at=plan.created_at,
        event=plan.trigger.event,
        url=night.trigger_href,
        torch=one_line(build.version, 60) if build else None,
        commit=build.git_version if build else None,
        verdicts=tuple(VerdictCount(verdict=verdict, devices=count) for verdict, count in night.counts),
    )


def _device(row: NightlyRow) -> NightlyDevice:
    return NightlyDevice(
        device=row.who.name,
        verdict=row.verdict,
        passed=row.passed,
        torch=row.torch.version,
        commit=row.commit.whole if row.commit else None,
        deviation=row.torch.marker,
        page=f"../{_TOP}{row.href}" if row.href else None,
    )


def trend_file(device: str, verdict: DeviceVerdict, days: Sequence[TrendDay], pages: Mapping[str, str]) -> bytes:
    """The last three months of a device.

    Args:
        device: its name.
        verdict: what the judge found; the verdicts of past nights are in it.
        days: its days, oldest first.
        pages: the page of the run of each nightly, from the top.

    """
    verdicts = {night.plan_id: night.verdict for night in verdict.history}
    nights = tuple(
        TrendNight(
            day=item.day,
            plan_id=item.plan_id,
            verdict=verdicts.get(item.plan_id),
            page=f"../{_TOP}{pages[item.plan_id]}" if item.plan_id in pages else None,
            bad=BadNight(reason=item.bad.reason, link=web_address(item.bad.link)) if item.bad else None,
            tests=_tests(item.tests),
            duration=item.measured.duration if item.measured else None,
            queued=item.measured.queued if item.measured else None,
            stages=_stages(item.measured),
            collected_before=item.collected_before,
        )
        for item in days
        if item.plan_id is not None
    )
    file = TrendFile(
        device=device,
        page=f"../{_TOP}{device_path(device, TRENDS)}",
        first=days[0].day if days else None,
        last=days[-1].day if days else None,
        nights=nights,
    )
    return file.to_json().encode("utf-8")


def _tests(tests: Tests | None) -> TrendTests | None:
    return TrendTests(**vars(tests)) if tests is not None else None


def _stages(measured: Measured | None) -> tuple[StageSeconds, ...]:
    return tuple(StageSeconds(name=name, seconds=took) for name, took in measured.stages.items()) if measured else ()
