"""A small checkout in the form of PyTorch's, and what runs its tests: the real one is large."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytorch_test_files import MORE, THINGS
from repositories import repository
from sabotage import DEVICE
from small_suites import DevicePython, read_events


@dataclass(frozen=True)
class Upstream:
    """A small checkout, and what runs its tests."""

    tests: Path
    commit: str
    python: DevicePython

    def write(self, **files: str) -> None:
        """Add files of tests, by their names."""
        for name, text in files.items():
            (self.tests / f"{name}.py").write_text(text, encoding="utf-8")

    def run(self, *arguments: str, device: str = DEVICE, commit: str | None = None, **env: str) -> Any:
        """Run the suite; the process and the events."""
        log = self.tests.with_name("events.jsonl")
        log.unlink(missing_ok=True)
        options = [f"--upstream-tests={self.tests}", f"--upstream-commit={commit or self.commit}", f"--events={log}"]
        done = self.python("-m", "pytest", "upstream", "--device", device, "-q", *options, *arguments, env=env)
        return done, read_events(log)

    def declare(self, **declared: object) -> str:
        """The option with which a device declares this."""
        path = self.tests.with_name("config.json")
        path.write_text(json.dumps(declared), encoding="utf-8")
        return f"--upstream-config={path}"


def small_checkout(folder: Path, python: DevicePython) -> Upstream:
    """A repository with a folder ``test``, below a folder."""
    tests = folder / "pytorch" / "test"
    (tests / "folder").mkdir(parents=True)
    made = Upstream(tests, "", python)
    made.write(
        test_things=THINGS,
        neighbour="VALUE = 2\n",
        test_plain="raise SystemError('this file has no device-generic test and is not imported')\n",
    )
    (tests / "folder" / "test_more.py").write_text(MORE, encoding="utf-8")
    (tests / "folder" / "beside.py").write_text("NAMES = ('add', 'mul')\n", encoding="utf-8")
    return replace(made, commit=repository(tests.parent))


def ended(events: tuple[dict[str, Any], ...]) -> dict[str, str]:
    """The outcome of each test and of each file's import, by id without the suite."""
    return {event["id"].removeprefix("upstream/"): event["outcome"] for event in events if event["event"] == "test_end"}


def outcomes_of(events: tuple[dict[str, Any], ...]) -> dict[str, str]:
    """The outcomes of the tests, without the files that could be imported."""
    return {test: outcome for test, outcome in ended(events).items() if (test[-8:], outcome) != ("::import", "passed")}


def errors_of(events: tuple[dict[str, Any], ...]) -> dict[str, str]:
    """The text of each error of collecting, by id without the suite."""
    errors = (event for event in events if event["event"] == "collect_error")
    return {event["id"].removeprefix("upstream/"): event["text"] for event in errors}


def imported(events: tuple[dict[str, Any], ...]) -> list[str]:
    """The files whose import began, in order."""
    return [event["id"].removeprefix("upstream/") for event in events if event["event"] == "import_start"]
