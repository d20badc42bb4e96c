"""A pytest plugin that runs tests on one broken device after the other, each in a forked process.

Torch is imported and the tests are collected once, before the device is used: a fork is safe then, and a variant costs
little more than its tests. A process that dies or falls silent is an answer as well; the rest of its tests get another.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import os
import select
import signal
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import pytest

from sabotage import VARIABLE, VARIANTS, Variant, load

WHOLE = "whole"
"""The name of the device that nobody broke."""

SILENCE_SECONDS = 100.0
"""Longer than tests wait for their own processes (TIMEOUT_SECONDS in harness/process.py): slowness is no proof."""

MAX_DEATHS = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("broken devices")
    group.addoption(
        "--proof-plan",
        type=Path,
        help="JSON: test ids by variant, null for those of its capabilities; null for all variants",
    )
    group.addoption("--proof-report", type=Path, help="where to write, by variant, what came of the tests")


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Run what the plan says, and write the report."""
    load()
    plan = json.loads(session.config.getoption("--proof-plan").read_text(encoding="utf-8"))
    if plan is None:
        plan = dict.fromkeys(VARIANTS)
    items = {item.nodeid: item for item in session.items}
    gc.collect()
    gc.freeze()  # what is here already is looked at by no collection of a fork, of which some tests make many
    report = {}
    for name, ids in plan.items():
        variant = None if name == WHOLE else VARIANTS[name]
        chosen = _asked(session.items, variant) if ids is None else [items[test_id] for test_id in ids]
        start = time.monotonic()
        why: dict[str, str] = {}
        tests = _outcomes(chosen, name, variant, why)
        report[name] = {"tests": tests, "why": why, "seconds": round(time.monotonic() - start, 2)}
        failed = [outcome for outcome in tests.values() if outcome != "passed"]
        os.write(2, f"{name}: {len(failed)} of {len(chosen)} tests, {report[name]['seconds']} s\n".encode())
        # Written after each variant: what was found out in many minutes is not lost with the last one.
        content = {
            "variants": {name: variant.what for name, variant in VARIANTS.items()},
            "collected": [item.nodeid for item in session.items],
            "starting": [item.nodeid for item in session.items if _starts_processes(item)],
            "report": report,
        }
        session.config.getoption("--proof-report").write_text(json.dumps(content), encoding="utf-8")
    return True


def _asked(items: Sequence[pytest.Item], variant: Variant | None) -> list[pytest.Item]:
    if variant is None:
        return list(items)
    return [
        item
        for item in items
        if (variant.fresh or not _starts_processes(item)) and _capability(item) in variant.capabilities
    ]


def _starts_processes(item: pytest.Item) -> bool:
    if {"ranks", "receiver"} & set(item.fixturenames):  # type: ignore[attr-defined]
        return True
    source = inspect.getsource(item.function)  # type: ignore[attr-defined]
    return (
        "run_python(" in source or "other_process(" in source or ("spawn" in source and "in_process" not in item.nodeid)
    )


def _capability(item: pytest.Item) -> str:
    marker = item.get_closest_marker("capability")
    assert marker is not None
    return str(marker.args[0])


def _outcomes(items: list[pytest.Item], name: str, variant: Variant | None, why: dict[str, str]) -> dict[str, str]:
    """What came of the tests: ``passed``, ``failed``, ``crashed``, ``timed_out``, or what else pytest calls it.

    ``why`` is filled in with what the failures said, for people who check that a defect is noticed for itself.
    """
    seen: dict[str, str] = {}
    for _ in range(MAX_DEATHS):
        left = [item for item in items if item.nodeid not in seen]
        if not left:
            break
        running, silent = _run_in_a_fork(left, name, variant, seen, why)
        if running is not None:
            seen[running] = "timed_out" if silent else "crashed"
        elif len(seen) < len(items):
            break  # it did not even begin
    return seen


def _run_in_a_fork(
    items: list[pytest.Item], name: str, variant: Variant | None, seen: dict[str, str], why: dict[str, str]
) -> tuple[str | None, bool]:
    """Fill in what comes of the tests; give the test that was running when the process ended, and whether it hung."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(read)
        _work(items, name, variant, write)
    os.close(write)
    running, silent, rest = None, False, b""
    while True:
        ready, _, _ = select.select([read], [], [], SILENCE_SECONDS)
        data = os.read(read, 65536) if ready else b""
        silent = not ready
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            test_id, outcome, said = json.loads(line)
            running = test_id if outcome is None else None
            if outcome is not None:
                seen[test_id] = outcome
            if said:
                why[test_id] = said
    os.close(read)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # also what the test started
    os.waitpid(child, 0)
    return running, silent


class _Reporter:
    """Tells the parent which test begins and how it ended, before anything can happen to this process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._outcome: dict[str, str] = {}
        self._said: dict[str, str] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell that a test begins."""
        self._tell(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a phase. Only what fails in the test itself is a proof: a set-up that fails proves nothing."""
        from harness.outcomes import UNSUPPORTED, is_unsupported  # the suites', in whose folder pytest runs

        if report.failed:
            self._outcome.setdefault(report.nodeid, "failed" if report.when == "call" else f"error_in_{report.when}")
        elif report.skipped:
            ended = UNSUPPORTED if is_unsupported(report) else "xfailed" if hasattr(report, "wasxfail") else "skipped"
            self._outcome[report.nodeid] = ended

    def pytest_exception_interact(self, node: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Remember what a failure said."""
        if call.excinfo is not None:
            self._said.setdefault(node.nodeid, call.excinfo.exconly()[:200])

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Tell how it ended."""
        self._tell(nodeid, self._outcome.get(nodeid, "passed"))

    def _tell(self, nodeid: str, outcome: str | None) -> None:
        os.write(self._descriptor, json.dumps([nodeid, outcome, self._said.get(nodeid)]).encode() + b"\n")


def _work(items: list[pytest.Item], name: str, variant: Variant | None, descriptor: int) -> None:
    """Break the device, run the tests, and end the process."""
    code = 1
    try:
        if variant is not None:
            os.environ[VARIABLE] = name
            os.environ.update(variant.environment)
            if variant.apply is not None:
                variant.apply()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(silence, stream)
        config = items[0].config
        config.pluginmanager.register(_Reporter(descriptor), "sabotage-reporter")
        for item, following in zip(items, [*items[1:], None], strict=True):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
