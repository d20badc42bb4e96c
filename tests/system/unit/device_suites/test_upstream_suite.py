"""PyTorch's own tests, from a checkout: proven on a small tree of the same shape, since the real one is large."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from repositories import repository
from sabotage import DEVICE
from small_suites import SUITES, DevicePython, read_events
from unit.samples import build, device, night

from harness.upstream_allow import read_allowed
from harness.upstream_tests import without_device
from ootci.adapters.terminal import Progress
from ootci.model.workspace import RunFolder
from ootci.stages.test import test as run_stages

THINGS = """
import os
import unittest

import torch
from neighbour import VALUE
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests, onlyCUDA
from torch.testing._internal.common_utils import TestCase, parametrize, run_tests


class TestThings(TestCase):
    @dtypes(torch.float32, torch.int64)
    def test_add(self, device, dtype):
        there = torch.ones(2, device=device, dtype=dtype)
        self.assertEqual(there + there, torch.full((2,), VALUE, device=device, dtype=dtype))
        self.assertEqual(there.device.type, os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"])

    @onlyCUDA
    def test_cuda_only(self, device):
        raise AssertionError

    @parametrize("count", [1, 2])
    def test_param(self, device, count):
        self.assertEqual(torch.ones(count, device=device).sum().item(), count)

    def test_fail(self, device):
        self.assertEqual(torch.ones(2, device=device).sum().item(), 3)

    @unittest.expectedFailure
    def test_expected_failure(self, device):
        self.fail()

    def test_crash(self, device):
        os.abort()


class TestPlain(TestCase):
    def test_plain(self):
        pass


class TestElsewhere(TestCase):
    def test_elsewhere(self, device):
        pass


instantiate_device_type_tests(TestThings, globals())
instantiate_device_type_tests(TestElsewhere, globals(), only_for="cuda")

if __name__ == "__main__":
    run_tests()
"""
MORE = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase


class TestMore(TestCase):
    @ops([op for op in op_db if op.name in ("add", "mul")], allowed_dtypes=(torch.float32,))
    def test_op(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            op(sample.input, *sample.args, **sample.kwargs)


instantiate_device_type_tests(TestMore, globals())
"""
SECOND_BASE = """
class Again(DeviceTypeTestBase):
    device_type = "cpu"

TEST_CLASS = Again
"""
PREFIX = "upstream/test_things.py::"


@dataclass(frozen=True)
class Upstream:
    """A small checkout, and what runs its tests."""

    tests: Path
    commit: str
    python: DevicePython

    def run(self, allow: str, *arguments: str, device: str = DEVICE, commit: str | None = None, **env: str) -> Any:
        """Run the suite; the process and the events."""
        allowed, log = self.tests.with_name("allow.txt"), self.tests.with_name("events.jsonl")
        allowed.write_text(allow, encoding="utf-8")
        log.unlink(missing_ok=True)
        options = [f"--upstream-tests={self.tests}", f"--upstream-allow={allowed}"]
        options += [f"--upstream-commit={commit or self.commit}", f"--events={log}"]
        done = self.python("-m", "pytest", "upstream", "--device", device, "-q", *options, *arguments, env=env)
        return done, read_events(log)


@pytest.fixture
def upstream(tmp_path: Path, forking_ops: DevicePython) -> Upstream:
    """A repository with a folder ``test``."""
    tests = tmp_path / "pytorch" / "test"
    tests.mkdir(parents=True)
    (tests / "test_things.py").write_text(THINGS, encoding="utf-8")
    (tests / "folder").mkdir()
    (tests / "folder" / "test_more.py").write_text(MORE, encoding="utf-8")
    (tests / "neighbour.py").write_text("VALUE = 2\n", encoding="utf-8")
    return Upstream(tests, repository(tests.parent), forking_ops)


def _outcomes(events: tuple[dict[str, Any], ...]) -> dict[str, str]:
    return {event["id"].removeprefix(PREFIX): event["outcome"] for event in events if event["event"] == "test_end"}


NO_CRASH = """
[tensors]
test_things.py::TestThings::test_a*
test_things.py::TestThings::test_param_*
test_things.py::TestThings::test_cuda_only
test_things.py::TestThings::test_fail
test_things.py::TestThings::test_expected_failure
"""


@pytest.mark.torch
@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_ids_have_no_device_and_outcomes_are_ours(upstream: Upstream, device: str) -> None:
    done, events = upstream.run(f"{NO_CRASH}[ops]\nfolder/test_more.py::TestMore::*\n", device=device)
    assert _outcomes(events) == {
        "TestThings::test_add_float32": "passed",
        "TestThings::test_add_int64": "passed",
        "TestThings::test_cuda_only": "skipped",
        "TestThings::test_expected_failure": "xfailed",
        "TestThings::test_fail": "failed",
        "TestThings::test_param_count_1": "passed",
        "TestThings::test_param_count_2": "passed",
        "upstream/folder/test_more.py::TestMore::test_op_add_float32": "passed",
        "upstream/folder/test_more.py::TestMore::test_op_mul_float32": "passed",
    }, done.stdout + done.stderr
    (collected,) = (event for event in events if event["event"] == "collected")
    assert collected["tests"][0] == {
        "id": f"{PREFIX}TestThings::test_add_float32",
        "suite": "upstream",
        "capability": "tensors",
        "title": "PyTorch's own test TestThings.test_add_float32 passes.",
    }
    assert {test["capability"] for test in collected["tests"] if "TestMore" in test["id"]} == {"ops"}


@pytest.mark.torch
def test_a_failure_can_be_seen_again(upstream: Upstream) -> None:
    _, events = upstream.run(NO_CRASH)
    (end,) = (event for event in events if event["event"] == "test_end" and event["outcome"] == "failed")
    assert "Scalars are not " in end["text"]
    command = shlex.split(end["text"].splitlines()[-1].partition(": ")[2])
    again = upstream.python(*command[1:])
    assert again.returncode == 1
    assert "1 failed" in again.stdout.splitlines()[-1]


@pytest.mark.torch
def test_a_crash_names_its_test_and_the_others_can_go_on(upstream: Upstream, tmp_path: Path) -> None:
    allow = "[tensors]\ntest_things.py::TestThings::test_*\n"
    done, events = upstream.run(allow)
    assert done.returncode < 0
    started = [event["id"] for event in events if event["event"] == "test_start"]
    assert started[-1] == f"{PREFIX}TestThings::test_crash"
    (collected,) = (event for event in events if event["event"] == "collected")
    left = [test["id"] for test in collected["tests"] if test["id"] not in started]
    assert left
    (tmp_path / "left").write_text("\n".join(left), encoding="utf-8")
    _, events = upstream.run(allow, f"--ids-from={tmp_path / 'left'}")
    assert {f"{PREFIX}{name}" for name in _outcomes(events)} == set(left)


@pytest.mark.torch
def test_a_crash_costs_itself_under_the_tool(upstream: Upstream, python_with_torch: str, tmp_path: Path) -> None:
    allowed = tmp_path / "allow.txt"
    allowed.write_text("[tensors]\ntest_things.py::TestThings::test_*\n", encoding="utf-8")
    suites = [{"name": "upstream", "required": True, "min_tests": 1}]
    stages = run_stages(
        device(DEVICE, suites=suites).device,
        build(python=python_with_torch),
        RunFolder(tmp_path / "run"),
        SUITES,
        clock=lambda: night(0),
        progress=Progress(quiet=True),
        planned=None,
        options={
            "upstream": (
                f"--upstream-tests={upstream.tests}",
                f"--upstream-allow={allowed}",
                f"--upstream-commit={upstream.commit}",
            )
        },
    )
    assert [(stage.name, stage.status.value) for stage in stages] == [
        ("import", "passed"),
        ("check", "passed"),
        ("upstream", "failed"),
    ]
    outcomes = _outcomes(read_events(tmp_path / "run" / "events.jsonl"))
    assert outcomes["TestThings::test_crash"] == "crashed"
    told = next(e for e in read_events(tmp_path / "run" / "events.jsonl") if e.get("outcome") == "crashed")
    assert "Expected: PyTorch's own test TestThings.test_crash passes.\nCapability: tensors\n" in told["text"]
    assert f"pytest upstream --upstream-tests={upstream.tests}" in told["text"]
    assert told["text"].endswith(f"--id {PREFIX}TestThings::test_crash --device {DEVICE}")
    assert len(outcomes) == 8
    assert set(outcomes.values()) == {"passed", "skipped", "failed", "xfailed", "crashed"}


@pytest.mark.torch
def test_an_entry_without_a_test_is_an_error_and_the_others_run(upstream: Upstream) -> None:
    gone = ["TestThings::test_gone", "TestPlain::test_plain", "TestElsewhere::*"]
    allow = NO_CRASH + "\n" + "\n".join(f"test_things.py::{name}" for name in gone) + "\ntest_gone.py::TestX::*\n"
    done, events = upstream.run(allow)
    assert done.returncode == 1
    errors = {event["id"]: event["message"] for event in events if event["event"] == "collect_error"}
    assert set(errors) == {*(f"{PREFIX}{name}" for name in gone), "upstream/test_gone.py"}
    assert "matches no test of this torch on this device" in errors[f"{PREFIX}TestElsewhere::*"]
    assert len(_outcomes(events)) == 7


@pytest.mark.torch
def test_a_class_that_was_made_twice_is_an_error(upstream: Upstream, device_python: DevicePython) -> None:
    """PyTorch's own variable for another base class makes every test twice; the suite takes it away."""
    base = upstream.tests.with_name("base.py")
    base.write_text(SECOND_BASE, encoding="utf-8")
    # PyTorch reads the variable when it is imported.
    fresh = replace(upstream, python=device_python)
    _, events = fresh.run(NO_CRASH, device="cpu", TORCH_TEST_DEVICES=str(base))
    assert len(_outcomes(events)) == 7


@pytest.mark.torch
@pytest.mark.parametrize("commit", [None, "0" * 40])
def test_tests_of_another_commit_are_refused(upstream: Upstream, commit: str | None) -> None:
    wrong = ["--upstream-commit=" + commit] if commit else []
    allowed = upstream.tests.with_name("allow.txt")
    allowed.write_text(NO_CRASH, encoding="utf-8")
    options = [f"--upstream-tests={upstream.tests}", f"--upstream-allow={allowed}", *wrong]
    done = upstream.python("-m", "pytest", "upstream", "--device", DEVICE, "-q", *options)
    assert done.returncode not in (0, 5)
    assert f"the checkout is at commit {upstream.commit}, the installed torch was built from" in done.stdout
    done, events = upstream.run("[ops]\ntest_things.py::TestThings::test_a*\n", commit="any")
    assert done.returncode == 0
    assert len(_outcomes(events)) == 2


@pytest.mark.torch
def test_without_a_checkout_the_suite_is_red(forking_ops: DevicePython) -> None:
    done = forking_ops("-m", "pytest", "upstream", "--device", "cpu", "-q")
    assert done.returncode not in (0, 5)
    assert "the suite upstream needs a checkout of PyTorch and an allow list" in done.stdout


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the allow list is empty"),
        ("# nothing\n\n", "the allow list is empty"),
        ("test_a.py::A::*\n", "the test has no capability"),
        ("[flying]\n", "no such capability: flying"),
        ("[ops]\ntest_a.py\n", "the line is not understood: test_a.py"),
        ("[ops]\n../test_a.py::A::*\n", "the line is not understood"),
        ("[ops]\n/test_a.py::A::*\n", "the line is not understood"),
        ("[ops]\ntest_a.py::A::test_[x]\n", "the line is not understood"),
        ("[ops]\n" + "#" * 1_000_001, "the allow list is larger than 1000000 bytes"),
    ],
)
def test_lists_that_are_not_understood_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "allow.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(pytest.UsageError, match=r"where: .*allow\.txt") as refused:
        read_allowed(path)
    assert said in str(refused.value)


def test_a_list_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "allow.txt"
    path.write_text("# c\n[ops]\nsub/test_a.py::A::*  # why\n[views]\ntest_b.py::B*::test_?\n", encoding="utf-8")
    assert [(entry.pattern, entry.file, entry.capability) for entry in read_allowed(path)] == [
        ("sub/test_a.py::A::*", "sub/test_a.py", "ops"),
        ("test_b.py::B*::test_?", "test_b.py", "views"),
    ]
