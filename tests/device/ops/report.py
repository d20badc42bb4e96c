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

TEST_ID = re.compile(r"ops/test_\w+\.py::test_(?P<kind>\w+)\[(?P<parameter>[\w.+-]+)\]")
DETAILS = {"errors": 0, "module_forward": 2, "module_backward": 2, "module_errors": 2}
"""How many parts of a test's parameter say more than the name; of the other kinds one does."""
RESULTS = {
    "skipped": "control",
    "failed": "mismatch",
    "error": "mismatch",
    "crashed": "crash",
    "timed_out": "time-out",
}
"""What an outcome means here; the others mean themselves."""
COLUMNS = ("native", "fallback", "passed", "control", "unsupported", "mismatch", "crash", "time-out")
PLAIN = ("native", "fallback", "passed")
CONTROL = "control"
CAUSE = re.compile(r"(?:.*?\bsample \d+: .*?\)): (?P<cause>.*)")
MAX_CAUSE = 300


@dataclass(frozen=True)
class End:
    """How a test ended.

    Attributes:
        name: of the operator, module or optimizer.
        detail: its dtype, mode or way, as far as it has them.
        kind: of the test: ``forward``, ``out`` and so on.
        result: one of ``COLUMNS``, or an outcome that has no column.
        message: what happened, in a line.

    """

    name: str
    detail: str
    kind: str
    result: str
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
            count = DETAILS.get(named["kind"], 1)
            name, *details = named["parameter"].rsplit("-", count) if count else [named["parameter"]]
            last[named[0]] = End(
                name,
                ", ".join(details),
                named["kind"],
                _result(str(event.get("outcome")), event.get("ran")),
                str(event.get("message") or ""),
            )
    return list(last.values())


def _result(outcome: str, ran: object) -> str:
    return str(ran) if outcome == "passed" and ran is not None else RESULTS.get(outcome, outcome)


def use(found: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """How often each operator ran natively and on the fallback, added up over the processes."""
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for event in found:
        if event.get("event") == "operators":
            for name, ways in event["counts"].items():
                total[name].update(ways)
    return {name: (ways["native"], ways["fallback"]) for name, ways in sorted(total.items())}


def counts_table(tests: Sequence[End]) -> list[str]:
    """Tests by kind and by dtype, mode or way."""
    columns = [*COLUMNS, *sorted({test.result for test in tests} - set(COLUMNS))]
    columns = [column for column in columns if any(test.result == column for test in tests)]
    groups: dict[tuple[str, str], list[End]] = defaultdict(list)
    for test in tests:
        groups[test.kind, test.detail].append(test)
    return [
        f"| | | tests | {' | '.join(columns)} |",
        f"|---|---|{'--:|' * (len(columns) + 1)}",
        *(_counts_row(kind, detail, group, columns) for (kind, detail), group in groups.items()),
        _counts_row("all", "", tests, columns),
    ]


def _counts_row(kind: str, detail: str, group: Sequence[End], columns: Sequence[str]) -> str:
    came = Counter(test.result for test in group)
    cells = [kind, detail, len(group), *(came[column] for column in columns)]
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def excluded_table(tests: Sequence[End]) -> list[str]:
    """What fails on the CPU, with the reason."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for test in tests:
        if test.result == CONTROL:
            groups[test.name, test.kind, cause(test.message)].append(test.detail)
    rows = [
        f"| `{name}` | {kind} | {'; '.join(details)} | {_cell(why)} |"
        for (name, kind, why), details in sorted(groups.items())
    ]
    return ["| | | | reason |", "|---|---|---|---|", *rows] if rows else ["None."]


def differences_table(tests: Sequence[End]) -> list[str]:
    """What is neither plainly native or fallback nor left out, each with what happened."""
    rows = [
        f"| `{test.name}` | {test.kind} | {test.detail} | {test.result} | {_cell(cause(test.message))} |"
        for test in tests
        if test.result not in (*PLAIN, CONTROL)
    ]
    return ["| | | | result | what happened |", "|---|---|---|---|---|", *rows] if rows else ["None."]


def native_lists(tests: Sequence[End]) -> list[str]:
    """By kind, what ran without the fallback; where that is not so in every dtype, mode and way, in which."""
    results: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for test in tests:
        if test.result in PLAIN:
            results[test.kind][test.name][test.detail] = test.result
    lines = []
    for kind, by_name in results.items():
        native = [shown for name, found in sorted(by_name.items()) if (shown := _native_in(name, found)) is not None]
        lines.append(f"- **{kind}**, {len(native)} of {len(by_name)}: {', '.join(native) or 'none'}")
    return lines


def _native_in(name: str, found: Mapping[str, str]) -> str | None:
    native = [detail for detail, result in found.items() if result == "native"]
    if not native:
        return None
    return f"`{name}`" if len(native) == len(found) else f"`{name}` ({'; '.join(native)})"


def cause(message: str) -> str:
    """The error in a message, without the sample."""
    found = CAUSE.fullmatch(message)
    return (found["cause"] if found else message)[:MAX_CAUSE]


def use_section(counted: Mapping[str, tuple[int, int]]) -> list[str]:
    """Which operators of the dispatcher ran natively and which on the fallback."""
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
    counted = use(found)
    sections = [
        [f"# Operators on {device}"],
        [
            "What the suite `ops` of `tests/device` found in a run with "
            f"{versions}. What PyTorch lists (operators, modules, optimizers, wrong calls, `out=`) runs its samples on "
            "the cpu twice, then on the device. What the cpu itself does not repeat is no reference and is left out. "
            "This page is generated:",
        ],
        ["```console", *_commands(device), "```"],
        ["## Counts"],
        [
            "A test is `native` when nothing ran on the fallback during it, `fallback` when anything did; `control` is "
            "what fails on the cpu itself."
        ]
        if counted
        else ["The device does not count what runs on a fallback."],
        counts_table(tests),
        ["## Differences from the cpu"],
        differences_table(tests),
        ["## Left out: fails on the CPU"],
        excluded_table(tests),
        *([["## Without the fallback"], native_lists(tests), ["## Calls"], use_section(counted)] if counted else []),
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
