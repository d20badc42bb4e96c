"""What is a refusal of the device, by its class, its words and who raised it, and what is a failure."""

from __future__ import annotations

import json

import pytest
from small_suites import SUITES, DevicePython

pytestmark = pytest.mark.torch

PRELUDE = """
import json
from pickle import UnpicklingError
from types import ModuleType

import torch
from harness.refusals import Refused, no_kernel, refusal

torch.card = ModuleType("torch.card")

def raised(code, module):
    try:
        exec(code, {"__name__": module, "torch": torch, "Refused": Refused, "UnpicklingError": UnpicklingError})
    except Exception as error:
        return error

def told(code, *, module="test_of_ours", device="card"):
    return refusal(raised(code, module), device)
"""
NO_KERNEL = "Could not run 'aten::sum' with arguments from the 'PrivateUse1' backend."
CHECKED = """
try:
    torch.card.get_rng_state()
except Exception as error:
    raise ValueError("the check failed") from error
"""

SAID = {
    "no kernel": (f'told("""raise RuntimeError("{NO_KERNEL}")""")', f"blocked by aten::sum: {NO_KERNEL}"),
    "not implemented, by its class": (
        "told('raise NotImplementedError(\"no random numbers here\")')",
        "NotImplementedError: no random numbers here",
    ),
    "not implemented, in words": (
        "told('raise RuntimeError(\"addmm: Half is not implemented\")')",
        "RuntimeError: addmm: Half is not implemented",
    ),
    "no device guard": (
        "told('raise RuntimeError(\"PyTorch is not linked with support for card devices\")')",
        "RuntimeError: PyTorch is not linked with support for card devices",
    ),
    "a function that the module lacks": ("told('torch.card.synchronize()')", "torch.card.synchronize is missing"),
    "an argument that may be left out": (
        "told('raise RuntimeError(\"as_strided: storage_offset is required\")')",
        "RuntimeError: as_strided: storage_offset is required",
    ),
    "strides": (
        "told('raise RuntimeError(\"_copy_from: src must be contiguous\")')",
        "RuntimeError: _copy_from: src must be contiguous",
    ),
    "an argument that may not be left out": ("told('raise RuntimeError(\"as_strided: size is required\")')", None),
    "an argument that the operator has not": ("told('raise RuntimeError(\"as_strided: queue is required\")')", None),
    "an operator that torch has not": ("told('raise RuntimeError(\"enqueue: buffer must be contiguous\")')", None),
    "a driver's error": ("told('raise RuntimeError(\"clEnqueueCopyBuffer\")')", None),
    "another check of a kernel": ("told('raise RuntimeError(\"_copy_from: numel mismatch: src=4 dst=12\")')", None),
    "no kernel in another process": (
        f'no_kernel("NotImplementedError: {NO_KERNEL}")',
        f"blocked by aten::sum: NotImplementedError: {NO_KERNEL}",
    ),
    "another end of another process": (
        f'no_kernel("RuntimeError: Failed to load the extension (because of NotImplementedError: {NO_KERNEL})")',
        None,
    ),
    "an attribute that something else lacks": ("told('torch.nothing()')", None),
    "a wrong result": ("told('raise RuntimeError(\"the shapes differ\")')", None),
    "an assertion of a test, whatever it quotes": ("told('assert False, \"not implemented\"')", None),
    "an assertion of torch": (
        "told('assert False, \"this precision is not supported\"', module='torch.amp.autocast_mode')",
        "AssertionError: this precision is not supported",
    ),
    "a file that cannot be loaded": ("told('raise UnpicklingError(\"Unsupported global\")')", None),
    "on the control": ("told('raise NotImplementedError', device='cpu')", None),
    "the cause of an exception of torch": (
        "told(CHECKED, module='torch.testing._internal.optests.generate_tests')",
        "torch.card.get_rng_state is missing",
    ),
    "the cause of an exception of a test": ("told(CHECKED)", None),
    "what another process was told": ("told('raise Refused(\"blocked by aten::sum\")')", "blocked by aten::sum"),
}


@pytest.fixture(scope="module")
def said(forking_python: DevicePython) -> dict[str, object]:
    """What each expression gives."""
    lines = [f"print(json.dumps([{name!r}, {code}]))" for name, (code, _) in SAID.items()]
    code = "\n".join([PRELUDE, f"CHECKED = {CHECKED!r}", *lines])
    done = forking_python("-c", code, env={"PYTHONPATH": str(SUITES)})
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", SAID)
def test_refusal(said: dict[str, object], name: str) -> None:
    assert said[name] == SAID[name][1]
