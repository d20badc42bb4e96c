"""Broken devices are found out by the tests that claim it, and the record and the README say so."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from drawn import deep_but
from proofs import NOTICED, README, REASONS, WHOLE, Record, drawn, make_record, read_record, readme_with, table
from small_suites import DevicePython, proof_command, read_collected

SABOTAGE = Path(__file__).with_name("sabotage")
SWEEP_SECONDS = 7200
RECORD = read_record()
DRAWN = drawn(RECORD)
"""Run by `make test`; `make test-deep` runs every broken device."""

Outcomes = Mapping[str, Mapping[str, str]]
Prove = Callable[[Mapping[str, Sequence[str]]], dict[str, Any]]


@pytest.fixture(scope="session")
def prove(reference: DevicePython, python_with_torch: str, tmp_path_factory: pytest.TempPathFactory) -> Prove:
    """Runs tests on broken devices, by name, and all of these tests on the whole one; gives the report."""
    del reference  # only asked for, so that a Python without the device skips
    tmp_path_factory.getbasetemp()  # is made here, and not by two threads at once

    def call(asked: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("proofs")
        tests = sorted({test_id for test_ids in asked.values() for test_id in test_ids})
        plan, written = folder / "plan.json", folder / "report.json"
        plan.write_text(json.dumps({WHOLE: tests, **asked}), encoding="utf-8")
        command, settings = proof_command(python_with_torch, plan, written, folder / "tests")
        done = subprocess.run(command, capture_output=True, text=True, timeout=SWEEP_SECONDS, check=False, **settings)
        assert done.returncode == 0, done.stdout + done.stderr
        content: dict[str, Any] = json.loads(written.read_text(encoding="utf-8"))
        return content

    return call


@pytest.fixture(scope="session")
def report(prove: Prove) -> dict[str, Any]:
    """Outcomes of the claims of the drawn broken devices."""
    return prove({name: RECORD.proofs[name].claims for name in DRAWN})


@pytest.fixture(scope="session")
def sweep(prove: Prove) -> dict[str, Any]:
    """Outcomes of every claim, and of every test on the broken device that the record names first for it.

    In two processes, because a part of it is waiting for what hangs.
    """
    asked = {name: set(proof.claims) for name, proof in RECORD.proofs.items()}
    for test_id, names in RECORD.tests.items():
        for name in names[:1]:
            asked[name].add(test_id)
    plan = {name: sorted(test_ids) for name, test_ids in asked.items()}
    names = tuple(plan)
    with ThreadPoolExecutor(2) as pool:
        halves = ({name: plan[name] for name in half} for half in (names[::2], names[1::2]))
        one, other = pool.map(prove, halves)
    one["report"][WHOLE]["tests"].update(other["report"].pop(WHOLE)["tests"])
    one["report"].update(other["report"])
    return one


def _not_passed(report: dict[str, Any]) -> dict[str, str]:
    seen: dict[str, str] = report["report"][WHOLE]["tests"]
    assert seen
    return {test_id: outcome for test_id, outcome in seen.items() if outcome not in ("passed", "xfailed")}


@pytest.mark.torch
def test_whole_device_passes_them_all(report: dict[str, Any]) -> None:
    assert _not_passed(report) == {}


@pytest.mark.deep
@pytest.mark.torch
def test_whole_device_passes_every_test_of_the_sweep(sweep: dict[str, Any]) -> None:
    assert _not_passed(sweep) == {}


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.parametrize("name", deep_but(DRAWN, RECORD.proofs))
def test_broken_device_is_found_out(request: pytest.FixtureRequest, name: str) -> None:
    report = request.getfixturevalue("report" if name in DRAWN else "sweep")
    seen = report["report"][name]["tests"]
    claims = RECORD.proofs[name].claims
    assert {claim: seen.get(claim) for claim in claims if seen.get(claim) not in NOTICED} == {}


@pytest.mark.deep
@pytest.mark.torch
def test_every_test_fails_on_the_broken_device_that_the_record_names_first(sweep: dict[str, Any]) -> None:
    seen = {
        test_id: (names[0], sweep["report"][names[0]]["tests"].get(test_id))
        for test_id, names in RECORD.tests.items()
        if names
    }
    assert {test_id: found for test_id, found in seen.items() if found[1] not in NOTICED} == {}


def test_one_broken_device_is_drawn_for_each_mechanism_and_each_suite() -> None:
    mechanisms = [re.findall(r'"([\w-]+)"', path.read_text(encoding="utf-8")) for path in SABOTAGE.glob("*.py")]
    quick = {name for name, proof in RECORD.proofs.items() if proof.quick}
    assert [names for names in mechanisms if quick & set(names) and not set(DRAWN) & set(names)] == []
    assert {claim.partition("/")[0] for name in DRAWN for claim in RECORD.proofs[name].claims} == {
        "smoke",
        "integration",
    }
    assert len(DRAWN) < len(quick) / 4


@pytest.mark.torch
def test_record_knows_every_variant(report: dict[str, Any]) -> None:
    assert {name: proof.what for name, proof in RECORD.proofs.items()} == report["variants"]


@pytest.mark.torch
def test_record_knows_every_test(forking_python: DevicePython, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    suites = ("smoke", "integration")
    done = forking_python("-m", "pytest", *suites, "--device", "cpu", "--collect-only", "-q", "--events", str(log))
    assert done.returncode == 0, done.stdout + done.stderr
    collected = {test["id"] for test in read_collected(log)}
    new, gone = collected - set(RECORD.tests), set(RECORD.tests) - collected
    assert not new, "no proof yet: run prove.py, and write a variant if nothing fails them"
    assert not gone, "the record knows tests that are gone: run prove.py"


def test_every_unproven_test_has_its_reason() -> None:
    assert set(json.loads(REASONS.read_text(encoding="utf-8"))) == set(RECORD.unproven())


def test_table_of_proofs_is_right(request: pytest.FixtureRequest) -> None:
    text = README.read_text(encoding="utf-8")
    expected = readme_with(text, table(RECORD, json.loads(REASONS.read_text(encoding="utf-8"))))
    if request.config.getoption("--update-golden", default=False):
        README.write_text(expected, encoding="utf-8")
    assert README.read_text(encoding="utf-8") == expected


def _report(outcomes: Outcomes, starting: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "variants": {name: f"a defect {name}" for name in outcomes},
        "collected": ["one", "two", "three"],
        "starting": list(starting),
        "report": {name: {"tests": tests} for name, tests in outcomes.items()},
    }


def test_record_prefers_the_particular() -> None:
    narrow, wide = {"one": "failed", "two": "passed"}, {"one": "crashed", "two": "failed", "three": "error_in_setup"}
    record = make_record([_report({"wide": wide, "narrow": narrow})])
    assert record.tests == {"one": ("narrow", "wide"), "two": ("wide",), "three": ()}
    assert record.unproven() == ("three",)
    assert record.proofs["wide"].claims == ("two", "one")
    assert (record.proofs["narrow"].asked, record.proofs["narrow"].noticed) == (2, 1)


def test_what_takes_long_is_no_quick_claim() -> None:
    record = make_record(
        [_report({"hang": {"one": "timed_out"}, "start": {"two": "failed"}, "other": {"three": "failed"}}, ("two",))]
    )
    assert [name for name, proof in record.proofs.items() if proof.quick] == ["other"]


def test_what_is_quick_is_claimed_first() -> None:
    outcomes = {
        "hang": {"one": "timed_out", "two": "failed", "three": "failed"},
        "wide": dict.fromkeys(("two", "three"), "failed"),
    }
    assert make_record([_report(outcomes)]).proofs["hang"].claims == ("three", "two")


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [({"silent": {"one": "passed"}}, "noticed by nothing: silent"), ({"setup": {"one": "error_in_setup"}}, "setup")],
)
def test_a_defect_that_nothing_notices_is_an_error(outcomes: Outcomes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_record([_report(outcomes)])


def test_later_reports_outweigh_earlier_ones() -> None:
    first = _report({"a": {"one": "failed", "three": "failed"}})
    second = _report({"a": {"one": "passed", "two": "failed"}})
    record: Record = make_record([first, second])
    assert record.proofs["a"].claims == ("three", "two")
