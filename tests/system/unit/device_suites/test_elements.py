"""How results are compared: with the exact one, and by which tolerance."""

from __future__ import annotations

import json

import pytest
from small_suites import SUITES, DevicePython

pytestmark = pytest.mark.torch

PRELUDE = """
import json
import torch
from harness.elements import elements_differ
from harness.tolerance import Tolerance

def differ(actual, cpu, exact=None, **more):
    return elements_differ(actual, cpu, lambda: exact, **more)

F, D = torch.float32, torch.float64
ONE = torch.ones(8, dtype=F)
"""

SAID = {
    "equal": ("differ(ONE, ONE.clone())", None),
    "a wrong element": (
        "differ(torch.tensor([1.0, 2.5]), torch.tensor([1.0, 2.0]))",
        "expected 2.0 at index (1,), got 2.5 (1 of 2 elements differ). There is no exact value to compare with; "
        "the error is 0.5, 2.38e+03 times what is allowed by the tolerance of float32",
    ),
    "a number": ("differ(torch.tensor(3), torch.tensor(4))", "expected 4, got 3"),
    "an exact value": (
        "differ(torch.tensor([1.5]), torch.tensor([1.0]), torch.tensor([1.25], dtype=D) * 0.8)",
        "expected 1.0 at index (0,), got 1.5. The exact value is 1.0; the error is 0.5, 4.55e+03 times what is allowed "
        "by the tolerance of float32; the error of the cpu is 0",
    ),
    # On the other side of the exact value than the cpu: twice as far from the cpu as from what is right.
    "rounded to the other side": ("differ(ONE + 9e-5, ONE - 9e-5, ONE.double())", None),
    "far from the exact value, near the cpu": (
        "bool(differ(ONE - 4e-4, ONE - 3e-4 * (torch.arange(8) == 0), ONE.double() * (1 + 1e-3)))",
        False,
    ),
    "four times the error of the cpu": ("differ(ONE + 7e-4, ONE - 2e-4, ONE.double())", None),
    "more than four times the error of the cpu": (
        "'4 times the cpu' in differ(ONE + 9e-4, ONE - 2e-4, ONE.double())",
        True,
    ),
    # One element of the cpu is wrong by 1 of 1,000,000: small elements get nothing from that.
    "a large element beside a small one": (
        "bool(differ(torch.tensor([1e6, 1.1]), torch.tensor([1e6 + 64, 1.0]), torch.tensor([1e6, 1.0], dtype=D)))",
        True,
    ),
    "an element that hides behind another's error": (
        "bool(differ(ONE + 6e-3 * (torch.arange(8) == 1), ONE + 1.6e-3 * (torch.arange(8) == 0), ONE.double()))",
        True,
    ),
    "the largest error of a result that is one": (
        "differ(ONE + 6e-3 * (torch.arange(8) == 1), ONE + 1.6e-3 * (torch.arange(8) == 0), ONE.double(), as_one=True)",
        None,
    ),
    "more than four times the largest error of a result that is one": (
        "bool(differ(ONE + 7e-3 * (torch.arange(8) == 1), ONE + 1.6e-3 * (torch.arange(8) == 0), ONE.double(), "
        "as_one=True))",
        True,
    ),
    "exact where the cpu overflows": (
        "differ(torch.tensor([7.64]).half(), torch.tensor([torch.inf]).half(), torch.tensor([7.6406], dtype=D))",
        None,
    ),
    "as the cpu where it overflows": (
        "differ(torch.tensor([torch.inf]).half(), torch.tensor([torch.inf]).half(), torch.tensor([7.6], dtype=D))",
        None,
    ),
    "limits of a dtype that fill": (
        "bool(differ(torch.tensor([1.0, 0, 7]), torch.tensor([1, torch.inf, -torch.inf]).nan_to_num(), "
        "torch.tensor([1, torch.inf, -torch.inf], dtype=D).nan_to_num()))",
        True,
    ),
    "a complex number that is half infinite": (
        "differ(torch.tensor([complex('inf+1.0000001j')]), torch.tensor([complex('inf+1j')]))",
        None,
    ),
    "a complex number that is half wrong": (
        "bool(differ(torch.tensor([complex('nan+99j')]), torch.tensor([complex('nan+1j')])))",
        True,
    ),
    "equal beside no number": ("differ(ONE * torch.nan, ONE * torch.nan, 'is not asked for')", None),
    "infinite where the cpu is": ("differ(ONE * torch.inf, ONE * torch.inf, ONE.double() * 1e300)", None),
    "finite where the cpu is infinite": ("bool(differ(ONE, ONE * torch.inf, ONE.double() * 1e300))", True),
    "not a number where the cpu is finite": ("'the error is inf;' in differ(ONE * torch.nan, ONE, ONE.double())", True),
    "another answer of float64": ("differ(-ONE, ONE, -ONE.double())", None),
    "neither answer": ("bool(differ(0 * ONE, ONE, -ONE.double()))", True),
    "an index that the exact result has": ("differ(torch.tensor([3]), torch.tensor([4]), torch.tensor([3]))", None),
    "an index of neither": ("bool(differ(torch.tensor([5]), torch.tensor([4]), torch.tensor([3])))", True),
    "rounded otherwise": (
        "differ(3 * ONE[:1], ONE[:1], 2 * ONE[:1].double(), rounds=True)",
        "expected 1.0 at index (0,), got 3.0. The exact value is 2.0",
    ),
    "nearly as rounded": ("bool(differ(ONE + 1e-5, ONE, ONE.double(), rounds=True))", True),
    "rounded as the exact result": ("differ(ONE + 1, ONE, ONE.double() + 1, rounds=True)", None),
    "a byte that is no boolean": (
        "bool(differ(torch.tensor([2], dtype=torch.uint8).view(torch.bool), torch.tensor([True])))",
        True,
    ),
    "PyTorch's own tolerance": ("differ(ONE + 4e-4, ONE, ONE.double(), own=Tolerance(0.0, 0.1))", None),
    "more than PyTorch's own": (
        '"PyTorch\'s own" in differ(ONE + 0.2, ONE, ONE.double(), own=Tolerance(0.0, 0.1))',
        True,
    ),
    "PyTorch's own absolute tolerance beside the relative one of the dtype": (
        "differ(100 * ONE + 0.0105, 100 * ONE, 100 * ONE.double(), own=Tolerance(0.0, 1e-3))",
        None,
    ),
    "an error of the cpu that cannot be measured": (
        "differ(torch.tensor([9.0]).half(), torch.tensor([torch.inf]).half(), torch.tensor([7.5], dtype=D))",
        "expected inf at index (0,), got 9.0. The exact value is 7.5; the error is 1.5, 88.2 times what is allowed by "
        "the tolerance of float16; the error of the cpu is inf",
    ),
    "a sparse tensor": ("differ(torch.eye(2).to_sparse(), torch.eye(2).to_sparse())", None),
    "a wrong sparse tensor": ("bool(differ(torch.eye(2).to_sparse(), 2 * torch.eye(2).to_sparse()))", True),
    "half of a complex number": (
        "bool(differ(ONE.to(torch.complex32) * 1j, ONE.to(torch.complex32), ONE.to(torch.complex128)))",
        True,
    ),
}


@pytest.fixture(scope="module")
def said(forking_python: DevicePython) -> dict[str, object]:
    """What each expression gives."""
    lines = [f"print(json.dumps([{name!r}, {code}]))" for name, (code, _) in SAID.items()]
    done = forking_python("-c", "\n".join([PRELUDE, *lines]), env={"PYTHONPATH": str(SUITES)})
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", SAID)
def test_comparison(said: dict[str, object], name: str) -> None:
    assert said[name] == SAID[name][1]


DECLARED = """
import json
import torch
from torch.testing._internal.common_device_type import precisionOverride, tol, toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo
from types import SimpleNamespace
from harness.tolerance import torch_tolerance

F, H, I = torch.float32, torch.float16, torch.int64
wide = lambda value: toleranceOverride({F: tol(atol=value, rtol=value)})
info = SimpleNamespace(decorators=[
    precisionOverride({H: 0.5}),
    DecorateInfo(wide(0.1), "TestCommon", "test_compare_cpu"),
    DecorateInfo(wide(0.2), "TestCommon", "test_out"),
    DecorateInfo(wide(0.3), "TestCommon", "test_compare_cpu", device_type="cuda"),
    DecorateInfo(wide(0.4), "TestCommon", "test_compare_cpu", active_if=False),
    DecorateInfo(wide(0.5), "TestCommon", "test_compare_cpu", dtypes=(H,)),
])
for test in (("TestCommon", "test_compare_cpu"), ("TestCommon", "test_out"), None):
    found = [torch_tolerance(info, test, dtype, "openreg") for dtype in (F, H, I)]
    print(json.dumps([own and [own.relative, own.absolute] for own in found]))
"""


def test_declared_tolerances_count_for_their_test_dtype_and_device(forking_python: DevicePython) -> None:
    done = forking_python("-c", DECLARED, env={"PYTHONPATH": str(SUITES)})
    half = [0.0, 0.5]
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        [[0.1, 0.1], half, None],
        [[0.2, 0.2], half, None],
        [None, half, None],
    ], done.stderr
