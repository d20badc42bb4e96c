"""Invented JUnit reports in pytest's format, and event logs: 2 % fail with 40 lines of text, 8 % are skipped."""

from __future__ import annotations

import json
import random
from pathlib import Path

_LINES = "\n".join(
    f"    File tests/device/x.py, line {n}: assert tensor[{n}] == expected &lt;{n}&gt;" for n in range(40)
)
_HEAD = '<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" tests="{}">'


def write_reports(folder: Path, cases: int, files: int) -> list[Path]:
    """Write reports that hold so many test cases together; the same numbers, the same bytes."""
    paths = []
    for number in range(files):
        path = folder / f"junit-{number:03d}.xml"
        chance = random.Random(number)  # noqa: S311 (the same numbers each time)
        with path.open("w", encoding="utf-8") as stream:
            stream.write(_HEAD.format(cases // files))
            first = number * (cases // files)
            stream.writelines(_case(case, chance) for case in range(first, first + cases // files))
            stream.write("</testsuite></testsuites>")
        paths.append(path)
    return paths


def _case(number: int, chance: random.Random) -> str:
    name = f'classname="ops.test_forward.Test{number // 500}" name="test_operator_equals_cpu[add_{number}-float32]"'
    head = f'<testcase {name} time="{chance.random():.3f}"'
    kind = chance.random()
    if kind < 0.02:
        return f'{head}><failure message="AssertionError: expected {number}">{_LINES}</failure></testcase>'
    if kind < 0.10:
        return f'{head}><skipped type="pytest.skip" message="no card {number}">x.py:12: no card</skipped></testcase>'
    return f"{head} />"


def write_events(path: Path, cases: int) -> None:
    """Write the event log of a suite that holds so many tests."""
    chance = random.Random(0)  # noqa: S311 (the same numbers each time)
    ids = [f"ops/test_forward.py::test_operator_equals_cpu[add_{number}-float32]" for number in range(cases)]
    told = {"suite": "ops", "capability": "ops", "title": "An operator on the device gives what the cpu gives."}
    with path.open("w", encoding="utf-8") as stream:

        def tell(**event: object) -> None:
            stream.write(json.dumps(event) + "\n")

        for stage in ("import", "check"):
            tell(event="stage_start", stage=stage, time="2026-11-01T04:00:00.000Z")
            tell(event="stage_end", stage=stage, status="passed")
        tell(event="stage_start", stage="ops", time="2026-11-01T04:00:00.000Z")
        for begin in range(0, cases, 10_000):
            tell(event="collected", tests=[{"id": test, **told} for test in ids[begin : begin + 10_000]])
        for test in ids:
            tell(event="test_start", id=test)
            tell(event="test_end", id=test, duration=round(chance.random(), 3), **_ending(chance.random()))
        tell(event="stage_end", stage="ops", status="failed", only_tests=True)


def _ending(kind: float) -> dict[str, str]:
    if kind < 0.02:
        return {"outcome": "failed", "message": "AssertionError: expected 1", "text": _LINES}
    return {"outcome": "skipped", "message": "no card"} if kind < 0.10 else {"outcome": "passed"}
