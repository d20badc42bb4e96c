"""Fifteen devices in one nightly, most of them broken in a way of their own: each gets its true row.

`make test` runs one of each verdict, `make test-deep` all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import Ran, Tool
from drawn import deep, deep_but
from misbehaving import stub_torch_wheel, write_device, write_suites

pytestmark = pytest.mark.long

EXPECTED = {
    "passes": ("OK", None, "5 of 5 tests passed"),
    "fails": ("FAILING", "integration", "integration/test_scripted.py::test_views"),
    "smoke-fails": ("SMOKE_BROKEN", "smoke", "smoke/test_scripted.py::test_second"),
    "build-fails": ("BUILD_BROKEN", "build", "kernel.cpp:12:10: error: no member named 'gone' in namespace 'c10'"),
    "import-raises": ("IMPORT_BROKEN", "import", "libfakeruntime.so: cannot open shared object file"),
    "import-crashes": ("IMPORT_BROKEN", "import", "killed by SIGSEGV"),
    "card-missing": ("INFRA", "check", "not available"),
    "crash-before-junit": ("SMOKE_BROKEN", "smoke", "before it had collected any test: killed by SIGSEGV"),
    "crash-in-test": ("SMOKE_BROKEN", "smoke", "smoke/test_scripted.py::test_second"),
    "hang": ("SMOKE_BROKEN", "smoke", "smoke/test_scripted.py::test_second"),
    "no-tests": ("NO_DATA", "smoke", "zero tests were collected"),
    "exits-zero": ("SMOKE_BROKEN", "smoke", "smoke/test_scripted.py::test_second"),
    "flaky": (
        "UNSTABLE",
        "smoke",
        "1 test failed, then passed on retry, first smoke/test_scripted.py::test_second",
    ),
    "crash-then-pass": ("UNSTABLE", "smoke", "1 test failed, then passed on retry"),
    "crash-late": ("SMOKE_BROKEN", "smoke", "smoke/test_scripted.py::test_second"),
}

DRAWN = ("passes", "fails", "build-fails", "import-raises", "card-missing", "crash-in-test", "no-tests", "flaky")


@dataclass(frozen=True)
class Night:
    """One nightly over some of them."""

    folder: Path
    ran: Ran
    verdicts: dict[str, dict[str, object]]

    def outcomes(self, behaviour: str) -> dict[str, dict[str, object]]:
        """Outcomes of a device by test id."""
        run = json.loads((self.folder / ".ootci" / "runs" / _name(behaviour) / "run.json").read_text(encoding="utf-8"))
        return {item["id"]: item for item in run["outcomes"]}


def _name(behaviour: str) -> str:
    return behaviour.replace("-", "_")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, ootci: Tool) -> Night:
    """The nightly of one device of each verdict."""
    return _run(tmp_path_factory.mktemp("drawn"), ootci, DRAWN)


@pytest.fixture(scope="module")
def whole_night(tmp_path_factory: pytest.TempPathFactory, ootci: Tool) -> Night:
    """The nightly of all of them."""
    return _run(tmp_path_factory.mktemp("misbehaving"), ootci, tuple(EXPECTED))


def _night(request: pytest.FixtureRequest, behaviour: str) -> Night:
    found: Night = request.getfixturevalue("night" if behaviour in DRAWN else "whole_night")
    return found


def _run(folder: Path, ootci: Tool, behaviours: Sequence[str]) -> Night:
    """Run the nightly once, on the torch without weight."""
    wheel = stub_torch_wheel(folder)
    for behaviour in behaviours:
        write_device(folder / "devices", _name(behaviour), behaviour)
    write_suites(folder / "suites")
    ran = ootci("nightly", "--torch", wheel.name, "--suites", "suites", cwd=folder, timeout=1800)
    verdicts = json.loads((folder / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))
    return Night(folder, ran, {item["device"]: item for item in verdicts["devices"]})


def test_one_device_is_drawn_for_each_verdict() -> None:
    assert {EXPECTED[behaviour][0] for behaviour in DRAWN} == {verdict for verdict, *_ in EXPECTED.values()}


@pytest.mark.parametrize("behaviour", deep_but(DRAWN, EXPECTED))
def test_each_device_gets_its_verdict_and_the_reason(request: pytest.FixtureRequest, behaviour: str) -> None:
    verdict, broke_at, reason = EXPECTED[behaviour]
    found = _night(request, behaviour).verdicts[_name(behaviour)]
    assert (found["verdict"], found["broke_at"]) == (verdict, broke_at)
    assert reason in str(found["reason"])


@pytest.mark.parametrize(("fixture", "behaviours"), [("night", DRAWN), deep("whole_night", tuple(EXPECTED))])
def test_the_nightly_ends_and_has_a_row_for_each_device(
    request: pytest.FixtureRequest, fixture: str, behaviours: Sequence[str]
) -> None:
    night: Night = request.getfixturevalue(fixture)
    assert night.ran.code == 1, night.ran.err
    assert "Traceback" not in night.ran.err
    rows = [line.split()[0] for line in night.ran.out.splitlines() if line.strip()]
    page = (night.folder / "site" / "index.html").read_text(encoding="utf-8")
    for behaviour in behaviours:
        assert _name(behaviour) in rows
        assert f"d/{_name(behaviour)}/index.html" in page


@pytest.mark.parametrize(
    ("behaviour", "outcome", "message"),
    [
        ("crash-in-test", "crashed", "killed by SIGSEGV"),
        deep("exits-zero", "crashed", "exit code 0"),
        deep("hang", "timed_out", "still running when the test's 3 s were up"),
    ],
)
def test_a_crash_or_a_hang_costs_that_test_only(
    request: pytest.FixtureRequest, behaviour: str, outcome: str, message: str
) -> None:
    outcomes = _night(request, behaviour).outcomes(behaviour)
    culprit = outcomes.pop("smoke/test_scripted.py::test_second")
    assert culprit["outcome"] == outcome
    assert message in str(culprit["message"])
    assert "Reproduce (from the suites folder): python -m pytest smoke/test_scripted.py::test_second" in str(
        culprit["text"]
    )
    assert len(outcomes) == 4
    assert {item["outcome"] for item in outcomes.values()} == {"passed"}


@pytest.mark.parametrize(
    ("behaviour", "attempts"),
    [
        ("flaky", ["failed", "passed"]),
        deep("crash-then-pass", ["crashed", "passed"]),
        deep("crash-late", ["crashed", "passed", "crashed"]),
        ("crash-in-test", ["crashed", "crashed"]),
        ("fails", ["failed", "failed", "failed"]),
        ("passes", ["passed"]),
    ],
)
def test_every_attempt_is_kept_and_the_first_is_the_outcome(
    request: pytest.FixtureRequest, behaviour: str, attempts: list[str]
) -> None:
    name = "integration/test_scripted.py::test_views" if behaviour == "fails" else "smoke/test_scripted.py::test_second"
    item = _night(request, behaviour).outcomes(behaviour)[name]
    later = item.get("attempts", [])
    assert isinstance(later, list)
    assert [item["outcome"], *(attempt["outcome"] for attempt in later)] == attempts
    if behaviour == "crash-late":
        assert "crashes again when smoke/test_scripted.py::test_first has run before it" in later[-1]["message"]


@pytest.mark.parametrize("behaviour", ["crash-in-test", deep("hang")])
def test_the_stack_of_the_culprit_is_kept(request: pytest.FixtureRequest, behaviour: str) -> None:
    text = str(_night(request, behaviour).outcomes(behaviour)["smoke/test_scripted.py::test_second"]["text"])
    assert "test_second" in text
    assert "in act" in text


def test_whether_a_plugin_changed_can_be_told_of_one_that_cannot_be_built(night: Night) -> None:
    build = json.loads((night.folder / ".ootci" / "runs" / "build_fails" / "build.json").read_text(encoding="utf-8"))
    assert (build["plugin"]["package"], build["plugin"]["version"]) == ("torch-build_fails", None)
    assert re.fullmatch("[0-9a-f]{64}", build["plugin"]["sources_sha256"])


def test_the_gate_names_the_broken_ones(night: Night, ootci: Tool) -> None:
    gate = ootci("gate", cwd=night.folder)
    assert gate.code == 1
    assert "Build_fails (BUILD_BROKEN)" in gate.out
    assert "passes" not in gate.out


def test_an_event_log_cut_in_half_keeps_its_first_half_and_counts_the_rest_as_not_run(
    night: Night, ootci: Tool
) -> None:
    run = night.folder / ".ootci" / "runs" / "passes"
    log = (run / "events.jsonl").read_bytes()
    last = log.rindex(b"test_third")
    assert b'"event":"test_end"' in log[log.rindex(b"\n", 0, last) : log.index(b"\n", last)].replace(b" ", b"")
    (run / "events.jsonl").write_bytes(log[:last])
    # A history of its own: the run that was recorded before must not be contradicted.
    assert ootci("collect", "passes", cwd=night.folder).code == 0
    outcomes = {name: item["outcome"] for name, item in night.outcomes("passes").items()}
    assert outcomes == {
        "smoke/test_scripted.py::test_first": "passed",
        "smoke/test_scripted.py::test_second": "passed",
        "smoke/test_scripted.py::test_third": "not_run",
    }
    assert ootci("history", "append", "--history", "cut", cwd=night.folder).code == 0
    judged = ootci("judge", "--history", "cut", "--work", ".ootci", cwd=night.folder)
    assert "passes: LOST_TESTS: smoke: 1 of 3 collected tests never reported" in judged.out
