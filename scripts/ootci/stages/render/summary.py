"""The step summary of GitHub Actions: the front page in markdown."""

from __future__ import annotations

from ootci.model.device import RegisteredDevice
from ootci.model.verdict import Verdicts
from ootci.model.words import many

from .facts import torch_view
from .markdown import Sheet, marked, safe
from .pages.front import DeviceEntry, by_urgency, devices_file, fallbacks
from .status import VERDICTS, verdict_of_each
from .words import day, moment, new_failures, spoken

LIMIT_BYTES = 256 * 1024
"""A quarter of what GitHub takes for a step, so that other steps' summaries fit beside it."""

_HEADINGS = ("Verdict", "Device", "Tier", "Where", "Reason", "New failures", "Passed", "Torch", "Since")


def step_summary(verdicts: Verdicts, registry: tuple[RegisteredDevice, ...]) -> str:
    """The nightly in markdown: the sentence, the gate, fallbacks, and a row for every device file.

    Whatever comes from a run is escaped, mentions and links included. Never longer than ``LIMIT_BYTES``; rows that
    did not fit are counted.
    """
    rows, judged = by_urgency(devices_file(registry, verdicts).devices), verdict_of_each(registry, verdicts)
    sheet = Sheet(LIMIT_BYTES, f"\nJudged {moment(verdicts.judged_at)}.")
    sheet.add(
        f"## {safe(verdicts.summary)}",
        "",
        f"**May one merge: {spoken(verdicts.gate.answer)}.** {safe(verdicts.gate.reason)}",
        "",
        *([f"> ❌ **Not fresh:** {safe(verdicts.stale_reason)}\n"] if verdicts.stale_reason else []),
    )
    for text, devices in fallbacks(rows).items():
        sheet.add(f"> ⚠️ {safe(text)} ({', '.join(safe(row.device) for row in devices)})\n")
    sheet.table(_HEADINGS, (_cells(row, judged[row.device].nights_since) for row in rows), "device")
    return sheet.text()


def _cells(row: DeviceEntry, nights_since: int) -> tuple[str, ...]:
    torch, status = "-", VERDICTS[row.verdict]
    if row.torch_request is not None:
        tested = torch_view(row.torch_request, row.torch)
        mark = " ⚠️ fallback" if tested.fallback else ""
        torch = f"{safe(tested.version or 'none')} ({tested.channel}){mark}"
    since = day(row.since) if row.since else None
    nights = many(nights_since, "night") if nights_since else None
    return (
        marked(status),
        safe(row.display_name, 60),
        row.tier.value,
        status.where or "-",
        safe(row.reason, 160),
        new_failures(row.new_failures, is_first=row.is_first),
        str(row.counts.pass_rate),
        torch,
        ", ".join(text for text in (since, nights) if text) or "-",
    )
