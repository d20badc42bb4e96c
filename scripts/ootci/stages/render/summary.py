"""The step summary of GitHub Actions: the front page in markdown."""

from __future__ import annotations

import re

from ootci.model.device import RegisteredDevice
from ootci.model.verdict import Verdicts

from .front import DeviceRow, front_page
from .text import one_line
from .words import many, moment

LIMIT_BYTES = 256 * 1024
"""A quarter of what GitHub takes for a step, so that other steps' summaries fit beside it."""

_MARKS = {"good": "✅", "bad": "❌", "warn": "⚠️", "off": "⚪"}
_SPECIAL = re.compile(r"[\\`*_\[\]<>#!|~@&$]|:(?=//|[\w+-]+:)|(?<=www)\.", re.IGNORECASE)
"""What means something to markdown or HTML, and what GitHub makes links, mentions and emoji of."""


def step_summary(verdicts: Verdicts, registry: tuple[RegisteredDevice, ...]) -> str:
    """The nightly in markdown: the sentence, the gate, fallbacks, and a row for every device file.

    Whatever comes from a run is escaped, mentions and links included. Never longer than ``LIMIT_BYTES``; rows that
    did not fit are counted.
    """
    page = front_page(registry, verdicts, {})
    answer = "yes" if verdicts.gate.may_merge else "no"
    lines = [
        f"## {_safe(verdicts.summary)}",
        "",
        f"**May one merge: {answer}.** {_safe(verdicts.gate.reason)}",
        "",
        *([f"> ❌ **Not fresh:** {_safe(verdicts.stale_reason)}\n"] if verdicts.stale_reason else []),
        *(
            f"> ⚠️ {_safe(banner.text)} ({', '.join(_safe(row.name) for row in banner.devices)})\n"
            for banner in page.fallbacks
        ),
        "| Verdict | Device | Tier | Where | Reason | New failures | Passed | Torch | Since |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    foot = f"\nJudged {moment(verdicts.judged_at)}.\n"
    room = LIMIT_BYTES - len(foot.encode()) - 200 - sum(len(line.encode()) + 1 for line in lines)
    for index, row in enumerate(page.rows):
        line = _line(row)
        room -= len(line.encode()) + 1
        if room < 0:
            lines.append(f"\n{many(len(page.rows) - index, 'more device')} did not fit here.")
            break
        lines.append(line)
    return "\n".join(lines) + "\n" + foot


def _line(row: DeviceRow) -> str:
    torch = "-"
    if row.torch is not None:
        mark = " ⚠️ fallback" if row.torch.fallback else ""
        torch = f"{_safe(row.torch.version or 'none')} ({row.torch.channel}){mark}"
    cells = [
        f"{_MARKS[row.status.tone]} {row.status.word}",
        _safe(row.display_name),
        row.tier,
        row.where or "-",
        _safe(row.reason),
        str(row.new_failures),
        str(row.counts.pass_rate),
        torch,
        ", ".join(text for text in (row.since, row.nights) if text) or "-",
    ]
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    """Text as itself: a character reference shows the character and has no meaning for markdown or HTML."""
    # Mentions are looked for after references have been resolved, so that only another character breaks them up.
    return _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", one_line(text)).replace("&#64;", "&#64;&#8203;")
