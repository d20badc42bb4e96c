"""Ways to read JUnit reports, each in a process of its own: ``python readers.py NAME FOLDER`` prints what it cost."""

from __future__ import annotations

import gc
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from multiprocessing import Process
from pathlib import Path
from string import ascii_lowercase
from xml.parsers import expat

CHUNK = 1 << 20


def _parse(path: Path, parser: expat.XMLParserType) -> None:
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            parser.Parse(chunk, False)
    parser.Parse(b"", True)


def expat_empty(paths: list[Path]) -> Callable[[], int]:
    """The floor: every element is announced to a function that does nothing."""

    def work() -> int:
        for path in paths:
            parser = expat.ParserCreate()
            parser.buffer_text = True
            parser.StartElementHandler = lambda tag, attributes: None
            parser.EndElementHandler = lambda tag: None
            parser.CharacterDataHandler = lambda text: None
            _parse(path, parser)
        return 0

    return work


def expat_records(paths: list[Path]) -> Callable[[], int]:
    """The least that a reader written in Python does: a tuple for each case, which nobody keeps."""

    def work() -> int:
        found, text = 0, []
        case: dict[str, str] = {}
        kind, message, reading = "passed", None, False

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal case, kind, message, reading
            if tag == "testcase":
                case, kind, message = attributes, "passed", None
            elif tag in ("failure", "error", "skipped"):
                kind, message, reading = tag, attributes.get("message"), True
                text.clear()

        def end(tag: str) -> None:
            nonlocal found, reading
            if tag == "testcase":
                said = "".join(text) if kind != "passed" else None
                _ = (case.get("classname"), case.get("name"), kind, float(case.get("time", 0)), message, said)
                found += 1
            elif tag in ("failure", "error", "skipped"):
                reading = False

        def characters(more: str) -> None:
            if reading:
                text.append(more)

        for path in paths:
            parser = expat.ParserCreate()
            parser.buffer_text = True
            parser.StartElementHandler, parser.EndElementHandler = start, end
            parser.CharacterDataHandler = characters
            _parse(path, parser)
        return found

    return work


def _as_the_command_line() -> None:
    from ootci.cli.main import GC_THRESHOLD

    gc.set_threshold(GC_THRESHOLD)


def ootci_reports(paths: list[Path]) -> Callable[[], int]:
    """Our reader of a vendor's reports, as the stage test uses it."""
    from ootci.model.junit_report import read_reports

    _as_the_command_line()
    return lambda: len(read_reports(paths, "mine").outcomes)


def ootci_collect(paths: list[Path]) -> Callable[[], int]:
    """The stage collect as a whole: of an event log of as many tests run.json, report.xml and a report of the suite."""
    from reports import write_events
    from unit.samples import build, device, plan

    from ootci.model.record import write
    from ootci.model.workspace import RunFolder
    from ootci.stages.collect import collect

    _as_the_command_line()
    scratch = tempfile.TemporaryDirectory()
    run = RunFolder(Path(scratch.name))
    write(build(), run.build)
    cases = sum(path.read_text(encoding="utf-8").count("<testcase ") for path in paths)
    # In a process of its own, so that what this takes is not measured.
    writer = Process(target=write_events, args=(run.events, cases))
    writer.start()
    writer.join()
    item = device(suites=[{"name": "ops"}]).device

    def work() -> int:
        with scratch:
            now = datetime(2026, 11, 1, 4, 0, tzinfo=timezone.utc)
            return len(collect(item, plan(), run, now=now).outcomes)

    return work


def ootci_site(paths: list[Path]) -> Callable[[], int]:
    """From reports, one of each device, to the whole site: collect, append to the history, judge and render."""
    from unit.samples import build, device, plan

    from ootci.history.store import History
    from ootci.model.plan import PlannedSuite
    from ootci.model.record import write
    from ootci.model.workspace import RunFolder
    from ootci.stages.collect import collect
    from ootci.stages.judge import judge
    from ootci.stages.render import render

    _as_the_command_line()
    scratch = tempfile.TemporaryDirectory()
    names = [f"dev_{letter}" for letter in ascii_lowercase[: len(paths)]]

    def work() -> int:
        now, found = datetime(2026, 11, 1, 4, 0, tzinfo=timezone.utc), 0
        suites = (PlannedSuite(name="ops"),)
        night = plan(names=names, suites=suites)
        registry = tuple(device(name, suites=[{"name": "ops"}]) for name in names)
        with scratch as folder:
            history = History(Path(folder) / "data")
            history.append_plan(night)
            for item, path in zip(registry, paths, strict=True):
                run = RunFolder(Path(folder) / item.device.name)
                run.path.mkdir()
                write(build(name=item.device.name), run.build)
                # As if somebody had run pytest by hand.
                shutil.copyfile(path, run.path / path.name)
                made = collect(item.device, night, run, now=now)
                history.append_run(made)
                found += len(made.outcomes)
            render(registry, history, judge(registry, history, now), Path(folder) / "site")
            return found

    return work


def junitparser(paths: list[Path]) -> Callable[[], int]:
    """The peer: junitparser, with every case's fields looked at."""
    from junitparser import JUnitXml, TestCase, TestSuite

    def cases(path: Path) -> Iterator[TestCase]:
        for suite in JUnitXml.fromfile(str(path)):
            yield from suite if isinstance(suite, TestSuite) else [suite]

    def work() -> int:
        found = 0
        for path in paths:
            for case in cases(path):
                _ = (case.classname, case.name, case.time, [(result.message, result.text) for result in case.result])
                found += 1
        return found

    return work


READERS: dict[str, Callable[[list[Path]], Callable[[], int]]] = {
    "expat, empty handlers": expat_empty,
    "expat, building records": expat_records,
    "junitparser": junitparser,
    "ootci, a vendor's report": ootci_reports,
    "ootci collect, an event log": ootci_collect,
}
PAGES: dict[str, Callable[[list[Path]], Callable[[], int]]] = {"ootci, from the report to the site": ootci_site}


def main() -> None:
    """Read the reports of a folder, and say what it cost."""
    name, folder = sys.argv[1:]
    work = {**READERS, **PAGES}[name](sorted(Path(folder).glob("junit-*.xml")))
    before = time.process_time()
    found = work()
    seconds = time.process_time() - before
    # The peak of this program alone: getrusage would count what its parent held when it was started.
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    mib = int(peak[1]) / 1024 if peak else None
    sys.stdout.write(json.dumps({"cases": found, "processor_s": seconds, "peak_mib": mib}) + "\n")


if __name__ == "__main__":
    main()
