"""Tells in Markdown what the suite ops found, from the event logs of its runs.

    python -m pytest ops --device NAME --ops-dtypes all --events=device.jsonl
    python ops/report.py NAME device.jsonl > OPERATORS.md

Give several logs when the suite was run in parts; of a test that ran more than once the last end counts. Run this with
the Python that ran the tests, because the versions in the report are its own.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

TEST_ID = re.compile(r"ops/test_\w+\.py::test_(?P<direction>\w+)\[(?P<operator>[\w.+-]+)-(?P<dtype>\w+)\]")
GOOD, EXCLUDED = "passed", "skipped"
CAUSE = re.compile(r"(?:.*?\bsample \d+: .*?\)): (?P<cause>.*)")
MAX_CAUSE = 300


@dataclass(frozen=True)
class End:
    """How the test of an operator and dtype ended."""

    operator: str
    dtype: str
    direction: str
    outcome: str
    duration: float
    message: str


def events(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The events of a log; a line that was cut off is passed over."""
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def ends(found: Iterable[Mapping[str, Any]]) -> list[End]:
    """The ends of this suite's tests, in the order in which they began."""
    last: dict[str, End] = {}
    for event in found:
        named = TEST_ID.fullmatch(str(event.get("id"))) if event.get("event") == "test_end" else None
        if named is not None:
            last[named[0]] = End(
                named["operator"],
                named["dtype"],
                named["direction"],
                str(event.get("outcome")),
                float(event.get("duration") or 0.0),
                str(event.get("message") or ""),
            )
    return list(last.values())


def use(found: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """How often each operator ran natively and on the fallback, added up over the processes."""
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for event in found:
        if event.get("event") == "operators":
            for name, ways in event["counts"].items():
                total[name].update(ways)
    return {name: (ways["native"], ways["fallback"]) for name, ways in sorted(total.items())}


def counts_table(tests: Sequence[End]) -> list[str]:
    """Tests by direction and dtype."""
    rows = [
        "| | dtype | operators | passed | fail on the control | differ | seconds |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    groups: dict[tuple[str, str], list[End]] = defaultdict(list)
    for test in tests:
        groups[test.direction, test.dtype].append(test)
    for (direction, dtype), group in groups.items():
        rows.append(_counts_row(direction, dtype, group))
    rows.append(_counts_row("all", "", tests))
    return rows


def _counts_row(direction: str, dtype: str, group: Sequence[End]) -> str:
    came = Counter(test.outcome for test in group)
    differ = len(group) - came[GOOD] - came[EXCLUDED]
    seconds = sum(test.duration for test in group)
    return f"| {direction} | {dtype} | {len(group)} | {came[GOOD]} | {came[EXCLUDED]} | {differ} | {seconds:.0f} |"


def excluded_table(tests: Sequence[End]) -> list[str]:
    """What fails on the control, by operator, with the dtypes and the reason."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for test in tests:
        if test.outcome == EXCLUDED:
            groups[test.operator, test.direction, cause(test.message)].append(test.dtype)
    rows = [
        f"| `{operator}` | {direction} | {', '.join(dtypes)} | {_cell(why)} |"
        for (operator, direction, why), dtypes in sorted(groups.items())
    ]
    return ["| operator | | dtypes | reason |", "|---|---|---|---|", *rows] if rows else ["None."]


def differences_table(tests: Sequence[End]) -> list[str]:
    """What differs from the control, each with what happened."""
    rows = [
        f"| `{test.operator}` | {test.direction} | {test.dtype} | {test.outcome} | {_cell(cause(test.message))} |"
        for test in tests
        if test.outcome not in (GOOD, EXCLUDED)
    ]
    return ["| operator | | dtype | outcome | what happened |", "|---|---|---|---|---|", *rows] if rows else ["None."]


def cause(message: str) -> str:
    """What a message says happened, without the sample that it happened to."""
    found = CAUSE.fullmatch(message)
    return (found["cause"] if found else message)[:MAX_CAUSE]


def use_section(counted: Mapping[str, tuple[int, int]]) -> list[str]:
    """Which operators ran natively and which on the fallback."""
    if not counted:
        return ["The device does not count."]
    native = [name for name, (natively, _) in counted.items() if natively]
    both = sum(1 for natively, fallback in counted.values() if natively and fallback)
    calls = sum(natively for natively, _ in counted.values()), sum(fallback for _, fallback in counted.values())
    return [
        f"{len(counted)} operators of the dispatcher ran: {len(native)} natively ({calls[0]} calls), "
        f"{len(counted) - len(native) + both} through the fallback ({calls[1]} calls), {both} of them both ways.",
        "",
        "Natively: " + ", ".join(f"`{name.removeprefix('aten::')}`" for name in native) + ".",
    ]


def report(device: str, found: Sequence[Mapping[str, Any]], versions: str) -> str:
    """The whole report.

    Raises:
        ValueError: the logs have no test of this suite.

    """
    tests = ends(found)
    if not tests:
        raise ValueError("the logs have no ended test of the suite ops")
    sections = [
        [f"# Operators on {device}"],
        [
            "What the suite `ops` of `tests/device` found in a run with "
            f"{versions}. Each operator of PyTorch's own list runs its samples on the cpu twice, then on the device. "
            "What the cpu itself does not repeat is no reference and is left out. This page is generated:",
        ],
        ["```console", *_commands(device), "```"],
        ["## Counts"],
        counts_table(tests),
        ["## Differences from the cpu"],
        differences_table(tests),
        ["## Left out: fails on the control"],
        excluded_table(tests),
        ["## Native and fallback"],
        use_section(use(found)),
    ]
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _commands(device: str) -> list[str]:
    return [
        "$ cd tests/device",
        f"$ python -m pytest ops --device {device} --ops-dtypes all --events=ops.jsonl",
        f"$ python ops/report.py {device} ops.jsonl > OPERATORS.md",
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _versions() -> str:
    names = sorted({point.dist.name for point in entry_points(group="torch.backends") if point.dist is not None})
    return ", ".join(f"{name} {_version(name)}" for name in ("torch", *names))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of an unknown version"


def main() -> int:
    """Print the report, and return the exit code."""
    parser = argparse.ArgumentParser(description="Tell in Markdown what the suite ops found.")
    parser.add_argument("device", metavar="NAME", help="as in torch.device(NAME)")
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="event logs of its runs")
    arguments = parser.parse_args()
    found = [event for log in arguments.logs for event in events(log.read_text(encoding="utf-8").splitlines())]
    try:
        sys.stdout.write(report(arguments.device, found, _versions()))
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
