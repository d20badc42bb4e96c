"""How many wrong kernels the suites find: a score by the way in which a kernel is wrong, which must not fall."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from drawn import deep_but
from mutants import DEVICE, WAYS, drawn
from small_suites import DevicePython, read_collected, read_ends

RECORD = Path(__file__).with_name("mutants.json")
SEED = "OOTCI_TEST_MUTANTS_SEED"
"""The variable that names another seed than the record's; its score is printed, and has to reach the goal, too."""
GOAL, GOAL_OF_A_WAY = 0.95, 0.8
"""The shares that are found of all mutants, and of those that are wrong in one way."""
ANYWHERE = ("integration/test_device.py", "integration/test_streams_events.py")
"""What looks at cards and streams, whichever operator it is."""
WHERE = ("wrong on the second card", "wrong on a side stream")
"""The ways of which those are asked, too."""


def _assert_good(score: dict[str, list[int]]) -> None:
    """Assert that the suites find as many as they should."""
    found, total = (sum(counts) for counts in zip(*score.values(), strict=True))
    assert found >= GOAL * total
    assert [way for way, (some, every) in score.items() if some < GOAL_OF_A_WAY * every] == []


def _passing(python: DevicePython, log: Path, ids: list[str]) -> set[str]:
    """The tests that the whole device passes."""
    python("-m", "pytest", *ids, "--device", DEVICE, f"--events={log}", "-q")
    return {test_id for test_id, end in read_ends(log).items() if end["outcome"] == "passed"}


def _is_found(python: DevicePython, ids: list[str], mutant: str) -> bool:
    """Whether a test fails on a mutant, or dies of it."""
    environment = {"OPS_MUTANT": mutant, "PYTHONPATH": str(Path(__file__).parent)}
    done = python("-m", "pytest", "-p", "mutants", "-x", "-q", *ids, "--device", DEVICE, env=environment)
    assert done.returncode in (0, 1) or done.returncode < 0, done.stdout + done.stderr
    return done.returncode != 0


@pytest.mark.torch
@pytest.mark.deep
@pytest.mark.long
def test_the_score_does_not_fall(forking_ops: DevicePython, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    seed = int(os.environ.get(SEED, record["seed"]))
    log = tmp_path / "events.jsonl"
    forking_ops("-m", "pytest", "ops", "--device", DEVICE, "--collect-only", "-q", f"--events={log}")
    by_kernel: dict[str, list[str]] = {name: [] for _, name in drawn(seed)}
    for test in read_collected(log):
        named = re.search(r"\[([\w.]+)[-\]]", test["id"])
        if named and named[1] in by_kernel:
            by_kernel[named[1]].append(test["id"])
    log.unlink()
    passing = _passing(forking_ops, log, [*(test_id for ids in by_kernel.values() for test_id in ids), *ANYWHERE])
    found, total, missed = Counter[str](), Counter[str](), []
    for way, name in drawn(seed):
        elsewhere = [test_id for test_id in sorted(passing) if test_id.startswith(ANYWHERE)]
        ids = [test_id for test_id in by_kernel[name] if test_id in passing]
        total[way] += 1
        if _is_found(forking_ops, [*ids, *(elsewhere if way in WHERE else ())], f"{way} / {name}"):
            found[way] += 1
        else:
            missed.append(f"{way} / {name}")
    score = {way: [found[way], total[way]] for way in WAYS}
    lines = [f"  {way}: {score[way][0]} of {score[way][1]}" for way in WAYS]
    sys.stdout.write("\n".join([f"seed {seed}: {found.total()} of {total.total()} found", *lines, *missed, ""]))
    if request.config.getoption("--update-golden"):
        reasons = {name: record["missed"].get(name, "") for name in missed}
        RECORD.write_text(
            json.dumps({"seed": seed, "score": score, "missed": reasons}, indent=1) + "\n", encoding="utf-8"
        )
    elif seed == record["seed"]:
        assert set(missed) <= set(record["missed"]), "the suites no longer find these"
    _assert_good(score)


def test_the_record_reaches_the_goal_and_says_why_some_are_missed() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    _assert_good(record["score"])
    of_each_way = Counter(way for way, _ in drawn(record["seed"]))
    assert {way: total for way, (_, total) in record["score"].items()} == of_each_way
    missed = Counter(name.partition(" / ")[0] for name, why in record["missed"].items() if why)
    assert {way: total - found for way, (found, total) in record["score"].items() if found < total} == missed


TOLD = {
    "ignores strides": "strided",
    "ignores the offset": "at an offset",
    "loses NaN": "with NaN",
    "wrong past a block": "of many elements",
    "keeps state": "with other elements",
    "loses channels-last": "expected a channels-last result",
    "wrong on the second card": "on the second card",
    "wrong on a side stream": "on two streams at once",
}
"""How a failure tells in which way a kernel is wrong."""


@pytest.fixture(scope="module")
def varied(forking_ops: DevicePython) -> str:
    """A test of all these ways that the whole device passes."""
    test = "ops/test_variations.py::test_variations[sin-float32]"
    assert forking_ops("-m", "pytest", "-q", test, "--device", DEVICE).returncode == 0
    return test


@pytest.mark.torch
@pytest.mark.parametrize("way", deep_but({"ignores strides", "keeps state", "wrong on a side stream"}, TOLD))
def test_a_failure_tells_the_way(forking_ops: DevicePython, varied: str, way: str) -> None:
    environment = {"OPS_MUTANT": f"{way} / sin", "PYTHONPATH": str(Path(__file__).parent)}
    done = forking_ops("-m", "pytest", "-p", "mutants", "-q", varied, "--device", DEVICE, env=environment)
    assert done.returncode == 1
    assert TOLD[way] in done.stdout
