"""What nights were like, for programs: the same as on the pages of nightlies and of trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ootci.history.trends import Measured, Tests, TrendDay
from ootci.model.verdict import DeviceVerdict

from .links import TRENDS, device_path, web_address
from .pages.trends import BadNight, StageSeconds, TrendFile, TrendNight, TrendTests

_TOP = "../../"


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
