"""Reading the page that ``tests/device/ops/report.py`` makes, so that it can be held against a later run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from programs import program

SUITES = Path(__file__).parents[1] / "device"

VERSION = re.compile(r"in a run with torch (?P<torch>\S+?),")
DIFFERENCE = re.compile(r"\| `(?P<name>\S+)` \| (?P<kind>\w+) \| (?P<detail>[\w, ]*) \| (?P<result>[\w-]+) \| .* \|")
LEFT_OUT = re.compile(r"\| `(?P<name>\S+)` \| (?P<kind>\w+) \| (?P<details>[\w,; ]*) \| .* \|")
NATIVE = re.compile(r"- \*\*(?P<kind>\w+)\*\*, \d+ of \d+: (?P<names>.*)")
NATIVE_NAME = re.compile(r"`(?P<name>[^`]+)`(?: \((?P<details>[^)]*)\))?")

Test = tuple[str, str, str]
"""Kind, name and detail of a test, as the page has them."""


@dataclass(frozen=True)
class Page:
    """What the page says.

    Attributes:
        torch: the version of torch that it is of.
        exceptions: the result of each test that is neither native nor on the fallback.
        native: of what ran natively, by kind and name, in which details; None for all.

    """

    torch: str
    exceptions: Mapping[Test, str]
    native: Mapping[tuple[str, str], frozenset[str] | None]

    def result(self, test: Test) -> str:
        """What the page says of a test."""
        kind, name, detail = test
        if test in self.exceptions:
            return self.exceptions[test]
        if (kind, name) not in self.native:
            return "fallback"
        details = self.native[kind, name]
        return "native" if details is None or detail in details else "fallback"


def read_page(text: str) -> Page:
    """Read the page.

    Raises:
        ValueError: it does not say which torch it is of.

    """
    version = VERSION.search(text)
    if version is None:
        raise ValueError("the page does not say which torch it is of")
    sections = {part.partition("\n")[0]: part for part in text.split("\n## ")}
    exceptions: dict[Test, str] = {}
    for row in DIFFERENCE.finditer(sections["Differences from the cpu"]):
        exceptions[row["kind"], row["name"], row["detail"]] = row["result"]
    for row in LEFT_OUT.finditer(sections["Left out: fails on the CPU"]):
        for detail in row["details"].split("; "):
            exceptions[row["kind"], row["name"], detail] = "control"
    native = {
        (line["kind"], found["name"]): frozenset(found["details"].split("; ")) if found["details"] else None
        for line in NATIVE.finditer(sections["Without the fallback"])
        for found in NATIVE_NAME.finditer(line["names"])
    }
    return Page(version["torch"], exceptions, native)


def load_report() -> ModuleType:
    """The program that makes the page."""
    return program(SUITES / "ops" / "report.py")
