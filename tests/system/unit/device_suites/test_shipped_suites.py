"""The suites that are shipped, as collected and run by a Python with torch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from drawn import deep
from small_suites import SUITES, DevicePython, read_collected, read_ends

pytestmark = [pytest.mark.torch, pytest.mark.long]


@pytest.fixture(scope="module")
def collected(forking_ops: DevicePython, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Every test, as the event log lists it."""
    log = tmp_path_factory.mktemp("collected") / "events.jsonl"
    done = forking_ops("-m", "pytest", "--device", "cpu", "--collect-only", "-q", "--events", str(log))
    assert done.returncode == 0, done.stdout + done.stderr
    return read_collected(log)


def test_every_suite_has_tests(collected: list[dict[str, Any]]) -> None:
    suites = [test["suite"] for test in collected]
    assert suites.count("smoke") >= 30
    assert suites.count("integration") >= 200
    assert suites.count("ops") >= 1000
    assert suites.count("models") >= 40


def test_ids_are_plain_and_without_the_device(collected: list[dict[str, Any]]) -> None:
    ids = [test["id"] for test in collected]
    assert len(set(ids)) == len(ids)
    for test_id in ids:
        assert re.fullmatch(r"(smoke|integration|ops|models)/test_\w+\.py::test_\w+(\[[\w.+-]+\])?", test_id), test_id


def test_titles_are_sentences(collected: list[dict[str, Any]]) -> None:
    for test in collected:
        assert test["title"][0].isupper() or test["title"][0] == "`", test
        assert test["title"].endswith("."), test
        assert len(test["title"]) <= 120, test


def test_ids_are_the_same_again(collected: list[dict[str, Any]], forking_ops: DevicePython, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    done = forking_ops(
        *("-m", "pytest", "-c", str(SUITES / "pytest.ini"), "--rootdir", str(SUITES), str(SUITES), "--collect-only"),
        *("-q", "--device", "cpu", "--events", str(log)),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {test["id"] for test in read_collected(log)} == {test["id"] for test in collected}


@pytest.mark.parametrize(("share", "tests"), [("12/24", 30), deep("1/1", 600)])
def test_the_control_run_passes_without_the_tool_and_uses_no_compiled_code_of_others(
    device_python: DevicePython, tmp_path: Path, share: str, tests: int
) -> None:
    log, of_others = tmp_path / "events.jsonl", tmp_path / "of-others"
    # The operators of op_db have tests of their own; all of them would take minutes. This share has test_inductor.
    suites = [str(SUITES / name) for name in ("smoke", "integration")]
    options = ("--device", "cpu", "--shard", share, "-q", "--events", str(log))
    env = {"TORCHINDUCTOR_CACHE_DIR": str(of_others)}
    done = device_python("-m", "pytest", *suites, *options, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {test_id: end["outcome"] for test_id, end in read_ends(log).items()}
    assert set(outcomes.values()) <= {"passed", "skipped", "unsupported"}
    assert len(outcomes) > tests
    assert outcomes["integration/test_compile.py::test_inductor"] == "passed"
    assert not list(of_others.glob("*"))


FILES_ABOUT_CARDS = ("smoke/test_device.py", "integration/test_device.py", "integration/test_registration.py")


@pytest.mark.deep
def test_a_device_with_one_card_fails_nothing_for_it(reference: DevicePython, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    options = ("--device", "openreg", "-q", "--events", str(log))
    done = reference("-m", "pytest", *FILES_ABOUT_CARDS, *options, env={"OPENREG_DEVICE_COUNT": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    ends = read_ends(log).values()
    assert {end["outcome"] for end in ends} == {"passed", "skipped"}
    assert {end["message"] for end in ends if end["outcome"] == "skipped"} == {"needs 2 devices, torch counts 1"}


WITHOUT_COMPETITION = """
import torch
class Stream(torch.Stream):
    def __exit__(self, *error):
        self.synchronize()
        super().__exit__(*error)
torch.Stream = Stream
"""


def test_a_priority_without_another_busy_stream_is_no_pass(forking_python: DevicePython, tmp_path: Path) -> None:
    (tmp_path / "without_competition.py").write_text(WITHOUT_COMPETITION, encoding="utf-8")
    log = tmp_path / "events.jsonl"
    test = "integration/test_streams_events.py::test_priority_has_an_effect"
    options = ("-p", "without_competition", "--device", "openreg", "-q", "--events", str(log))
    done = forking_python("-m", "pytest", test, *options, env={"PYTHONPATH": str(tmp_path)})
    (end,) = read_ends(log).values()
    assert (end["outcome"], end["message"]) == ("unsupported", "no work competes with that of another stream"), done


def test_probe_knows_the_cpu(forking_python: DevicePython, tmp_path: Path) -> None:
    done = forking_python("-m", "probe", "--device", "cpu", "--out", str(tmp_path / "env.json"))
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "env.json").read_text(encoding="utf-8"))
    assert set(facts["device"].pop("lacks")) == {"events", "fork detection"}
    assert {"manual_seed_all", "get_rng_state"} <= set(facts["device"].pop("missing_functions"))
    assert facts["device"] == {"name": "cpu", "known": True, "available": True, "count": 1, "card": {}, "error": None}
    assert re.match(r"\d+\.\d+", facts["torch"]["version"])
