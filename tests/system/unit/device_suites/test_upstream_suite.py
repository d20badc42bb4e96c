"""PyTorch's own tests, from a checkout: proven on a small tree of the same shape, since the real one is large."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from drawn import deep
from pytorch_test_files import LABELLED, LABELS, RENAMED, SECOND_BASE, SMALL
from sabotage import DEVICE
from small_checkout import Upstream, ended, errors_of, imported, outcomes_of
from small_suites import DevicePython

from harness.upstream_tests import without_device

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


@pytest.mark.torch
@pytest.mark.parametrize("device", [deep("cpu"), DEVICE])
def test_every_test_that_pytorch_made_for_the_device_is_run(upstream: Upstream, device: str) -> None:
    done, events = upstream.run(device=device)
    assert outcomes_of(events) == {
        "folder/test_more.py::TestMore::test_op_add_float32": "passed",
        "folder/test_more.py::TestMore::test_op_mul_float32": "passed",
        **THINGS_PASS,
    }, done.stdout + done.stderr
    assert imported(events) == ["folder/test_more.py::import", "test_things.py::import"]
    assert {ended(events)[file] for file in imported(events)} == {"passed"}
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
    assert outcomes_of(events) == THINGS_PASS
    assert done.returncode == 1
    errors = errors_of(events)
    assert set(errors) == {"test_gone.py", "test_plain.py", "neighbour.py", "test_elsewhere.py::tests"}
    assert "there is no file test_gone.py in this checkout of PyTorch\n  what to do: " in errors["test_gone.py"]
    assert "test_plain.py has no device-generic test\n  what to do: " in errors["test_plain.py"]
    assert "PyTorch makes no test of test_elsewhere.py for this device" in errors["test_elsewhere.py::tests"]
    _, events = upstream.run("--upstream-skip=test_things.py,test_elsewhere.py")
    assert {name.partition("::")[0] for name in outcomes_of(events)} == {"folder/test_more.py"}


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
    assert outcomes_of(events) == {
        "test_raises.py::import": "error",
        "test_syntax.py::import": "error",
        "test_exits.py::import": "error",
        "test_leaves.py::import": "skipped",
        "test_skips.py::import": "skipped",
        "test_skips_too.py::import": "skipped",
    }, done.stdout + done.stderr
    assert errors_of(events) == {}
    messages = {event["id"]: event["message"] for event in events if event["event"] == "test_end"}
    assert "No module named 'no_such_package'" in messages["upstream/test_raises.py::import"]
    assert "no compiler" in messages["upstream/test_skips_too.py::import"]


@pytest.mark.torch
def test_a_file_finds_its_own_neighbours_and_may_rename_the_function(upstream: Upstream) -> None:
    """Another folder has neighbours of the same names, and the files are imported in one process."""
    files = {"folder/test_same": 3, "test_same": 2}
    upstream.write(**{"folder/neighbour": "VALUE = 3\n"})
    upstream.write(**{file: RENAMED.format(value) for file, value in files.items()})
    done, events = upstream.run(f"--upstream-files={','.join(f'{file}.py' for file in files)}")
    whole = {f"{file}.py::TestRenamed::test_value": "passed" for file in files}
    assert outcomes_of(events) == whole, done.stdout + done.stderr


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
        # A plugin of pytest in the device's environment may warn, and the warnings are counted there, too.
        assert re.search(r"\b1 (failed|error)\b", again.stdout.splitlines()[-1])
    upstream.write(test_broken=SMALL.format(body="pass", head=""))
    _, events = upstream.run("--upstream-files=test_broken.py", "--id=upstream/test_broken.py::import")
    assert ended(events) == {"test_broken.py::import": "passed"}


@pytest.mark.torch
def test_a_class_that_pytorch_labels_for_other_hardware_is_left_out(upstream: Upstream) -> None:
    """The labels of torch 2.15, which the torch here may not have."""
    upstream.write(test_labels=f"{LABELS}{LABELLED}")
    _, events = upstream.run("--upstream-files=test_labels.py")
    assert set(outcomes_of(events)) == {
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
    assert outcomes_of(events) == {
        "folder/test_more.py::TestMore::test_op_add_float32": "passed",
        "test_things.py::TestThings::test_add_float32": "passed",
        "test_things.py::TestThings::test_add_int64": "passed",
        "test_things.py::TestThings::test_cuda_only": "passed",
        "test_things.py::TestThings::test_expected_failure": "xfailed",
    }, done.stdout + done.stderr
    _, events = upstream.run(declared, device="cpu")
    assert len(outcomes_of(events)) == len(THINGS_PASS) + 4


@pytest.mark.torch
def test_declarations_that_mean_nothing_are_errors(upstream: Upstream) -> None:
    exclusions = {"TestGone": "*", "TestThings": ["test_gone", "test_fail"]}
    _, events = upstream.run(upstream.declare(operators=["add", "addd"], exclusions=exclusions))
    errors = errors_of(events)
    assert set(errors) == {"operators::addd", "exclusions::TestGone", "exclusions::TestThings::test_gone"}
    assert "did you mean add?\n  what to do: use OpInfo.full_name" in errors["operators::addd"]
    assert all("what to do: " in text for text in errors.values())
    assert "test_things.py::TestThings::test_add_float32" in outcomes_of(events)
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
    assert set(outcomes_of(events).values()) == {"passed", "failed"}


@pytest.mark.deep
@pytest.mark.torch
def test_a_class_that_was_made_twice_is_an_error(upstream: Upstream, device_python: DevicePython) -> None:
    """PyTorch's own variable for another base class makes every test twice; the suite takes it away."""
    base = upstream.tests.with_name("base.py")
    base.write_text(SECOND_BASE, encoding="utf-8")
    # PyTorch reads the variable when it is imported.
    fresh = replace(upstream, python=device_python)
    _, events = fresh.run("--upstream-files=test_things.py", device="cpu", TORCH_TEST_DEVICES=str(base))
    assert outcomes_of(events) == THINGS_PASS


@pytest.mark.torch
@pytest.mark.parametrize("commit", [None, deep("0" * 40)])
def test_tests_of_another_commit_are_refused(upstream: Upstream, commit: str | None) -> None:
    wrong = ["--upstream-commit=" + commit] if commit else []
    options = [f"--upstream-tests={upstream.tests}", *wrong]
    done = upstream.python("-m", "pytest", "upstream", "--device", DEVICE, "-q", *options)
    assert done.returncode not in (0, 5)
    assert f"the checkout is at commit {upstream.commit}, the installed torch was built from" in done.stdout
    done, events = upstream.run("--upstream-files=folder/test_more.py", commit="any")
    assert done.returncode == 0
    assert len(outcomes_of(events)) == 2


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
