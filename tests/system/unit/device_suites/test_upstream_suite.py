"""PyTorch's own tests, from a checkout: proven on a small tree of the same shape, since the real one is large."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from drawn import deep
from pytorch_test_files import LABELLED, LABELS, MORE, SECOND_BASE, SMALL, THINGS
from repositories import repository
from sabotage import DEVICE
from small_suites import SUITES, DevicePython, read_events
from unit.samples import build, device, night, plan

from harness.upstream_tests import without_device
from ootci.adapters.terminal import Progress
from ootci.model.workspace import RunFolder
from ootci.stages.test import test as run_stages

pytestmark = pytest.mark.long

THINGS_PASS = {
    "test_things.py::TestThings::test_add_float32": "passed",
    "test_things.py::TestThings::test_add_int64": "passed",
    "test_things.py::TestThings::test_cuda_only": "skipped",
    "test_things.py::TestThings::test_expected_failure": "xfailed",
    "test_things.py::TestThings::test_fail": "failed",
    "test_things.py::TestThings::test_param_count_1": "passed",
    "test_things.py::TestThings::test_param_count_2": "passed",
}


@dataclass(frozen=True)
class Upstream:
    """A small checkout, and what runs its tests."""

    tests: Path
    commit: str
    python: DevicePython

    def write(self, **files: str) -> None:
        """Add files of tests, by their names."""
        for name, text in files.items():
            (self.tests / f"{name}.py").write_text(text, encoding="utf-8")

    def run(self, *arguments: str, device: str = DEVICE, commit: str | None = None, **env: str) -> Any:
        """Run the suite; the process and the events."""
        log = self.tests.with_name("events.jsonl")
        log.unlink(missing_ok=True)
        options = [f"--upstream-tests={self.tests}", f"--upstream-commit={commit or self.commit}", f"--events={log}"]
        done = self.python("-m", "pytest", "upstream", "--device", device, "-q", *options, *arguments, env=env)
        return done, read_events(log)

    def declare(self, **declared: object) -> str:
        """The option with which a device declares this."""
        path = self.tests.with_name("config.json")
        path.write_text(json.dumps(declared), encoding="utf-8")
        return f"--upstream-config={path}"


@pytest.fixture
def upstream(tmp_path: Path, forking_ops: DevicePython) -> Upstream:
    """A repository with a folder ``test``."""
    tests = tmp_path / "pytorch" / "test"
    (tests / "folder").mkdir(parents=True)
    made = Upstream(tests, "", forking_ops)
    made.write(
        test_things=THINGS,
        neighbour="VALUE = 2\n",
        test_plain="raise SystemError('this file has no device-generic test and is not imported')\n",
    )
    (tests / "folder" / "test_more.py").write_text(MORE, encoding="utf-8")
    (tests / "folder" / "beside.py").write_text("NAMES = ('add', 'mul')\n", encoding="utf-8")
    return replace(made, commit=repository(tests.parent))


def _ended(events: tuple[dict[str, Any], ...]) -> dict[str, str]:
    return {event["id"].removeprefix("upstream/"): event["outcome"] for event in events if event["event"] == "test_end"}


def _outcomes(events: tuple[dict[str, Any], ...]) -> dict[str, str]:
    """What became of the tests, without the files that could be imported."""
    return {test: outcome for test, outcome in _ended(events).items() if (test[-8:], outcome) != ("::import", "passed")}


def _errors(events: tuple[dict[str, Any], ...]) -> dict[str, str]:
    errors = (event for event in events if event["event"] == "collect_error")
    return {event["id"].removeprefix("upstream/"): event["text"] for event in errors}


def _imported(events: tuple[dict[str, Any], ...]) -> list[str]:
    return [event["id"].removeprefix("upstream/") for event in events if event["event"] == "import_start"]


@pytest.mark.torch
@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_every_test_that_pytorch_made_for_the_device_is_run(upstream: Upstream, device: str) -> None:
    done, events = upstream.run(device=device)
    assert _outcomes(events) == {
        "folder/test_more.py::TestMore::test_op_add_float32": "passed",
        "folder/test_more.py::TestMore::test_op_mul_float32": "passed",
        **THINGS_PASS,
    }, done.stdout + done.stderr
    assert _imported(events) == ["folder/test_more.py::import", "test_things.py::import"]
    assert {_ended(events)[file] for file in _imported(events)} == {"passed"}
    (collected,) = (event for event in events if event["event"] == "collected")
    assert collected["tests"][0]["title"] == "The file can be imported."
    assert collected["tests"][1] == {
        "id": "upstream/folder/test_more.py::TestMore::test_op_add_float32",
        "suite": "upstream",
        "title": "PyTorch's own test TestMore.test_op_add_float32 passes.",
    }


@pytest.mark.torch
def test_named_files_only_and_names_without_tests_are_errors(upstream: Upstream) -> None:
    files = ["test_things.py", "test_gone.py", "test_plain.py", "neighbour.py", "test_elsewhere.py"]
    upstream.write(test_elsewhere=SMALL.format(body="pass", head="").replace("()", '(), only_for="cuda"'))
    done, events = upstream.run("--upstream-files=folder/test_more.py", f"--upstream-files={','.join(files)}")
    assert _outcomes(events) == THINGS_PASS
    assert done.returncode == 1
    errors = _errors(events)
    assert set(errors) == {"test_gone.py", "test_plain.py", "neighbour.py", "test_elsewhere.py::tests"}
    assert "there is no file test_gone.py in this checkout of PyTorch\n  what to do: " in errors["test_gone.py"]
    assert "test_plain.py has no device-generic test\n  what to do: " in errors["test_plain.py"]
    assert "PyTorch makes no test of test_elsewhere.py for this device" in errors["test_elsewhere.py::tests"]
    _, events = upstream.run("--upstream-skip=test_things.py,test_elsewhere.py")
    assert {name.partition("::")[0] for name in _outcomes(events)} == {"folder/test_more.py"}


@pytest.mark.torch
def test_a_file_that_cannot_be_imported_is_one_test(upstream: Upstream) -> None:
    small = SMALL.format(body="pass", head="{}")
    upstream.write(
        test_raises=small.format("import no_such_package"),
        test_syntax=small.format("def"),
        test_exits=small.format("raise SystemExit(3)"),
        test_leaves=small.format("raise SystemExit(0)"),
        test_skips=small.format("import unittest; raise unittest.SkipTest('no compiler')"),
        test_skips_too=small.format("import pytest; pytest.skip('no compiler')"),
        test_things="",
    )
    done, events = upstream.run("--upstream-skip=folder/test_more.py")
    assert _outcomes(events) == {
        "test_raises.py::import": "error",
        "test_syntax.py::import": "error",
        "test_exits.py::import": "error",
        "test_leaves.py::import": "skipped",
        "test_skips.py::import": "skipped",
        "test_skips_too.py::import": "skipped",
    }, done.stdout + done.stderr
    assert _errors(events) == {}
    messages = {event["id"]: event["message"] for event in events if event["event"] == "test_end"}
    assert "No module named 'no_such_package'" in messages["upstream/test_raises.py::import"]
    assert "no compiler" in messages["upstream/test_skips_too.py::import"]


@pytest.mark.torch
def test_a_failure_can_be_seen_again(upstream: Upstream) -> None:
    upstream.write(test_broken=SMALL.format(body="pass", head="import no_such_package"))
    _, events = upstream.run()
    failed = [event for event in events if event["event"] == "test_end" and event["outcome"] in ("failed", "error")]
    assert len(failed) == 2
    for end in failed:
        assert "Capability:" not in end["text"]
        assert "Read:" not in end["text"]
        command = shlex.split(end["text"].splitlines()[-1].partition(": ")[2])
        assert f"--upstream-files={end['id'].removeprefix('upstream/').partition('::')[0]}" in command
        again = upstream.python(*command[1:])
        assert again.returncode == 1
        assert again.stdout.splitlines()[-1].strip("= ").startswith(("1 failed, ", "1 error "))
    upstream.write(test_broken=SMALL.format(body="pass", head=""))
    _, events = upstream.run("--upstream-files=test_broken.py", "--id=upstream/test_broken.py::import")
    assert _ended(events) == {"test_broken.py::import": "passed"}


@pytest.mark.torch
def test_a_class_that_pytorch_labels_for_other_hardware_is_left_out(upstream: Upstream) -> None:
    """The labels of torch 2.15, which the torch here may not have."""
    upstream.write(test_labels=f"{LABELS}{LABELLED}")
    _, events = upstream.run("--upstream-files=test_labels.py")
    assert set(_outcomes(events)) == {
        "test_labels.py::TestLabelled::test_one",
        "test_labels.py::TestUnlabelled::test_one",
    }


@pytest.mark.torch
def test_declarations_are_handed_to_pytorch(upstream: Upstream) -> None:
    declared = upstream.declare(
        operators=["add"],
        exclusions={"TestThings": ["test_fail", "test_param"], "TestSmall": "*"},
        bypass_device_restrictions=True,
    )
    upstream.write(test_small=SMALL.format(body="pass", head=""))
    done, events = upstream.run(declared)
    assert _outcomes(events) == {
        "folder/test_more.py::TestMore::test_op_add_float32": "passed",
        "test_things.py::TestThings::test_add_float32": "passed",
        "test_things.py::TestThings::test_add_int64": "passed",
        "test_things.py::TestThings::test_cuda_only": "passed",
        "test_things.py::TestThings::test_expected_failure": "xfailed",
    }, done.stdout + done.stderr
    _, events = upstream.run(declared, device="cpu")
    assert len(_outcomes(events)) == len(THINGS_PASS) + 4


@pytest.mark.torch
def test_declarations_that_mean_nothing_are_errors(upstream: Upstream) -> None:
    exclusions = {"TestGone": "*", "TestThings": ["test_gone", "test_fail"]}
    _, events = upstream.run(upstream.declare(operators=["add", "addd"], exclusions=exclusions))
    errors = _errors(events)
    assert set(errors) == {"operators::addd", "exclusions::TestGone", "exclusions::TestThings::test_gone"}
    assert "did you mean add?\n  what to do: use OpInfo.full_name" in errors["operators::addd"]
    assert all("what to do: " in text for text in errors.values())
    assert "test_things.py::TestThings::test_add_float32" in _outcomes(events)
    done, events = upstream.run(upstream.declare(operator=["add"]))
    assert done.returncode not in (0, 5)
    assert "the declarations cannot be read: the key `operator` is unknown" in done.stdout


@pytest.mark.torch
def test_tests_that_are_not_made_because_of_a_declaration_can_be_run_alone(upstream: Upstream) -> None:
    declared = upstream.declare(
        operators=["add"], exclusions={"TestThings": ["test_fail", "test_param"], "TestSmall": "*"}
    )
    upstream.write(test_small=SMALL.format(body="pass", head=""), test_broken="instantiate_device_type_tests(")
    done, events = upstream.run(declared, "--upstream-declared")
    (collected,) = (event for event in events if event["event"] == "collected")
    because = {test["id"].rpartition("::")[2]: test.get("declaration") for test in collected["tests"]}
    assert because == {
        "import": None,
        "test_op_mul_float32": "operators: mul",
        "test_one": "exclusions: TestSmall",
        "test_two": "exclusions: TestSmall",
        "test_fail": "exclusions: TestThings.test_fail",
        "test_param_count_1": "exclusions: TestThings.test_param",
        "test_param_count_2": "exclusions: TestThings.test_param",
    }, done.stdout + done.stderr
    assert set(_outcomes(events).values()) == {"passed", "failed"}


@pytest.mark.torch
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


def _stages(
    upstream: Upstream, python: str, tmp_path: Path, *, workers: int = 1, seconds: int = 300, **keys: Any
) -> tuple[dict[str, str], tuple[dict[str, Any], ...]]:
    """Run the suite under the tool: the outcomes and the events."""
    run, planned = tmp_path / "run", keys.pop("planned", None)
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
    )
    events = read_events(run / "events.jsonl")
    return _outcomes(tuple(event for event in events if event.get("attempt", 1) == 1)), events


@pytest.mark.torch
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
    assert _imported(events)[: len(first)] == first
    told = next(event for event in events if event.get("outcome") == "crashed")
    assert "Expected: PyTorch's own test TestSmall.test_one passes.\nReproduce" in told["text"]
    assert f"pytest upstream --upstream-config={tmp_path}" in told["text"]
    assert told["text"].endswith(
        "--upstream-files=test_b.py --id upstream/test_b.py::TestSmall::test_one --device " + DEVICE
    )


@pytest.mark.torch
@pytest.mark.parametrize(
    ("head", "seconds", "workers", "outcome", "said"),
    [
        deep("os.abort()", 300, 1, "crashed", "the process ended while this file was imported: killed by SIGABRT"),
        ("os._exit(0)", 300, 2, "crashed", "the process ended while this file was imported: "),
        ("time.sleep(600)", 20, 1, "timed_out", "still running when the import's 20 s were up"),
    ],
)
def test_a_file_that_ends_or_hangs_the_importer_costs_that_file(
    upstream: Upstream,
    python_with_torch: str,
    tmp_path: Path,
    head: str,
    seconds: int,
    workers: int,
    outcome: str,
    said: str,
) -> None:
    upstream.write(
        test_a=SMALL.format(body="pass", head=""),
        test_b=SMALL.format(body="pass", head=head),
        test_c=SMALL.format(body="pass", head=""),
    )
    keys = {"files": ["test_a.py", "test_b.py", "test_c.py"], "workers": workers, "seconds": seconds}
    outcomes, events = _stages(upstream, python_with_torch, tmp_path, **keys)
    assert outcomes == {
        "test_b.py::import": outcome,
        **{f"test_{name}.py::TestSmall::test_{number}": "passed" for name in "ac" for number in ("one", "two")},
    }
    ends = [event for event in events if event["event"] == "test_end" and event["id"] == "upstream/test_b.py::import"]
    (told,) = (event for event in ends if event.get("attempt", 1) == 1)
    assert said in told["message"]
    (stage,) = (event for event in events if event["event"] == "stage_end" and event["stage"] == "upstream")
    assert (stage["status"], stage["reason"]) == ("failed", "1 of 7 tests failed")


@pytest.mark.torch
def test_a_class_that_was_made_twice_is_an_error(upstream: Upstream, device_python: DevicePython) -> None:
    """PyTorch's own variable for another base class makes every test twice; the suite takes it away."""
    base = upstream.tests.with_name("base.py")
    base.write_text(SECOND_BASE, encoding="utf-8")
    # PyTorch reads the variable when it is imported.
    fresh = replace(upstream, python=device_python)
    _, events = fresh.run("--upstream-files=test_things.py", device="cpu", TORCH_TEST_DEVICES=str(base))
    assert _outcomes(events) == THINGS_PASS


@pytest.mark.torch
@pytest.mark.parametrize("commit", [None, "0" * 40])
def test_tests_of_another_commit_are_refused(upstream: Upstream, commit: str | None) -> None:
    wrong = ["--upstream-commit=" + commit] if commit else []
    options = [f"--upstream-tests={upstream.tests}", *wrong]
    done = upstream.python("-m", "pytest", "upstream", "--device", DEVICE, "-q", *options)
    assert done.returncode not in (0, 5)
    assert f"the checkout is at commit {upstream.commit}, the installed torch was built from" in done.stdout
    done, events = upstream.run("--upstream-files=folder/test_more.py", commit="any")
    assert done.returncode == 0
    assert len(_outcomes(events)) == 2


@pytest.mark.torch
@pytest.mark.parametrize("make", [lambda _: (), lambda tests: (f"--upstream-tests={tests}", "--upstream-commit=any")])
def test_without_a_checkout_or_tests_in_it_the_suite_is_red(
    forking_ops: DevicePython, tmp_path: Path, make: Callable[[Path], tuple[str, ...]]
) -> None:
    options = make(tmp_path)
    done = forking_ops("-m", "pytest", "upstream", "--device", "cpu", "-q", *options)
    assert done.returncode not in (0, 5)
    said = "has no device-generic test" if options else "the suite upstream needs a checkout of PyTorch"
    assert said in done.stdout


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("test_add_openreg_float32", "test_add_float32"),
        ("test_add_privateuse1", "test_add"),
        ("test_openreg_copy_openreg_int64", "test_openreg_copy_int64"),
        ("test_openregular", "test_openregular"),
        ("test_plain", "test_plain"),
    ],
)
def test_names_lose_the_device_once(name: str, plain: str) -> None:
    assert without_device(name, "openreg") == plain
