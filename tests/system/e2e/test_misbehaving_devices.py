"""Fifteen devices in one nightly, most of them broken in a way of their own: each gets its true row."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import Ran, Tool
from misbehaving import BEHAVIOURS, stub_torch_wheel, write_device, write_suites

pytestmark = pytest.mark.long

EXPECTED = {
    "passes": ("OK", None, "5 of 5 executed tests passed"),
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
        "1 test failed and passed when run again, first smoke/test_scripted.py::test_second",
    ),
    "crash-then-pass": ("UNSTABLE", "smoke", "1 test failed and passed when run again"),
    "crash-late": ("SMOKE_BROKEN", "smoke", "smoke/test_scripted.py::test_second"),
}


@dataclass(frozen=True)
class Night:
    """One nightly over all of them."""

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
    """Run the nightly once, on the torch without weight."""
    folder = tmp_path_factory.mktemp("misbehaving")
    wheel = stub_torch_wheel(folder)
    for behaviour in BEHAVIOURS:
        write_device(folder / "devices", _name(behaviour), behaviour)
    write_suites(folder / "suites")
    ran = ootci("nightly", "--torch", wheel.name, "--suites", "suites", cwd=folder, timeout=1800)
    verdicts = json.loads((folder / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))
    return Night(folder, ran, {item["device"]: item for item in verdicts["devices"]})


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_each_device_gets_its_verdict_and_the_reason(night: Night, behaviour: str) -> None:
    verdict, broke_at, reason = EXPECTED[behaviour]
    found = night.verdicts[_name(behaviour)]
    assert (found["verdict"], found["broke_at"]) == (verdict, broke_at)
    assert reason in str(found["reason"])


def test_the_nightly_itself_ends_and_says_that_devices_failed(night: Night) -> None:
    assert night.ran.code == 1, night.ran.err
    assert "Traceback" not in night.ran.err
    for behaviour in BEHAVIOURS:
        assert any(line.startswith(f"{_name(behaviour)} ") for line in night.ran.out.splitlines())


@pytest.mark.parametrize(
    ("behaviour", "outcome", "message"),
    [
        ("crash-in-test", "crashed", "killed by SIGSEGV"),
        ("exits-zero", "crashed", "exit code 0"),
        ("hang", "timed_out", "still running when the test's 3 s were up"),
    ],
)
def test_a_crash_or_a_hang_costs_that_test_only(night: Night, behaviour: str, outcome: str, message: str) -> None:
    outcomes = night.outcomes(behaviour)
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
        ("crash-then-pass", ["crashed", "passed"]),
        ("crash-late", ["crashed", "passed", "crashed"]),
        ("crash-in-test", ["crashed", "crashed"]),
        ("fails", ["failed", "failed"]),
        ("passes", ["passed"]),
    ],
)
def test_every_attempt_is_kept_and_the_first_is_the_outcome(night: Night, behaviour: str, attempts: list[str]) -> None:
    name = "integration/test_scripted.py::test_views" if behaviour == "fails" else "smoke/test_scripted.py::test_second"
    item = night.outcomes(behaviour)[name]
    later = item.get("attempts", [])
    assert isinstance(later, list)
    assert [item["outcome"], *(attempt["outcome"] for attempt in later)] == attempts
    if behaviour == "crash-late":
        assert "crashes again when smoke/test_scripted.py::test_first has run before it" in later[-1]["message"]


@pytest.mark.parametrize("behaviour", ["crash-in-test", "hang"])
def test_the_stack_of_the_culprit_is_kept(night: Night, behaviour: str) -> None:
    text = str(night.outcomes(behaviour)["smoke/test_scripted.py::test_second"]["text"])
    assert "test_second" in text
    assert "in act" in text


def test_every_device_has_a_row_on_the_page(night: Night) -> None:
    page = (night.folder / "site" / "index.html").read_text(encoding="utf-8")
    for behaviour in BEHAVIOURS:
        assert f"d/{_name(behaviour)}/index.html" in page


def test_whether_a_plugin_changed_can_be_told_of_one_that_cannot_be_built(night: Night) -> None:
    build = json.loads((night.folder / ".ootci" / "runs" / "build_fails" / "build.json").read_text(encoding="utf-8"))
    assert (build["plugin"]["package"], build["plugin"]["version"]) == ("torch-build_fails", None)
    assert re.fullmatch("[0-9a-f]{64}", build["plugin"]["sources_sha256"])


def test_the_gate_names_the_broken_ones(night: Night, ootci: Tool) -> None:
    gate = ootci("gate", cwd=night.folder)
    assert gate.code == 1
    assert "build_fails (BUILD_BROKEN)" in gate.out
    assert "passes" not in gate.out


def test_a_report_cut_in_half_keeps_its_first_half_and_counts_the_rest_as_not_run(night: Night, ootci: Tool) -> None:
    run = night.folder / ".ootci" / "runs" / "passes"
    report = (run / "junit.xml").read_bytes()
    (run / "junit.xml").write_bytes(report[: report.index(b"test_third")])
    # A history of its own: the run that was recorded before must not be contradicted.
    assert ootci("collect", "passes", cwd=night.folder).code == 0
    outcomes = {name: item["outcome"] for name, item in night.outcomes("passes").items()}
    assert outcomes == {
        "smoke/test_scripted.py::test_first": "passed",
        "smoke/test_scripted.py::test_second": "passed",
        "smoke/test_scripted.py::test_third": "not_run",
        "integration/test_scripted.py::test_views": "not_run",
        "integration/test_scripted.py::test_autograd": "not_run",
    }
    assert ootci("history", "append", "--history", "cut", cwd=night.folder).code == 0
    judged = ootci("judge", "--history", "cut", "--work", ".ootci", cwd=night.folder)
    assert "passes: LOST_TESTS: smoke: the report breaks off" in judged.out
