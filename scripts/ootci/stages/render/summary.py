"""The step summary of GitHub Actions: the front page in markdown."""

from __future__ import annotations

from ootci.model.device import RegisteredDevice
from ootci.model.verdict import Verdicts
from ootci.model.words import many

from .front import DeviceRow, fallbacks, front_rows
from .markdown import Sheet, marked, safe
from .nights import night_grid
from .words import day, moment, new_failures, spoken

LIMIT_BYTES = 256 * 1024
"""A quarter of what GitHub takes for a step, so that other steps' summaries fit beside it."""

_HEADINGS = ("Verdict", "Device", "Tier", "Where", "Reason", "New failures", "Passed", "Torch", "Since")


def step_summary(verdicts: Verdicts, registry: tuple[RegisteredDevice, ...]) -> str:
    """The nightly in markdown: the sentence, the gate, fallbacks, and a row for every device file.

    Whatever comes from a run is escaped, mentions and links included. Never longer than ``LIMIT_BYTES``; rows that
    did not fit are counted.
    """
    rows = front_rows(registry, verdicts, night_grid(()))
    sheet = Sheet(LIMIT_BYTES, f"\nJudged {moment(verdicts.judged_at)}.")
    sheet.add(
        f"## {safe(verdicts.summary)}",
        "",
        f"**May one merge: {spoken(verdicts.gate.answer)}.** {safe(verdicts.gate.reason)}",
        "",
        *([f"> ❌ **Not fresh:** {safe(verdicts.stale_reason)}\n"] if verdicts.stale_reason else []),
    )
    for text, devices in fallbacks(rows).items():
        sheet.add(f"> ⚠️ {safe(text)} ({', '.join(safe(row.device.name) for row in devices)})\n")
    sheet.table(_HEADINGS, map(_cells, rows), "device")
    return sheet.text()


def _cells(row: DeviceRow) -> tuple[str, ...]:
    torch = "-"
    if row.torch is not None:
        mark = " ⚠️ fallback" if row.torch.fallback else ""
        torch = f"{safe(row.torch.version or 'none')} ({row.torch.channel}){mark}"
    verdict = row.verdict
    since = day(verdict.since) if verdict.since else None
    nights = many(verdict.nights_since, "night") if verdict.nights_since else None
    return (
        marked(row.status),
        safe(row.device.display_name, 60),
        row.device.tier.value,
        row.status.where or "-",
        safe(verdict.reason, 160),
        new_failures(verdict.new_failures, is_first=verdict.is_first),
        str(verdict.counts.pass_rate),
        torch,
        ", ".join(text for text in (since, nights) if text) or "-",
    )
