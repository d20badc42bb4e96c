"""The same failure of two devices has one name, and two failures have two."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ootci.history.signature import signature_of, signature_of_stage
from ootci.model.build import StageName, StageStatus
from ootci.model.cluster import MAX_TEXT, Signature
from ootci.model.outcome import FAILURES, OutcomeName


@dataclass(frozen=True)
class Failure:
    """A failure as it is reported."""

    message: str | None
    text: str | None = None
    outcome: OutcomeName = OutcomeName.FAILED
    test: str = "integration/test_rng.py::test_seed"
    device: str = "oak"

    @property
    def signature(self) -> Signature | None:
        return signature_of(self.device, self.outcome, self.message, self.text, test_id=self.test)


def _crash(where: str, *, signal: str = "SIGSEGV", test: str = "ops/test_forward.py::test_forward[mul]") -> Failure:
    message = f"the process ended during this test: killed by {signal}"
    stacks = (
        f"{message}\nFatal Python error: Segmentation fault\n\nThread 0x00007f3d (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 320 in wait\n\n'
        f"Current thread 0x00007f3dcefedb80 (most recent call first):\n{where}"
    )
    return Failure(message, stacks, OutcomeName.CRASHED, test)


def _frame(path: str, function: str) -> str:
    return f'  File "{path}", line 17 in {function}\n'


LOAD = """    def test_load():
>       torch.load(path)

integration/test_serialization.py:3:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
/venvs/{device}/lib/python3.11/site-packages/torch/serialization.py:1561: in load
    return restore(storage)
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

storage = <torch.storage object at 0x7f126c4dbe50>

    def {function}(storage):
>       return _TAGS[storage]
E       KeyError: '{device}'

/venvs/{device}/lib/python3.11/site-packages/torch_{device}/{file}.py:{line}: KeyError
"""

ASSERT = """    def test_scale_grows(device):
>       assert scales == [1024.0, 2048.0]
E       assert [1024.0, {seen}] == [1024.0, 2048.0]

integration/test_amp.py:{line}: AssertionError
"""

GRAPHS = "/a/site-packages/torch/cuda/graphs.py"
SAMPLES = (
    "Differs: {count} of 9 samples differ from the cpu, first sample {first}: mul(float32[{first}], float32[]): {what}"
)

CALLBACK = """    def test_gradients():
>       total.backward()

integration/test_autograd.py:22:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py:325: in compiled
    return user_fn(self, *args)
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def own(gradient):
>       return {}[gradient]
E       KeyError: 3

integration/test_autograd.py:21: KeyError
"""

INDUCTOR = """E       torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
E       LoweringException: NotImplementedError: {what}
E         target: aten.add.Tensor

/venv/lib/python3.11/site-packages/torch/_inductor/graph.py:99: BackendCompilerFailed
"""

MEET = {
    "what a line that ends in a colon announces": (
        Failure("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", INDUCTOR.format(what="no oak")),
        Failure(None, INDUCTOR.format(what="no elm"), device="elm", test="a/b.py::c"),
    ),
    "a missing operator, in any test": (
        Failure(
            "NotImplementedError: Could not run 'aten::_foo' with arguments from the 'oak' backend. This could",
            test="ops/test_forward.py::test_forward[a]",
        ),
        Failure(
            "NotImplementedError: Could not run 'aten::_foo' with arguments from the 'PrivateUse1' backend. This could",
            test="integration/test_views.py::test_b",
            device="openreg",
        ),
    ),
    "the same exception, once caught by the suite of operators": (
        Failure(
            SAMPLES.format(count=9, first=1, what="the cpu computes it, the device raised RuntimeError: no such kernel")
        ),
        Failure("RuntimeError: no such kernel", test="smoke/test_arithmetic.py::test_add"),
    ),
    "a name that torch no longer has, missed in the plugin's own code": (
        Failure("AttributeError: module 'torch._C' has no attribute '_foo'", "torch_oak/a.py:3: AttributeError"),
        Failure("AttributeError: module 'torch._C' has no attribute '_foo'", "x.py:9: AttributeError", device="two"),
    ),
    "a generated method": (
        Failure("AttributeError: 'Tensor' object has no attribute 'is_oak'"),
        Failure('AttributeError: "Tensor" object has no attribute "is_openreg"', device="openreg"),
    ),
    "memory, of which any amount was wanted": (
        Failure("torch.OutOfMemoryError: OAK out of memory. Tried to allocate 2.50 GiB (OAK 0; 7.9 GiB)"),
        Failure("torch.OutOfMemoryError: dune out of memory. Tried to allocate 20 MiB (dune 1; 12 GiB)", device="dune"),
    ),
    "values that differ in another place": (
        Failure("AssertionError: expected 0.244 at index (0, 0), got 0.254 (256 of 256 elements differ)"),
        Failure("AssertionError: expected True at index (3,), got False (1 of 9 elements differ)", device="two"),
    ),
    "one value, and how far it is from the exact one": (
        Failure("AssertionError: expected 0.2, got 0.3. The exact value is 0.21; the error is 3 times what is allowed"),
        Failure("AssertionError: expected -1e-05, got nan. There is no exact value to compare with", device="two"),
    ),
    "another sample that is the first to differ": (
        Failure(SAMPLES.format(count=9, first=1, what="Scalars are not close! Expected 1.5 but nan.")),
        Failure(SAMPLES.format(count=2, first=4, what="Tensor-likes are not close! Mismatched: 1 / 9")),
    ),
    "a comparison whose values pytest shows": (
        Failure("AssertionError: assert [1024.0, 4096.0] == [1024.0, 2048.0]", ASSERT.format(seen="4096.0", line=254)),
        Failure("AssertionError: assert [1024.0, 1.0...1] == [1024.0, 2.0]", ASSERT.format(seen="1.0...1", line=260)),
    ),
    "an exception that says little, from two plugins that one function of torch called": (
        Failure("KeyError: 'oak'", LOAD.format(device="oak", function="restore", file="io", line=4)),
        Failure(
            "KeyError: 'dune'",
            LOAD.format(device="dune", function="_back", file="storage", line=90),
            test="integration/test_serialization.py::test_other",
            device="dune",
        ),
    ),
    "a death in one function of torch, whatever the plugin calls its own": (
        _crash(_frame("/a/site-packages/torch_oak/streams.py", "wait") + _frame(GRAPHS, "replay")),
        _crash(_frame("/b/lib/site-packages/torch/cuda/graphs.py", "replay"), test="smoke/test_x.py::test_y"),
    ),
    "a death in the test itself": (
        _crash(_frame("/w/suites/ops/test_forward.py", "test_forward")),
        _crash(
            _frame("/a/site-packages/torch/autograd/graph.py", "_engine_run_backward")
            + _frame("ops/test_forward.py", "f")
        ),
    ),
    "a set-up that failed": (
        Failure("OSError: no card 5 was found", outcome=OutcomeName.ERROR),
        Failure("OSError: no card 6 was found", outcome=OutcomeName.FAILED, test="smoke/test_x.py::test_y"),
    ),
    "a message that only the text has": (
        Failure("RuntimeError: stack expects a list"),
        Failure(None, ">   torch.stack([])\nE       RuntimeError: stack expects a list\nE       more\n\nx.py:7: Error"),
    ),
    "a defect of torch that the suites know": (
        Failure("torch 2.15.0.dev1+cpu is at fault: it forgets. Seen: no oak", outcome=OutcomeName.XFAILED),
        Failure("torch 2.14.0 is at fault: it forgets. Seen: None", None, OutcomeName.XFAILED, "a/b.py::c"),
    ),
    "a traceback of Python's own": (
        Failure("ValueError: a bad value"),
        Failure(None, 'Traceback (most recent call last):\n  File "a.py", line 5, in f\nValueError: a bad value\n'),
    ),
}  # fmt: skip

DO_NOT = {
    "what a line that ends in a colon announces": (
        Failure("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", INDUCTOR.format(what="one")),
        Failure("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", INDUCTOR.format(what="two")),
    ),
    "what two tests themselves raised while torch called them": (
        Failure("KeyError: 3", CALLBACK, test="integration/test_autograd.py::a"),
        Failure("KeyError: 3", CALLBACK, test="integration/test_autograd.py::b"),
    ),
    "operators": (
        Failure("NotImplementedError: Could not run 'aten::_foo' with arguments from the 'oak' backend."),
        Failure("NotImplementedError: Could not run 'aten::_bar' with arguments from the 'oak' backend."),
    ),
    "tests whose values differ": (
        Failure("AssertionError: Tensor-likes are not close!", test="smoke/test_a.py::test_a[mul]"),
        Failure("AssertionError: Tensor-likes are not close!", test="smoke/test_a.py::test_a[add]"),
    ),
    "values that differ, and a result in the wrong place": (
        Failure("AssertionError: expected 1.0 at index (0,), got 2.0 (1 of 3 elements differ)"),
        Failure("AssertionError: expected a result on oak:0, got one on cpu"),
    ),
    "two assertions of one test": (
        Failure("AssertionError: assert 1 == 2", ">       assert a == b\nE       assert 1 == 2\n\na.py:1: X"),
        Failure("AssertionError: assert 1 == 2", ">       assert c == b\nE       assert 1 == 2\n\na.py:2: X"),
    ),
    "dtypes": (
        Failure("RuntimeError: 'addmm_impl_cpu_' not implemented for 'Half'"),
        Failure("RuntimeError: 'addmm_impl_cpu_' not implemented for 'BFloat16'"),
    ),
    "the device and the cpu": (
        Failure("RuntimeError: expected oak, found cpu"),
        Failure("RuntimeError: expected cpu, found oak"),
    ),
    "signals": (_crash("", signal="SIGSEGV"), _crash("", signal="SIGABRT")),
    "places to die": (
        _crash(_frame(GRAPHS, "replay")),
        _crash(_frame(GRAPHS, "capture_begin")),
    ),
    "tests that died by themselves": (_crash("", test="a/b.py::c"), _crash("", test="a/b.py::d")),
    "a death and a hang": (_crash(""), Failure("still running", None, OutcomeName.TIMED_OUT, _crash("").test)),
    "exceptions that say little, of two tests": (
        Failure("IndexError: list index out of range", test="a/b.py::c"),
        Failure("IndexError: list index out of range", test="a/b.py::d"),
    ),
    "kinds of exception": (Failure("ValueError: no such thing"), Failure("TypeError: no such thing")),
    "long ids that begin alike": (
        Failure("AssertionError: no", test="a/b.py::" + "c" * 300 + "1"),
        Failure("AssertionError: no", test="a/b.py::" + "c" * 300 + "2"),
    ),
}


@pytest.mark.parametrize("pair", MEET.values(), ids=MEET.keys())
def test_one_failure_has_one_name(pair: tuple[Failure, Failure]) -> None:
    left, right = pair[0].signature, pair[1].signature
    assert left is not None
    assert left == right


@pytest.mark.parametrize("pair", DO_NOT.values(), ids=DO_NOT.keys())
def test_two_failures_have_two_names(pair: tuple[Failure, Failure]) -> None:
    left, right = pair[0].signature, pair[1].signature
    assert left is not None
    assert right is not None
    assert left.id != right.id
    assert left.text != right.text


@pytest.mark.parametrize(
    ("failure", "title"),
    [
        (
            Failure(SAMPLES.format(count=9, first=1, what="result 2 of 3: Scalars are not close!"), test="t.py::f[a]"),
            "t.py::f[a]: Differs: result <n> of <n>: values differ",
        ),
        (_crash(_frame(GRAPHS, "replay")), "crashed (SIGSEGV) in torch/cuda/graphs.py:replay"),
        (_crash("", test="a/b.py::c"), "a/b.py::c: crashed (SIGSEGV)"),
        (Failure(None, None, OutcomeName.TIMED_OUT, "a/b.py::c"), "a/b.py::c: timed out"),
        (
            Failure("KeyError: 'oak'", LOAD.format(device="oak", function="f", file="io", line=4)),
            "KeyError: '<device>' in torch/serialization.py:load",
        ),
        (Failure("assert 1 == 2", test="a/b.py::c"), "a/b.py::c: assert <n> == <n>"),
    ],
)  # fmt: skip
def test_a_name_is_for_people(failure: Failure, title: str) -> None:
    assert failure.signature == Signature.of(title)


def test_what_did_not_fail_or_said_nothing_has_no_name() -> None:
    for outcome in OutcomeName:
        named = outcome in FAILURES or outcome is OutcomeName.XFAILED
        assert (Failure("ValueError: no such thing", outcome=outcome).signature is not None) == named
    assert Failure(None).signature is None
    assert Failure(" \n ", "\n").signature is None


def test_a_long_name_is_cut_and_says_what_it_is_made_of() -> None:
    found = Failure("RuntimeError: " + "word " * 90).signature
    assert found is not None
    assert found == Failure("RuntimeError: " + "word " * 80).signature
    assert len(found.text) in (MAX_TEXT - 1, MAX_TEXT)


@given(st.text(max_size=2_000) | st.none(), st.text(max_size=4_000) | st.none(), st.text(max_size=300))
def test_any_text_has_a_short_name(message: str | None, text: str | None, test: str) -> None:
    for outcome in FAILURES:
        found = Failure(message, text, outcome, test).signature
        assert found == Failure(message, text, outcome, test).signature
        assert found is None or (len(found.text) <= MAX_TEXT and len(found.id) == 12)


@pytest.mark.parametrize(
    "line", ['  File "', "a.py:1: in ", "_ _ ", "E   A: ", "> ", "def ", "a:", "Current thread", ".py"]
)
def test_no_text_keeps_a_pattern_busy(line: str) -> None:
    for text in (line * 4_096, f"{line}\n" * 4_096, (line + "x" * 16_384) * 2):
        for outcome in FAILURES:
            assert Failure(text[:16_384], text, outcome).signature is not None


def _stage(
    stage: StageName, reason: str | None, device: str = "oak", status: StageStatus = StageStatus.FAILED
) -> Signature | None:
    return signature_of_stage(device, stage, status, reason, "first line\nRuntimeError: the last line\n")


@pytest.mark.parametrize(
    ("stage", "left", "right"),
    [
        (
            StageName.BUILD,
            "the plugin does not build: kernel.cpp:12:10: error: no member named 'gone' in 'c10' (exit code 1)",
            "the plugin does not build: /b/x/ops.cpp:7:1: error: no member named 'gone' in 'c10' (killed by SIGINT)",
        ),
        (
            StageName.BUILD,
            "the plugin does not build: a.cpp:3:9: fatal error: c10/gone.h: No such file or directory (exit code 1)",
            "the plugin does not build: d/b.cpp:1:2: fatal error: c10/gone.h: No such file or directory (exit code 1)",
        ),
        (
            StageName.IMPORT,
            "ImportError: /e/site-packages/torch_oak/_C.so: undefined symbol: _ZN3c104gone",
            "ImportError: /f/site-packages/dune/lib/libdune.so: undefined symbol: _ZN3c104gone",
        ),
        (
            StageName.IMPORT,
            "`import torch` did not survive: killed by SIGSEGV; Current thread 0x7f1 (most recent call first)",
            "`import torch` did not survive: killed by SIGSEGV; Current thread 0x8f2 (most recent call first)",
        ),
        (StageName.IMPORT, "RuntimeError: oak has no torch.oak", "RuntimeError: dune has no torch.dune"),
    ],
)
def test_what_breaks_two_builds_has_one_name(stage: StageName, left: str, right: str) -> None:
    found = _stage(stage, left)
    assert found is not None
    assert found.text.startswith(f"{stage.value}: ")
    assert found == _stage(stage, right, "dune")


def test_stages_that_broke_in_two_ways_have_two_names() -> None:
    reasons = ["a.cpp:1:2: error: no member 'gone'", "a.cpp:1:2: error: no member 'lost'", "exit code 1", None]
    found = [_stage(StageName.BUILD, reason) for reason in reasons]
    found += [_stage(StageName.IMPORT, "exit code 1"), _stage(StageName.BUILD, "a", status=StageStatus.TIMED_OUT)]
    found += [_stage(StageName.IMPORT, f"ImportError: lib{name}.so: cannot open shared object file") for name in "ab"]
    assert len({item.id for item in found if item is not None}) == len(found)
    assert found[3] == Signature.of("build: RuntimeError: the last line")
    for status in (StageStatus.PASSED, StageStatus.NOT_RUN):
        assert _stage(StageName.BUILD, "x", status=status) is None
