"""Invented JUnit reports in pytest's format: 2 % of the tests fail with 40 lines of text, 8 % are skipped."""

from __future__ import annotations

import random
from pathlib import Path

FILES = 20
_LINES = "\n".join(
    f"    File tests/device/x.py, line {n}: assert tensor[{n}] == expected &lt;{n}&gt;" for n in range(40)
)
_HEAD = '<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" tests="{}">'


def write_reports(folder: Path, cases: int, files: int = FILES) -> list[Path]:
    """Write reports that hold so many test cases together; the same numbers, the same bytes."""
    paths = []
    for number in range(files):
        path = folder / f"junit-{number:03d}.xml"
        chance = random.Random(number)  # noqa: S311 (the same numbers each time)
        with path.open("w", encoding="utf-8") as stream:
            stream.write(_HEAD.format(cases // files))
            stream.writelines(_case(case, chance) for case in range(cases // files))
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
