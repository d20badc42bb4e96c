"""The suite of operators: its pure parts, its report, and that it catches a kernel that computes wrongly."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from operators_page import load_report
from small_suites import SUITES, DevicePython, read_ends, read_events

from harness.operator_counts import counts_of, since, way_of
from harness.ops_dtypes import chosen_dtypes, ids_are_given
from harness.spread import spread

KNOWN = ("float32", "float16", "float32", "bool")


@pytest.fixture(scope="module")
def report() -> ModuleType:
    """The program that writes the report."""
    return load_report()


@pytest.mark.parametrize(("count", "limit"), [(0, 4), (1, 4), (4, 4), (5, 4), (1440, 64), (65, 64)])
def test_spread_is_ordered_within_limits_and_even(count: int, limit: int) -> None:
    chosen = spread(count, limit)
    assert len(chosen) == min(count, limit)
    assert chosen == sorted(set(chosen))
    assert all(0 <= index < count for index in chosen)
    if count > limit:
        gaps = {later - earlier for earlier, later in pairwise(chosen)}
        assert max(gaps) - min(gaps) <= 1


def test_dtypes_are_chosen_by_name() -> None:
    assert chosen_dtypes("all", KNOWN) == {"float32", "float16", "bool"}
    assert chosen_dtypes("float32", KNOWN) == {"float32"}
    assert chosen_dtypes("bool, float16", KNOWN) == {"bool", "float16"}


@pytest.mark.parametrize("asked", ["int7", "float32,int7", "", ","])
def test_dtypes_that_are_not_there_are_refused(asked: str) -> None:
    with pytest.raises(pytest.UsageError, match=r"--ops-dtypes") as refused:
        chosen_dtypes(asked, KNOWN)
    assert "float32, float16, bool" in str(refused.value)


def test_ids_are_given_one_by_one() -> None:
    assert ids_are_given(["ops/test_forward.py::test_forward[add-bool]"], None)
    assert ids_are_given(["ops"], Path("ids.txt"))
    assert not ids_are_given(["ops", "integration/test_rng.py"], None)


def test_counts_have_full_names_and_both_ways() -> None:
    after = {"add.out": {"native": 2}, "x::y": {"fallback": 1}}
    assert since({}, after) == {
        "aten::add.out": {"native": 2, "fallback": 0},
        "x::y": {"native": 0, "fallback": 1},
    }


def test_a_reading_stays_as_it_was_when_the_device_counts_on() -> None:
    counts = {"add.out": {"native": 2}}
    module: Any = SimpleNamespace(operator_counts=lambda: counts)
    before = counts_of(module)
    assert before is not None
    counts["add.out"]["native"] += 3
    assert since(before, counts) == {"aten::add.out": {"native": 3, "fallback": 0}}


def test_a_device_that_does_not_count_has_no_counts() -> None:
    module: Any = SimpleNamespace()
    assert counts_of(module) is None


def test_only_what_was_counted_in_between_is_told() -> None:
    before = {"a": {"native": 1, "fallback": 0}, "b": {"native": 0, "fallback": 2}}
    after = {**before, "b": {"native": 0, "fallback": 5}, "c": {"native": 4}, "d": {"native": 0}}
    assert since(before, after) == {
        "aten::b": {"native": 0, "fallback": 3},
        "aten::c": {"native": 4, "fallback": 0},
    }


def test_one_operator_on_the_fallback_decides_the_way() -> None:
    assert way_of({"aten::a": {"native": 3, "fallback": 0}, "aten::b": {"native": 1, "fallback": 1}}) == "fallback"
    assert way_of({"aten::a": {"native": 3, "fallback": 0}}) == "native"
    assert way_of({}) == "native"


def end(
    parameter: str, outcome: str, message: str = "", kind: str = "forward", ran: str | None = None
) -> dict[str, Any]:
    told = {"event": "test_end", "id": f"ops/test_{kind}.py::test_{kind}[{parameter}]", "outcome": outcome}
    return {**told, "duration": 0.5, "message": message, **({"ran": ran} if ran else {})}


def test_report_counts_lists_and_explains(report: ModuleType) -> None:
    found = [
        end("nn.functional.relu-float32", "failed"),
        end("nn.functional.relu-float32", "passed", ran="native"),
        end("add-float32", "passed", ran="native"),
        end("add-bool", "crashed", "the process ended during this test: signal 11 <SIGSEGV>"),
        end("sub-float32", "passed", ran="native"),
        end("sub-bool", "passed", ran="fallback"),
        end("empty-bool", "skipped", "fails on the CPU: sample 1: empty((), dtype=x): two runs differ | so"),
        end("mul-float32", "failed", "1 of 2 samples differ from the cpu, first sample 7: mul(a): wrong", "backward"),
        end("add", "passed", kind="errors", ran="fallback"),
        end("Adam-foreach", "timed_out", "still running", kind="optimizer"),
        {"event": "test_end", "id": "integration/test_rng.py::test_seed", "outcome": "failed"},
        {"event": "operators", "counts": {"aten::add.out": {"native": 2, "fallback": 0}}},
        {"event": "operators", "counts": {"aten::add.out": {"native": 1, "fallback": 1}, "aten::b": {"fallback": 4}}},
    ]
    text = report.report("mydev", found, "torch 9")
    assert "# Operators on mydev" in text
    assert "| | | tests | native | fallback | control | mismatch | crash | time-out |" in text
    assert "| forward | float32 | 3 | 3 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "| forward | bool | 3 | 0 | 1 | 1 | 0 | 1 | 0 |" in text
    assert "| errors |  | 1 | 0 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| all |  | 9 | 3 | 2 | 1 | 1 | 1 | 1 |" in text
    assert "| `add` | forward | bool | crash | the process ended during this test: signal 11 &lt;SIGSEGV> |" in text
    assert "| `mul` | backward | float32 | mismatch | wrong |" in text
    assert "| `Adam` | optimizer | foreach | time-out | still running |" in text
    assert "| `empty` | forward | bool | two runs differ \\| so |" in text
    assert "- **forward**, 3 of 3: `add`, `nn.functional.relu`, `sub` (float32)" in text
    assert "- **errors**, 0 of 1: none" in text
    assert "2 operators of the dispatcher ran: 1 natively (3 calls), 2 through the fallback (5 calls), 1 of" in text
    assert "Natively: `add.out`." in text


def test_report_without_differences_says_so(report: ModuleType) -> None:
    text = report.report("mydev", [end("add-bool", "passed")], "torch 9")
    assert "## Differences from the cpu\n\nNone." in text
    assert "The device does not count what runs on a fallback." in text
    assert "| forward | bool | 1 | 1 |" in text
    assert "native" not in text


def test_report_of_nothing_is_no_report(report: ModuleType) -> None:
    with pytest.raises(ValueError, match="no ended test"):
        report.report("mydev", [], "torch 9")


def test_report_passes_over_a_line_that_was_cut_off(report: ModuleType) -> None:
    whole = json.dumps(end("add-bool", "passed"))
    assert len(list(report.events([whole, whole[:20], "[]"]))) == 1


FEW = ("add-float32", "mul-float32", "nn.functional.relu-float32", "mm-float32", "cumsum-float32", "tensor_split-int64")


def run_few(python: DevicePython, log: Path, device: str, names: tuple[str, ...] = FEW) -> dict[str, dict[str, Any]]:
    """The ends of a few tests, by the name of the operator and the dtype."""
    tests = [f"ops/test_forward.py::test_forward[{name}]" for name in names]
    python("-m", "pytest", *tests, "--device", device, "-q", f"--events={log}")
    return {re.sub(r".*\[(.*)\]", r"\1", test_id): end for test_id, end in read_ends(log).items()}


@pytest.mark.torch
def test_operators_pass_on_the_cpu_and_on_openreg(forking_ops: DevicePython, tmp_path: Path) -> None:
    for device in ("cpu", "openreg"):
        log = tmp_path / f"{device}.jsonl"
        came = run_few(forking_ops, log, device)
        assert {name: came[name]["outcome"] for name in FEW} == dict.fromkeys(FEW, "passed"), came
        told = [event for event in read_events(log) if event["event"] == "operators"]
        assert len(told) == (device != "cpu")
        for event in told:
            assert event["counts"]["aten::add.out"]["native"] > 0
            assert event["counts"]["aten::cumsum.out"]["fallback"] > 0


SAME_SAMPLES = """
import inspect, random, sys, traceback
import numpy, torch
from torch.utils._pytree import tree_leaves
from harness.operator_database import operators
from harness.torch_samples import plainly

looked = []
for module, name in ((inspect, "stack"), (traceback, "format_stack")):
    function = getattr(module, name)
    setattr(module, name, lambda *given, function=function: looked.append(1) or function(*given))

def leaves(samples):
    return [leaf for sample in samples for leaf in tree_leaves((sample.input, sample.args, sample.kwargs))]

def numbers():
    return random.random(), numpy.random.rand(), torch.rand(()).item()

for case in operators(torch.float32, backward=False):
    if case.id in sys.argv[1:]:
        theirs = leaves(case.info.sample_inputs("cpu", torch.float32)), numbers()
        assert looked, "torch no longer looks at the stack: harness/torch_samples.py is not needed"
        looked.clear()
        with plainly():
            ours = leaves(case.info.sample_inputs("cpu", torch.float32)), numbers()
        assert not looked, "torch looks at the stack by another way: harness/torch_samples.py does not know it"
        assert theirs[1] == ours[1] and len(theirs[0]) == len(ours[0]) > 3
        for one, other in zip(theirs[0], ours[0]):
            assert type(one) is type(other)
            same = torch.equal(one.nan_to_num(), other.nan_to_num()) if torch.is_tensor(one) else one == other
            assert same, (case.id, one, other)
        print(case.id)
"""


@pytest.mark.torch
def test_samples_are_torch_s_own_without_a_look_at_the_stack(forking_ops: DevicePython) -> None:
    names = [name for name in FEW if name.endswith("float32")]
    done = forking_ops("-c", SAME_SAMPLES, *names)
    assert sorted(done.stdout.split()) == sorted(names), done.stderr


@pytest.mark.torch
def test_what_the_cpu_does_not_repeat_is_skipped(forking_ops: DevicePython, tmp_path: Path) -> None:
    names = ("empty_like-float32", "jiterator_unary-float32", "nn.functional.dropout-float32")
    came = run_few(forking_ops, tmp_path / "events.jsonl", "cpu", names)
    assert [came[name]["outcome"] for name in names] == ["skipped", "skipped", "passed"]
    assert all(came[name]["message"].startswith("fails on the CPU: sample 1: ") for name in names[:2])


BROKEN_CPU = """
import os, torch
sine = torch.sin
def broken(x, *args, **kwargs):
    if x.is_cpu and os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") != "0":
        raise RuntimeError("the plugin has broken it")
    return sine(x, *args, **kwargs)
torch.sin = broken
"""


@pytest.mark.torch
def test_what_only_a_plugin_breaks_on_the_cpu_is_the_plugin_s_failure(
    device_python: DevicePython, tmp_path: Path
) -> None:
    (tmp_path / "broken_cpu.py").write_text(BROKEN_CPU, encoding="utf-8")
    names = ("sin-float32", "jiterator_unary-float32")
    broken = partial(device_python, env={"PYTEST_PLUGINS": "broken_cpu", "PYTHONPATH": str(tmp_path)})
    came = run_few(broken, tmp_path / "events.jsonl", "openreg", names)
    assert [came[name]["outcome"] for name in names] == ["failed", "skipped"]
    assert "only while the plugin is loaded the cpu raises RuntimeError: the plugin has" in came[names[0]]["message"]


@pytest.mark.deep
@pytest.mark.torch
def test_a_wrong_kernel_is_caught(device_python: DevicePython, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "OPENREG_FAULT", "wrong-result")
    # The device reads the variable while torch is imported.
    came = run_few(device_python, tmp_path / "events.jsonl", "openreg")
    for name in FEW[:-1]:
        assert came[name]["outcome"] == "failed", came[name]
        assert "samples differ from the cpu, first sample 1: " in came[name]["message"]
        assert came[name]["text"].rstrip().endswith("--device openreg")
    # Views compute nothing.
    assert came["tensor_split-int64"]["outcome"] == "passed"


@pytest.mark.torch
def test_without_numpy_or_expecttest_the_suite_is_red(device_python: DevicePython, tmp_path: Path) -> None:
    (tmp_path / "expecttest.py").write_text("raise ImportError('no expecttest here')\n", encoding="utf-8")
    log = tmp_path / "events.jsonl"
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    done = device_python("-c", code, "ops", "--device", "cpu", "-q", f"--events={log}")
    assert done.returncode not in (0, 5)
    told = [event for event in read_events(log) if event["event"] == "collect_error"]
    files = {f"ops/{path.name}" for path in (SUITES / "ops").glob("test_*.py")}
    assert {event["id"] for event in told} == files
    assert all("install numpy and expecttest beside torch" in event["text"] for event in told)
