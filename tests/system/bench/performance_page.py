"""Writes ``docs/performance.md`` from ``docs/performance.json``.

``python performance_page.py [BENCH.json ...]``: sections of the files that are given, such as the ``.ootci/bench.json``
of ``make bench``, replace those of the same name in ``docs/performance.json`` first. A section that another benchmark
measures is added to ``SECTIONS``.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[3] / "docs"
HEAD = """# What it costs

Measured by `make bench`, and written by `make performance`; edit neither this page nor its numbers. Seconds are of the
processor, medians of a few turns in which the competitors took their turn one after the other. Only ratios carry over
to another machine; noise is the range of one row's turns.
"""


@dataclass(frozen=True)
class Section:
    """A part of the page: its title, what is compared, and how its rows become lines of a table."""

    title: str
    about: str
    table: Callable[[Mapping[str, Any]], Iterable[str]]


def _reading(rows: Mapping[str, Any]) -> Iterable[str]:
    yield "| reader | seconds | ratio | noise | peak MiB |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, row in rows.items():
        cells = f"{row['processor_s']:.2f} | {row['ratio']:.2f} | {row['noise']:.0%} | {row['peak_mib']}"
        yield f"| {name} | {cells} |"


def _pages(rows: Mapping[str, Any]) -> Iterable[str]:
    yield "| tool | seconds | noise | peak MiB |"
    yield "| --- | ---: | ---: | ---: |"
    for name, row in rows.items():
        measured = not isinstance(row, str)
        cells = f"{row['processor_s']:.2f} | {row['noise']:.0%} | {row['peak_mib']}" if measured else f"{row} | |"
        yield f"| {name} | {cells} |"


def _history(rows: Mapping[str, Any]) -> Iterable[str]:
    yield "| what | a year behind, seconds | a week behind, seconds | ratio | noise |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, row in rows["seconds"].items():
        yield f"| {name} | {row['year_s']:.2f} | {row['week_s']:.2f} | {row['ratio']:.2f} | {row['noise']:.0%} |"
    size = rows["size"]
    yield ""
    millions = size["outcomes"] / 1e6
    yield f"{millions:.1f} million outcomes, each of which can be read back, take {size['git_mib']:.2f} MiB in a"
    yield "repository with a commit for each night that was never squashed. A clone without its past gets"
    yield f"{size['fetched_mib']:.2f} MiB."


def _site(rows: Mapping[str, Any]) -> Iterable[str]:
    noise = "not known" if rows["noise"] is None else f"{rows['noise']:.0%}"
    size = sum(rows["bytes"].values())
    yield "| devices | nights | tests | seconds | noise | peak MiB | files | MB |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    cells = f"{rows['seconds']:.2f} | {noise} | {rows['peak_mib']} | {rows['files']:,} | {size / 1e6:.0f}"
    yield f"| {rows['devices']} | {rows['nights']} | {rows['tests']:,} | {cells} |"
    parts = ", ".join(f"{count / 1e6:.1f} MB in `{name}`" for name, count in list(rows["bytes"].items())[:3])
    yield ""
    yield f"Of the site's bytes, {parts}; all of them are"
    yield f"{size / 1e9:.0%} of the gigabyte that GitHub Pages takes."


def _front(rows: Mapping[str, Any]) -> Iterable[str]:
    yield "| what | ms |"
    yield "| --- | ---: |"
    for name, key in (
        ("elements are there", "parsed"),
        ("scripts have run", "ready"),
        ("first text is seen", "painted"),
        ("interactive: both", "interactive"),
        ("interactive, the quickest turn", "interactive_least"),
        ("an empty page", "empty_page"),
    ):
        yield f"| {name} | {rows[key]:.0f} |"
    yield ""
    yield f"Medians of {rows['turns']} turns at a load of {rows['load']}. The page has {rows['elements']:,} elements in"
    yield f"{rows['bytes'] / 1e3:.0f} kB, {rows['compressed'] / 1e3:.1f} kB compressed."


def _suites(rows: Mapping[str, Any]) -> Iterable[str]:
    yield "| suite | tests | plain pytest, seconds | supervised, seconds | ratio | noise |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, row in rows.items():
        seconds = f"{row['plain_processor_s']:.2f} | {row['supervised_processor_s']:.2f}"
        yield f"| {name} | {row['tests']:,} | {seconds} | {row['ratio']:.2f} | {row['noise']:.0%} |"


SECTIONS: dict[str, Section] = {
    "suites": Section(
        "Supervision of the suites",
        "The same tests of the reference device under plain pytest, and under the supervisor with its event log. The "
        "supervision may cost 5 % of the tests' own time.",
        _suites,
    ),
    "ingest": Section(
        "Reading JUnit and the event log",
        "200,000 test cases in one report of pytest's format, 2 % failures with 40 lines of text, 8 % skipped. Ratios "
        "are to expat building a tuple for each case, which is the least that a reader in Python does. A vendor's "
        "report is read by junitparser behind a guard. `ootci collect` reads an event log of as many tests and writes "
        "run.json, report.xml and the suite's report.",
        _reading,
    ),
    "history": Section(
        "A year of history",
        "Twenty invented devices with 10,000 tests each, every night for a year. What is kept for a while only, such "
        "as texts of failures, is not counted.",
        _history,
    ),
    "site": Section(
        "The dashboard",
        "The whole site, rendered from nothing. Invented devices with so many tests each; every failing test has a "
        "dozen lines of text, which are kept for 90 nights.",
        _site,
    ),
    "site_large": Section(
        "The dashboard of fifty devices",
        "The same with as many devices as are ever hoped for, in one turn.",
        _site,
    ),
    "front": Section(
        "The front page of fifty devices in Chromium",
        "From the disk, with an empty cache, without a graphics processor; milliseconds since the navigation began.",
        _front,
    ),
    "pages": Section(
        "From reports to pages",
        "200,000 test cases. In 20 reports, one of each device: what we need to collect them, keep them, judge them "
        "and make every page of the site, and what others need to make a page of each. In one report: what we need to "
        "collect it and to make the pages of its device, of which each error has one, and what others need to make one "
        "page. Each process is measured as a whole.",
        _pages,
    ),
}


def page(measured: Mapping[str, Any]) -> str:
    """The page as text; a section that was never measured is left out."""
    machine = measured["machine"]
    lines = [HEAD, f"Machine: {machine['processors']} processors ({machine['kind']}), Python {machine['python']}."]
    for name, section in SECTIONS.items():
        if isinstance(measured.get(name), dict):  # not where it says why nothing was measured
            lines += [
                "",
                f"## {section.title}",
                "",
                textwrap.fill(section.about, 120),
                "",
                *section.table(measured[name]),
            ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Take over what was measured, and write the page."""
    source = DOCS / "performance.json"
    measured: dict[str, Any] = json.loads(source.read_text(encoding="utf-8")) if source.exists() else {}
    for path in sys.argv[1:]:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        measured |= {name: found[name] for name in ("machine", *SECTIONS) if name in found}
    source.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    (DOCS / "performance.md").write_text(page(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
