"""Which test finds which defect: the record that is kept, and the table in the device suites' README."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from small_suites import SUITES

RECORD = Path(__file__).with_name("proofs.json")
REASONS = Path(__file__).with_name("unproven.json")
README = SUITES / "README.md"
BEGIN, END = "<!-- proofs: begin -->", "<!-- proofs: end -->"

WHOLE = "whole"
NOTICED = ("failed", "crashed", "timed_out", "unsupported")
"""What a test makes of a defect that it finds; one that raises "not supported" is a refusal. An error in a test's
set-up is none of these: it proves nothing."""

KEPT_PER_TEST = 4
CLAIMS = 2


@dataclass(frozen=True)
class Proof:
    """What is known of one broken device.

    Attributes:
        what: the defect, in words that go on after "a device with".
        asked: how many tests were run on it.
        noticed: how many of them failed.
        claims: those that stand for the others, the most particular first.
        quick: whether the claims need no fresh processes and no time-out, so that `make test` may check them.

    """

    what: str
    asked: int
    noticed: int
    claims: tuple[str, ...]
    quick: bool


@dataclass(frozen=True)
class Record:
    """Every broken device, and for every test the defects that it finds, the most particular first."""

    proofs: Mapping[str, Proof]
    tests: Mapping[str, tuple[str, ...]]

    def unproven(self) -> tuple[str, ...]:
        """The tests that nothing fails."""
        return tuple(test_id for test_id, names in self.tests.items() if not names)


def read_record() -> Record:
    """The record that is kept."""
    content = json.loads(RECORD.read_text(encoding="utf-8"))
    proofs = {
        name: Proof(each["what"], each["asked"], each["noticed"], tuple(each["claims"]), each["quick"])
        for name, each in content["proofs"].items()
    }
    return Record(proofs, {test_id: tuple(names) for test_id, names in content["tests"].items()})


def write_record(record: Record) -> None:
    """Keep a record, one line for each test and each broken device."""
    proofs = {name: {**vars(proof), "claims": list(proof.claims)} for name, proof in record.proofs.items()}
    parts = [
        f'"proofs": {_lines(proofs)}',
        f'"tests": {_lines({test_id: list(names) for test_id, names in record.tests.items()})}',
    ]
    RECORD.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _lines(content: Mapping[str, object]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()) + "\n}"


def drawn(record: Record) -> tuple[str, ...]:
    """Quick broken devices that stand for all: one of each module of ``sabotage/``, and one that each suite notices."""
    quick = [name for name, proof in record.proofs.items() if proof.quick]
    chosen = []
    for path in sorted(Path(__file__).with_name("sabotage").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        chosen += [name for name in quick if f'"{name}"' in text][:1]
    for suite in ("smoke/", "integration/"):
        noticed = [name for name in quick if any(claim.startswith(suite) for claim in record.proofs[name].claims)]
        chosen += [] if set(chosen) & set(noticed) else noticed[:1]
    return tuple(chosen)


BY_CHANCE = frozenset(
    {
        ("downloads-out-of-order", "integration/test_streams_events.py::test_non_blocking_copy_to_device_is_ordered"),
        ("downloads-out-of-order", "integration/test_streams_events.py::test_set_stream"),
        ("downloads-out-of-order", "integration/test_training.py::test_accumulated_gradients_equal_a_large_batch"),
        ("precisions-by-name", "integration/test_registration.py::test_operators_from_several_threads"),
        ("stream-context-stays", "integration/test_streams_events.py::test_current_stream_is_per_thread"),
    }
)
"""What a test notices on a slow machine only, where work that nobody waits for is not done yet, or only after another
test has failed in the same process: it proves nothing."""


def make_record(reports: Iterable[Mapping[str, Any]]) -> Record:
    """Make a record of what the plugin reported; of several reports of a variant and a test the last one counts.

    Raises:
        ValueError: a variant was not run, or nothing noticed it.

    """
    found: dict[str, dict[str, str]] = {}
    last: Mapping[str, Any] = {}
    for last in reports:
        for name, each in last["report"].items():
            found.setdefault(name, {}).update(each["tests"])
    missing = sorted(set(last["variants"]) - set(found))
    if missing:
        raise ValueError(f"not run: {', '.join(missing)}")
    known = set(last["collected"])
    noticed = {
        name: [
            test_id
            for test_id, outcome in found[name].items()
            if outcome in NOTICED and test_id in known and (name, test_id) not in BY_CHANCE
        ]
        for name in last["variants"]
    }
    silent = sorted(name for name, tests in noticed.items() if not tests)
    if silent:
        raise ValueError(f"noticed by nothing: {', '.join(silent)}")
    by_test: dict[str, list[str]] = {test_id: [] for test_id in last["collected"]}
    for name, tests in noticed.items():
        for test_id in tests:
            by_test[test_id].append(name)
    starting = set(last["starting"])
    proofs = {}
    for name, what in last["variants"].items():
        slow = {test_id for test_id in noticed[name] if test_id in starting or found[name][test_id] == "timed_out"}
        order = sorted(noticed[name], key=lambda test_id: (test_id in slow, len(by_test[test_id]), test_id))
        claims = tuple(order[:CLAIMS])
        quick = not slow & set(claims)
        proofs[name] = Proof(what, len(found[name]), len(noticed[name]), claims, quick)
    return Record(
        proofs,
        {
            test_id: tuple(sorted(names, key=lambda name: (len(noticed[name]), name))[:KEPT_PER_TEST])
            for test_id, names in by_test.items()
        },
    )


def table(record: Record, reasons: Mapping[str, str]) -> str:
    """The part of the README between its markers."""
    proven = len(record.tests) - len(record.unproven())
    rows = [
        f"| {proof.what} | {proof.noticed} of {proof.asked} | {'<br>'.join(f'`{claim}`' for claim in proof.claims)} |"
        for proof in record.proofs.values()
    ]
    exceptions = [f"- `{test_id}`: {reason}" for test_id, reason in reasons.items()]
    return "\n".join(
        [
            BEGIN,
            "",
            f"{proven} of {len(record.tests)} tests of `smoke` and `integration` fail on at least one of "
            f"{len(record.proofs)} broken devices.",
            *(["The others, and why they are kept:", "", *exceptions] if exceptions else []),
            "",
            "| a device with | tests that notice, of those asked | among them |",
            "| --- | --- | --- |",
            *rows,
            "",
            END,
        ]
    )


def readme_with(text: str, generated: str) -> str:
    """The README with its generated part written anew.

    Raises:
        ValueError: it lacks the markers.

    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README.name} has no place for the table: {BEGIN} ... {END}")
    return before + generated + after
