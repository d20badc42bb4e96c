"""What holds for every history, whatever is in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from unit.samples import device, night, plan, run
from unit.stages.judging import judged

from ootci.model.outcome import OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import AS_EXPECTED, Verdicts

NAMES = ("dev", "two")
_OUTCOMES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([name.value for name in OutcomeName]), max_size=4)
_BEFORE = st.dictionaries(
    st.sampled_from(["fetch", "build", "import", "check"]), st.sampled_from(["failed", "crashed"]), max_size=1
)


@st.composite
def _records(draw: st.DrawFn) -> list[Plan | Run]:
    records: list[Plan | Run] = []
    for number in range(draw(st.integers(0, 3))):
        records.append(plan(number, NAMES))
        for name in NAMES:
            for attempt in range(1, draw(st.integers(0, 2)) + 1):
                values = {"smoke": draw(_OUTCOMES), "integration": draw(_OUTCOMES), "stages": draw(_BEFORE)}
                records.append(run(number, name, attempt=attempt, **values))  # type: ignore[arg-type]
    return records


def _judge(records: list[Plan | Run]) -> Verdicts:
    with tempfile.TemporaryDirectory() as folder:
        return judged(Path(folder), *records, registry=[device(name) for name in NAMES], now=night(3))


@settings(max_examples=20)
@given(_records(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(records: list[Plan | Run], random: object) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    # A nightly is known before anything can be reported of it.
    shuffled.sort(key=lambda record: isinstance(record, Run))
    assert _judge(shuffled) == _judge(records)


@settings(max_examples=30)
@given(_records())
def test_what_is_as_expected_has_executed_tests_and_no_failure(records: list[Plan | Run]) -> None:
    for item in _judge(records).devices:
        assert item.counts.total == sum(item.counts.model_dump().values())
        assert item.nights <= len(item.history)
        if item.verdict in AS_EXPECTED:
            assert item.counts.executed > 0
            assert item.counts.failures == 0
            assert item.run_id is not None
            assert item.since is not None


@settings(max_examples=30)
@given(_records())
def test_judging_again_changes_nothing(records: list[Plan | Run]) -> None:
    assert _judge(records).to_json() == _judge(records).to_json()
