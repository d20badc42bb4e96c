"""judge: known failures and unsupported capabilities, counted apart, shown when they are true no more, never hiding."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.samples import changed, device, nights, plan, run, with_runs
from unit.stages.judging import judged

from ootci.model.device import KnownFailure, Unsupported
from ootci.model.outcome import OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import PassingDeclaration, Run
from ootci.model.verdict import AS_EXPECTED, DeviceVerdict, VerdictName

GOLDEN = Path(__file__).parents[2] / "golden" / "expectations"
SHOWN = {"verdict", "reason", "broke_at", "counts", "new_failures", "known", "known_failures", "unsupported", "changes"}

V = VerdictName
TWO = "integration/test_x.py::two"


def _entry(test_id: str = TWO, **values: str) -> KnownFailure:
    return KnownFailure.model_validate(
        {
            "id": test_id,
            "reason": "the kernel is being written",
            "issue": "https://example.com/issues/1",
            "added": "2026-10-20",
            "expires": "2027-02-28",
            **values,
        }
    )


def _claim(capability: str = "sparse") -> Unsupported:
    return Unsupported.model_validate({"capability": capability, "reason": "no such unit"})


def _plan(number: int, known: Sequence[KnownFailure] = (), unsupported: Sequence[Unsupported] = ()) -> Plan:
    return with_runs(plan(number), known_failures=tuple(known), unsupported=tuple(unsupported))


def _run(
    number: int = 0,
    *,
    smoke: Mapping[str, str] | None = None,
    capability: str | None = None,
    only_tests: bool = True,
    **integration: str,
) -> Run:
    """A run whose stages say that failing tests are all that was wrong; `plain` and smoke prove no capability."""
    made = run(number, smoke=smoke, integration=integration, stages=None if only_tests else {"integration": "failed"})
    return changed(made, lambda item: not item.id.endswith(("::one", "::plain")), capability=capability)


def _judged(*records: Plan | Run, **keys: object) -> DeviceVerdict:
    with tempfile.TemporaryDirectory() as folder:
        return judged(Path(folder), *records, registry=(device(**keys),)).devices[0]


@dataclass(frozen=True)
class _Case:
    verdict: VerdictName
    records: tuple[Plan | Run, ...]


CASES = {
    "known": _Case(V.KNOWN, (_plan(0, [_entry()]), _run(two="failed", three="passed"))),
    "known-crash": _Case(V.KNOWN, (_plan(0, [_entry()]), _run(two="crashed", three="passed"))),
    "known-in-smoke": _Case(
        V.KNOWN, (_plan(0, [_entry("smoke/*")]), _run(smoke={"one": "failed", "two": "passed"}, two="passed"))
    ),
    "known-in-all-of-smoke": _Case(
        V.SMOKE_BROKEN, (_plan(0, [_entry("smoke/*")]), _run(smoke={"one": "failed"}, two="passed"))
    ),
    "known-in-all-of-a-suite": _Case(
        V.FAILING, (_plan(0, [_entry("integration/*")]), _run(two="failed", three="failed"))
    ),
    "known-in-smoke-and-refused": _Case(
        V.OK, (_plan(0, [_entry("smoke/*")]), _run(smoke={"one": "unsupported", "two": "passed"}, two="passed"))
    ),
    "known-beside-a-regression": _Case(
        V.REGRESSED,
        (_plan(0), _run(two="failed", three="passed"), _plan(1, [_entry()]), _run(1, two="failed", three="failed")),
    ),
    "known-from-the-first-night": _Case(
        V.KNOWN,
        (
            _plan(0),
            _run(two="passed", three="passed"),
            _plan(1, [_entry()]),
            _run(1, two="failed", three="passed"),
        ),
    ),
    "known-beside-failures": _Case(V.FAILING, (_plan(0, [_entry()]), _run(two="failed", three="failed"))),
    "known-and-the-stage-broke-besides": _Case(V.FAILING, (_plan(0, [_entry()]), _run(two="failed", only_tests=False))),
    "known-and-lost-tests": _Case(
        V.LOST_TESTS,
        (
            _plan(0),
            _run(two="failed", three="passed", plain="passed"),
            _plan(1, [_entry()]),
            _run(1, two="failed", plain="passed"),
        ),
    ),
    "expired": _Case(V.FAILING, (_plan(0, [_entry(expires="2026-10-31")]), _run(two="failed"))),
    "expired-beside-one-that-counts": _Case(
        V.KNOWN,
        (_plan(0, [_entry(expires="2026-10-31"), _entry("integration/*")]), _run(two="failed", three="passed")),
    ),
    "on-the-last-day": _Case(V.KNOWN, (_plan(0, [_entry(expires="2026-11-01")]), _run(two="failed", three="passed"))),
    "passes": _Case(V.OK, (_plan(0, [_entry()]), _run(two="passed"))),
    "passes-in-part": _Case(V.KNOWN, (_plan(0, [_entry("integration/*")]), _run(two="failed", three="passed"))),
    "matches-no-test": _Case(V.OK, (_plan(0, [_entry("integration/test_x.py::gone")]), _run(two="passed"))),
    "matches-no-test-of-a-cut-report": _Case(
        V.LOST_TESTS,
        (
            _plan(0, [_entry("integration/test_x.py::gone")]),
            run(0, integration={"two": "passed"}, reports={"integration": {"state": "truncated", "detail": "cut"}}),
        ),
    ),
    "of-another-torch": _Case(V.FAILING, (_plan(0, [_entry(torch="<2.14")]), _run(two="failed"))),
    "of-this-torch": _Case(V.KNOWN, (_plan(0, [_entry(torch=">=2.14")]), _run(two="failed", three="passed"))),
    "skipped": _Case(V.OK, (_plan(0, [_entry()]), _run(two="skipped", three="passed"))),
    "silent": _Case(V.NO_DATA, (_plan(0), _run(two="failed"), _plan(1, [_entry()], [_claim()]))),
    "unsupported": _Case(
        V.OK, (_plan(0, (), [_claim()]), _run(capability="sparse", two="unsupported", plain="passed"))
    ),
    "unsupported-but-works": _Case(V.OK, (_plan(0, (), [_claim()]), _run(capability="sparse", two="passed"))),
    "unsupported-but-works-in-part": _Case(
        V.OK, (_plan(0, (), [_claim()]), _run(capability="sparse", two="unsupported", three="passed"))
    ),
    "unsupported-and-crashes": _Case(V.FAILING, (_plan(0, (), [_claim()]), _run(capability="sparse", two="crashed"))),
    "unsupported-and-never-ran": _Case(V.OK, (_plan(0, (), [_claim("quantization")]), _run(two="passed"))),
    "unsupported-from-tonight": _Case(
        V.OK,
        (
            _plan(0),
            _run(capability="sparse", two="failed", plain="passed"),
            _plan(1, (), [_claim()]),
            _run(1, capability="sparse", two="unsupported", plain="passed"),
        ),
    ),
    "unsupported-without-a-claim": _Case(
        V.LOST_TESTS,
        (
            _plan(0),
            _run(capability="sparse", two="failed", three="passed"),
            _plan(1),
            _run(1, capability="sparse", two="unsupported", three="passed"),
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_situation_is_judged_as_written_down(name: str, pytestconfig: pytest.Config) -> None:
    found = _judged(*CASES[name].records)
    assert found.verdict is CASES[name].verdict
    path = GOLDEN / f"{name}.json"
    text = json.dumps(found.model_dump(mode="json", include=SHOWN), indent=1) + "\n"
    if pytestconfig.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "it differs; look, then write it with --update-golden"


def test_no_golden_case_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(CASES)


def test_a_night_is_judged_by_the_list_of_its_own_day() -> None:
    bad = [_run(number, two="failed", three="passed") for number in range(3)]
    first = [_plan(0, [_entry(expires="2026-11-02")]), bad[0], _plan(1, [_entry(expires="2026-11-02")]), bad[1]]
    assert [item.verdict for item in _judged(*first).history] == [V.KNOWN, V.KNOWN]
    # Removing an entry, or its expiry, changes tonight and no night before.
    found = _judged(*first, _plan(2), bad[2])
    assert [item.verdict for item in found.history] == [V.KNOWN, V.KNOWN, V.FAILING]
    found = _judged(*first, _plan(2, [_entry(expires="2026-11-02")]), bad[2])
    assert [item.verdict for item in found.history] == [V.KNOWN, V.KNOWN, V.FAILING]


_TESTS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([name.value for name in OutcomeName]), max_size=4)
_GLOBS = st.lists(
    st.sampled_from(["smoke/*", "integration/*", "integration/test_x.py::a", "integration/test_x.py::[ab]", "ops/*"]),
    max_size=3,
)


@settings(max_examples=60)
@given(_TESTS, _TESTS, _GLOBS, _TESTS)
def test_claims_only_ever_turn_failing_tests_into_known_ones(
    smoke: dict[str, str], integration: dict[str, str], globs: list[str], before: dict[str, str]
) -> None:
    first = (_plan(0), _run(0, **before))
    tonight = _run(1, smoke=smoke or {"one": "passed"}, **integration)
    plain = _judged(*first, _plan(1), tonight)
    claimed = _judged(*first, _plan(1, [_entry(glob) for glob in globs]), tonight)
    order = list(V)
    assert claimed.counts == plain.counts
    assert order.index(claimed.verdict) >= order.index(plain.verdict)
    assert 0 <= claimed.known <= claimed.counts.failures
    assert claimed.new_failures <= plain.new_failures
    assert (claimed.verdict is V.KNOWN) <= (0 < claimed.known == claimed.counts.failures)
    if claimed.verdict in AS_EXPECTED:
        assert claimed.known == claimed.counts.failures
        assert claimed.verdict is (V.KNOWN if claimed.known else V.OK)
    if "unsupported" not in smoke.values() and not any(item.known for item in claimed.changes):
        assert claimed.verdict is plain.verdict  # a refused test of smoke is excused, too, and is no failure


def test_a_declaration_that_passed_when_last_tried_is_named_until_it_is_removed() -> None:
    names = ("exclusions: TestFFT.test_fft", "exclusions: TestSort", "operators: mul", "operators: add")
    tried = tuple(PassingDeclaration(declaration=name, tests=2) for name in names)
    runs = [_run(number, two="passed") for number in range(3)]
    runs[0] = runs[0].model_copy(update={"passing_declarations": (PassingDeclaration(declaration="old", tests=1),)})
    runs[1] = runs[1].model_copy(update={"passing_declarations": tried})
    records = nights(*runs)
    suites = [
        {"name": "smoke"},
        {"name": "integration"},
        {"name": "upstream", "operators": ["add"], "exclusions": {"TestFFT": ["test_fft"], "TestSort": "*"}},
    ]
    found = _judged(*records, suites=suites)
    assert [(item.declared, item.state.value, item.passing) for item in found.unsupported] == [
        (name, "works", 2) for name in names[:3]
    ]
    assert found.verdict is V.OK
    assert found.reason.endswith(f"; declared unsupported, but works: {', '.join(names[:3])}")
    assert _judged(*records).unsupported == ()


def test_what_the_run_says_of_itself_excuses_nothing() -> None:
    assert _judged(_plan(0), _run(two="failed", three="passed")).verdict is V.FAILING
    assert _judged(_plan(0, [_entry("ops/*")]), _run(two="failed", three="passed")).verdict is V.FAILING
