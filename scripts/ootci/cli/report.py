"""Short tables for people and machines on stdout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ootci.adapters.terminal import plain
from ootci.model.build import StageResult, StageStatus
from ootci.model.pull_request import PullRequestGate
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict, Gate


def seconds_text(seconds: float) -> str:
    """A duration for people: ``0.4 s``, ``12 s``, ``3 m 05 s``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{int(seconds) // 60} m {int(seconds) % 60:02d} s"


def bytes_text(size: int) -> str:
    """A number of bytes for people: ``812 B``, ``3.4 kB``, ``2.1 MB``."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 999_950 else f"{size / 1_000_000:.1f} MB"


def one_line(text: str) -> str:
    """Text of a device's run on one line, which no terminal and no workflow takes for a command."""
    return " ".join(plain(text).split())


def stage_lines(stages: Sequence[StageResult]) -> list[str]:
    """A line per stage: name, status, duration, and the reason where it did not pass."""
    lines = []
    for stage in stages:
        note = "nothing changed" if stage.cached else stage.reason or ""
        ran = stage.status is not StageStatus.NOT_RUN
        seconds = seconds_text(stage.duration) if ran else ""
        lines.append(f"{stage.name:<12}{stage.status.value:<10}{seconds:>9}  {one_line(note)}".rstrip())
    return lines


def gate_lines(gate: Gate) -> list[str]:
    """What is the matter with each device that blocks, and how to go on all the same."""
    lines = []
    for item in gate.blockers:
        since = "new since the nightly before" if item.is_new else f"since {item.since:%Y-%m-%d}" if item.since else ""
        lines.append(f"- {item.device}: {item.verdict.value}{', ' + since if since else ''}: {one_line(item.reason)}")
        lines += _named(item.first, item.new_failures)
        if item.cause_reason is not None:
            lines.append(f"    {one_line(item.cause_reason)}")
    return lines + _overrides(gate.blocking, gate.overridden)


def pull_request_lines(gate: PullRequestGate) -> list[str]:
    """What a pull request does to each device, and how to go on all the same."""
    lines = []
    for item in gate.devices:
        apart = [(item.still_failing, "failing as before"), (item.known, "known"), (item.flaky, "flaky")]
        counts = "".join(f", {number} {word}" for number, word in apart if number)
        base = f"; held against {item.base}, torch {item.base_torch or 'unknown'}" if item.base else ""
        word = item.effect.value.replace("_", " ") + ("" if item.gates else ", advisory")
        lines.append(f"- {item.device}: {word}{counts}: {one_line(item.reason + base)}")
        lines += _named(item.first, item.newly_failing)
    return lines + _overrides(gate.blocking, gate.overridden)


def _named(first: Sequence[str], total: int) -> list[str]:
    more = [f"    and {total - len(first)} more"] if total > len(first) else []
    return [f"    {one_line(test_id)}" for test_id in first] + more


def _overrides(blocking: Sequence[str], overridden: Mapping[str, str]) -> list[str]:
    lines = [f"- {name} does not block, overridden: {one_line(reason)}" for name, reason in overridden.items()]
    if blocking:
        lines.append(f"to go on all the same: {' '.join(f'--override {name}=REASON' for name in blocking)}")
    return lines


HEADINGS = ("device", "stage reached", "verdict", "passed", "failed", "skipped", "not run", "fetch+build", "tests")


def nightly_rows(verdicts: Sequence[DeviceVerdict], runs: dict[str, Run]) -> list[tuple[str, ...]]:
    """A row per device that this nightly ran, in the columns of ``HEADINGS``."""
    rows: list[tuple[str, ...]] = []
    for item in verdicts:
        run = runs.get(item.device)
        if run is None:
            continue
        reached, counts = run.stage_reached, run.counts
        building = sum(stage.duration for stage in run.stages if stage.name in ("fetch", "build"))
        testing = sum(stage.duration for stage in run.stages) - building
        rows.append(
            (
                item.device,
                reached or "none",
                item.verdict.value,
                str(counts.pass_rate),
                str(counts.failures),
                str(counts.skipped + counts.unsupported),
                str(counts.not_run),
                seconds_text(building),
                seconds_text(testing),
            )
        )
    return rows


STAGE_HEADINGS = ("stage", "status", "seconds", "reason")


def stages_text(stages: Sequence[StageResult], output_format: str) -> str:
    """What came of stages: lines for people, a table in markdown, or JSON."""
    if output_format == "text":
        return "\n".join(stage_lines(stages))
    rows = [(one.name, one.status.value, f"{one.duration:.1f}", one.reason or "") for one in stages]
    return table(STAGE_HEADINGS, rows, output_format)


def told(sentence: str, facts: Mapping[str, object], output_format: str) -> str:
    """One thing that was done: a sentence for people, the facts behind it for machines."""
    return json.dumps(facts, indent=1) if output_format == "json" else one_line(sentence)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], output_format: str) -> str:
    """Rows as aligned text, as markdown, or as JSON (a list of objects by heading)."""
    if output_format == "json":
        return json.dumps([dict(zip(headings, row, strict=True)) for row in rows], indent=1)
    if output_format == "markdown":
        lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
        lines += [" | ".join(one_line(cell).replace("|", "\\|") for cell in row) for row in rows]
        return "\n".join(f"| {line} |" for line in lines)
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in (headings, *rows)) for index in range(len(headings))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (headings, *rows)]
    return "\n".join(line.rstrip() for line in lines)
