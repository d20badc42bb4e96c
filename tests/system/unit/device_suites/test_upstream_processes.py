"""PyTorch's own tests in processes of the tool: those that end or hang, and declarations tried apart from the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytorch_test_files import SMALL
from sabotage import DEVICE
from small_checkout import Upstream, imported, outcomes_of
from small_suites import SUITES, read_events
from unit.samples import build, device, night, plan

from ootci.adapters.progress import Progress
from ootci.model.workspace import RunFolder
from ootci.stages.test import stage as stage_test
from ootci.stages.test import test as run_stages

pytestmark = [pytest.mark.torch, pytest.mark.long]


def _stages(
    upstream: Upstream, python: str, tmp_path: Path, *, workers: int = 1, seconds: int = 300, **keys: Any
) -> tuple[dict[str, str], tuple[dict[str, Any], ...]]:
    """Run the suite under the tool: the outcomes and the events."""
    run, planned, choice = tmp_path / "run", keys.pop("planned", None), keys.pop("choice", ())
    run_stages(
        device(
            DEVICE,
            suites=[{"name": "upstream", **keys}],
            limits={"workers": workers, "test_seconds": seconds, "deaths_in_a_row": 100},
        ).device,
        build(python=python),
        RunFolder(run),
        SUITES,
        clock=lambda: night(0),
        progress=Progress(quiet=True),
        planned=planned,
        options={"upstream": (f"--upstream-tests={upstream.tests}", f"--upstream-commit={upstream.commit}")},
        choice=choice,
    )
    events = read_events(run / "events.jsonl")
    return outcomes_of(tuple(event for event in events if event.get("attempt", 1) == 1)), events


@pytest.mark.deep
def test_declarations_are_tried_apart_from_the_run(upstream: Upstream, python_with_torch: str, tmp_path: Path) -> None:
    upstream.write(test_small=SMALL.format(body="os.abort()", head=""))
    exclusions = {"TestThings": ["test_fail", "test_param"], "TestSmall": ["test_one"]}
    declared: dict[str, Any] = {"operators": ["add"], "exclusions": exclusions}
    planned = plan().runs[0].model_copy(update={"tries_declarations": True})
    outcomes, events = _stages(upstream, python_with_torch, tmp_path, planned=planned, workers=2, **declared)
    assert {test.rpartition("::")[2] for test in outcomes} == {
        *("test_op_add_float32", "test_add_float32", "test_add_int64", "test_cuda_only", "test_expected_failure"),
        "test_two",
    }
    assert set(outcomes.values()) == {"passed", "skipped", "xfailed"}
    (told,) = (event for event in events if event["event"] == "declarations")
    assert told["tried"] == {
        "exclusions: TestSmall.test_one": {"passed": 0, "seen": 1},
        "exclusions: TestThings.test_fail": {"passed": 0, "seen": 1},
        "exclusions: TestThings.test_param": {"passed": 2, "seen": 2},
        "operators: mul": {"passed": 1, "seen": 1},
    }


def test_a_crash_costs_its_test_and_a_new_process_imports_what_remains(
    upstream: Upstream, python_with_torch: str, tmp_path: Path
) -> None:
    upstream.write(
        test_a=SMALL.format(body="pass", head=""),
        test_b=SMALL.format(body="os.abort()", head=""),
    )
    files = ["test_a.py", "test_b.py", "folder/test_more.py"]
    outcomes, events = _stages(upstream, python_with_torch, tmp_path, files=files, operators=["mul"])
    assert outcomes == {
        "test_a.py::TestSmall::test_one": "passed",
        "test_a.py::TestSmall::test_two": "passed",
        "test_b.py::TestSmall::test_one": "crashed",
        "test_b.py::TestSmall::test_two": "passed",
        "folder/test_more.py::TestMore::test_op_mul_float32": "passed",
    }
    first = [*(f"{file}::import" for file in files), *(f"{file}::import" for file in files[1:])]
    assert imported(events)[: len(first)] == first
    told = next(event for event in events if event.get("outcome") == "crashed")
    assert "Expected: PyTorch's own test TestSmall.test_one passes.\nReproduce" in told["text"]
    assert f"pytest upstream --upstream-config={tmp_path}" in told["text"]
    assert told["text"].endswith(
        "--upstream-files=test_b.py --id upstream/test_b.py::TestSmall::test_one --device " + DEVICE
    )


@pytest.mark.deep
def test_shares_and_workers_run_each_test_once_and_only_a_large_file_is_imported_by_two_workers(
    upstream: Upstream, python_with_torch: str, tmp_path: Path
) -> None:
    more = "".join(f"    def test_more_{number}(self, device):\n        pass\n\n" for number in range(20))
    small, large = SMALL.format(body="pass", head=""), SMALL.format(body="os.abort()", head="")
    upstream.write(test_a=small, test_b=small, test_large=large.replace("    def test_two", f"{more}    def test_two"))
    files, shares = ["test_a.py", "test_b.py", "test_large.py"], [(f"--shard={index}/2",) for index in (1, 2)]
    one, events = _stages(upstream, python_with_torch, tmp_path / "1", files=files, choice=shares[0], workers=2)
    other, _ = _stages(upstream, python_with_torch, tmp_path / "2", files=files, choice=shares[1])
    names = {"a": ("one", "two"), "b": ("one", "two"), "large": ("one", "two", *(f"more_{at}" for at in range(20)))}
    whole = {f"test_{file}.py::TestSmall::test_{name}": "passed" for file in names for name in names[file]}
    whole["test_large.py::TestSmall::test_one"] = "crashed"
    assert {**one, **other} == whole
    assert not set(one) & set(other)
    ends = [event["id"] for event in events if event["event"] == "test_end" and event.get("attempt", 1) == 1]
    assert len(set(ends)) == len(ends)
    a, b, both = (imported(events).count(f"{file}::import") for file in files)
    assert a == b == 1 < both
    dealt = {event["files"]["upstream/test_large.py"] == [1, 2] for event in events if event["event"] == "dealt"}
    assert dealt == {True}
    told = {test["id"].removeprefix("upstream/") for event in events for test in event.get("tests", ())}
    assert {test for test in told if not test.endswith("::import")} == set(whole)


BAD_HEADS = {
    "os.abort()": ("crashed", "the process ended while this file was imported: killed by SIGABRT"),
    "os._exit(0)": ("crashed", "the process ended while this file was imported: "),
    "time.sleep(600)": ("timed_out", "still running when the import's 20 s were up"),
}
"""What a file does while it is imported: its outcome, and what is said of it."""


@pytest.mark.deep
@pytest.mark.parametrize(
    ("seconds", "workers", "heads"),
    [
        (20, 1, ("", "os._exit(0)", "", "time.sleep(600)", "")),
        (300, 2, ("", "os.abort()", "")),
    ],
)
def test_a_file_that_ends_or_hangs_the_importer_costs_that_file(
    upstream: Upstream,
    python_with_torch: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
    workers: int,
    heads: tuple[str, ...],
) -> None:
    monkeypatch.setattr(stage_test, "COLLECT_SECONDS", seconds)
    names = [f"test_{place}" for place in range(len(heads))]
    upstream.write(**{name: SMALL.format(body="pass", head=head) for name, head in zip(names, heads, strict=True)})
    keys = {"files": [f"{name}.py" for name in names], "workers": workers, "seconds": seconds}
    outcomes, events = _stages(upstream, python_with_torch, tmp_path, **keys)
    bad = {f"{name}.py::import": BAD_HEADS[head] for name, head in zip(names, heads, strict=True) if head}
    whole = [f"{name}.py" for name, head in zip(names, heads, strict=True) if not head]
    assert outcomes == {
        **{test: outcome for test, (outcome, _) in bad.items()},
        **{f"{file}::TestSmall::test_{number}": "passed" for file in whole for number in ("one", "two")},
    }
    for test, (_, said) in bad.items():
        ends = [event for event in events if event["event"] == "test_end" and event["id"] == f"upstream/{test}"]
        (told,) = (event for event in ends if event.get("attempt", 1) == 1)
        assert said in told["message"]
    (stage,) = (event for event in events if event["event"] == "stage_end" and event["stage"] == "upstream")
    count = len(heads) + 2 * len(whole)
    assert (stage["status"], stage["reason"]) == ("failed", f"{len(bad)} of {count} tests failed")


LEAKS = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); KEPT.append(bytearray(100 << 20))"
PLANTED = {"a": "os.abort()", "b": "time.sleep(600)", "c": LEAKS, "d": "pass", "e": "pass", "f": "pass"}


@pytest.mark.deep
def test_a_crash_a_hang_a_leak_and_a_file_that_ends_the_importer_cost_what_they_hit(
    upstream: Upstream, python_with_torch: str, tmp_path: Path
) -> None:
    """All of them in one tree, in two shares of two workers each: every other test has its own outcome, once."""
    more = "".join(f"    def test_more_{number}(self, device):\n        pass\n\n" for number in range(40))
    for name, body in PLANTED.items():
        head = "import subprocess, sys\nKEPT = []\n" + ("os._exit(0)" if name == "d" else "")
        text = SMALL.format(body=body, head=head).replace("    def test_two", f"{more}    def test_two")
        upstream.write(**{f"test_{name}": text})
    keys = {"files": [f"test_{name}.py" for name in PLANTED], "workers": 2, "seconds": 20}
    shares = [
        _stages(upstream, python_with_torch, tmp_path / str(index), choice=(f"--shard={index}/2",), **keys)
        for index in (1, 2)
    ]
    whole = {f"test_{name}.py": ("one", "two", *(f"more_{at}" for at in range(40))) for name in PLANTED if name != "d"}
    expected = {f"{file}::TestSmall::test_{name}": "passed" for file, names in whole.items() for name in names}
    bad = {
        "test_a.py::TestSmall::test_one": "crashed",
        "test_b.py::TestSmall::test_one": "timed_out",
        "test_d.py::import": "crashed",
    }
    (one, _), (other, _) = shares
    assert {**one, **other} == {**expected, **bad}
    assert one.keys() & other.keys() == {"test_d.py::import"}
    for _, events in shares:
        ends = [event["id"] for event in events if event["event"] == "test_end" and event.get("attempt", 1) == 1]
        assert len(set(ends)) == len(ends)
