"""What a failure says: it is complete, and its lines of Python fail on the broken device and pass on the whole one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache

import pytest
from drawn import deep_but
from sabotage import DEVICE
from small_suites import BREAK, DevicePython, SmallSuites, broken_environment, run_ids

from harness.reproduce import PREFIX, PYTHON_PREFIX

OPERATORS = ("ops/test_forward.py::test_forward[mul-float32]", "ops/test_backward.py::test_backward[mul-float32]")
SHOWN = {
    "wrong-kernel": (
        "smoke/test_arithmetic.py::test_binary_operator_equals_cpu[mul]",
        "smoke/test_arithmetic.py::test_broadcasting",
        *OPERATORS,
    ),
    "answers-from-the-cpu": OPERATORS[:1],
    "mixed-addition": (
        "integration/test_mixed_devices.py::test_cpu_and_device_operands_are_refused[add-device_cpu]",
        "integration/test_mixed_devices.py::test_cpu_and_device_operands_are_refused[add-cpu_device]",
        "integration/test_mixed_devices.py::test_operands_on_two_cards_are_refused[add]",
    ),
    "copying-view-as-real": (
        "integration/test_views.py::test_view_shares_memory[view_as_real]",
        "integration/test_views.py::test_write_through_view_reaches_base[view_as_real]",
        "integration/test_views.py::test_write_to_base_reaches_view[view_as_real]",
    ),
    "forgotten-state": (
        "integration/test_rng.py::test_module_keeps_the_state",
        "integration/test_rng.py::test_fork_rng[devices_named]",
        "integration/test_checkpoint.py::test_gradients_are_those_without_checkpoint[without_reentry]",
        "integration/test_checkpoint.py::test_dropout_really_depends_on_the_state[with_reentry]",
    ),
    "lying-queries": (
        "integration/test_streams_events.py::test_stream_query_is_false_while_busy",
        "integration/test_streams_events.py::test_event_query_is_false_until_reached",
    ),
    "infinity-unnoticed": (
        "integration/test_amp.py::test_scaler_skips_a_bad_step[inf]",
        "integration/test_amp.py::test_scaler_skips_a_bad_step[nan]",
        "integration/test_amp.py::test_scale_grows",
        "integration/test_amp.py::test_scaler_over_two_cards",
    ),
    "loads-on-the-cpu": (
        "integration/test_serialization.py::test_tensor_is_saved_and_loaded",
        "integration/test_serialization.py::test_map_location_to_the_device[string]",
    ),
}
"""Broken devices, and tests of all suites that fail on them: with parameters of every kind, and by every fixture."""
DRAWN = ("wrong-kernel", "mixed-addition", "forgotten-state")
"""Run by `make test`."""
Texts = Callable[[str], dict[str, str]]

RUN_EACH = """
import json
import torch
came = {}
for name, lines in json.load(sys.stdin).items():
    try:
        exec("\\n".join(lines), {"__name__": "__main__"})
        came[name] = None
    except SystemExit as error:
        came[name] = f"exit code {error.code}" if error.code else None
    except BaseException as error:
        came[name] = f"{type(error).__name__}: {error}"
print("\\n" + json.dumps(came))
"""


def lines_of(text: str) -> list[str]:
    """The lines of Python in the text of a failure."""
    head, _, tail = text.partition(f"{PYTHON_PREFIX}\n")
    assert tail, head
    return [line[4:] for line in tail.partition(PREFIX)[0].splitlines() if line.startswith("    ")]


@pytest.fixture(scope="module")
def python(reference: DevicePython, forking_ops: DevicePython) -> DevicePython:
    """Runs each command in a fork of a Python that has imported torch."""
    del reference  # only asked for, so that a Python without the device skips
    return forking_ops


@pytest.fixture(scope="module")
def texts(python: DevicePython, tmp_path_factory: pytest.TempPathFactory) -> Texts:
    """Of a broken device, the text of the failure of each test."""

    @cache
    def of(variant: str) -> dict[str, str]:
        ends = run_ids(python, DEVICE, SHOWN[variant], tmp_path_factory.mktemp(variant), variant)
        return {test_id: end["text"] for test_id, end in ends.items()}

    return of


def _run(python: DevicePython, snippets: dict[str, list[str]], variant: str) -> dict[str, str | None]:
    done = python(
        *("-c", BREAK + RUN_EACH),
        env=broken_environment(variant),
        given=json.dumps(snippets),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    came: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return came


@pytest.mark.torch
@pytest.mark.parametrize("variant", deep_but(DRAWN, SHOWN))
def test_lines_fail_on_the_broken_device(python: DevicePython, texts: Texts, variant: str) -> None:
    assert set(texts(variant)) == set(SHOWN[variant])
    snippets = {test_id: lines_of(text) for test_id, text in texts(variant).items()}
    assert all(2 <= len(lines) <= 5 for lines in snippets.values())
    came = _run(python, snippets, variant)
    for test_id, said in came.items():
        assert said is not None, (test_id, snippets[test_id])
        assert not re.match("(Name|Import|Syntax|Type|Attribute)Error|ModuleNotFound", said), (test_id, said)


@pytest.mark.torch
@pytest.mark.parametrize("variant", deep_but(DRAWN, SHOWN))
def test_lines_pass_on_the_whole_device(python: DevicePython, texts: Texts, variant: str) -> None:
    snippets = {test_id: lines_of(text) for test_id, text in texts(variant).items()}
    assert _run(python, snippets, "") == dict.fromkeys(snippets)


@pytest.mark.torch
def test_text_says_what_was_expected_and_what_happened(texts: Texts) -> None:
    text = texts("wrong-kernel")["smoke/test_arithmetic.py::test_binary_operator_equals_cpu[mul]"]
    happened = re.search(
        r"^Happened: AssertionError: expected (\S+) at index \(0, 0\), got (\S+) \(256 of 256", text, re.M
    )
    assert happened is not None, text
    assert float(happened[2]) - float(happened[1]) == pytest.approx(0.01, rel=1e-3)
    assert "The result is float32[16, 16] on openreg:0." in text
    assert "Expected: A binary operator on the device gives what the cpu gives" in text
    assert (
        "\nAsked by `torch/_torch_docs.py` (add, sub, mul, true_divide, matmul) and https://docs.pytorch.org/" in text
    )
    assert "Capability: ops (" in text
    assert "Documentation: capabilities/ops\n" in text
    assert "compare.py" not in text, "the traceback ends in the test, not in what it is made of"


@pytest.mark.torch
def test_lines_of_an_operator_need_torch_only(texts: Texts) -> None:
    """The smallest sample that differs, with its elements; the gradients take the test itself."""
    forward, backward = (lines_of(texts("wrong-kernel")[test_id]) for test_id in OPERATORS)
    assert re.fullmatch(
        r"def call\(device\): return torch\.mul\(torch\.tensor\(-?[\d.]+, .*device=device\)\)", forward[1]
    )
    assert not any("harness" in line or "ops" in line for line in forward)
    assert backward[1] == "from ops.test_backward import CASES, test_backward"


def test_without_an_expression_the_lines_call_pytest(suites: SmallSuites) -> None:
    suites.write(
        "smoke/test_one.py",
        '''
@pytest.fixture
def own():
    return 1


def test_own(own):
    """It fails."""
    assert own == 2


@pytest.mark.parametrize("value", [object()])
def test_object(value):
    """It fails."""
    assert value is None


@pytest.mark.parametrize("value", [float("inf"), -0.5, "a'b", None, True])
def test_plain(value):
    """It fails."""
    assert value == "right"
''',
    )
    ends = suites.run().ends()
    for name in ("test_own", "test_object[value0]"):
        test_id = f"smoke/test_one.py::{name}"
        lines = lines_of(ends[test_id]["text"])
        assert lines == [
            "import pytest",
            f"raise SystemExit(pytest.main([{test_id!r}, '--device', 'cpu']))",
        ]
    plain = [lines_of(end["text"])[-1] for test_id, end in ends.items() if "test_plain" in test_id]
    values = ["float('inf')", "-0.5", '"a\'b"', "None", "True"]
    assert plain == [f"test_plain(value={value})" for value in values]
