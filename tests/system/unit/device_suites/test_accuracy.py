"""The errors of results in units in the last place: of known numbers, of real operators, and as pages show them."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from small_suites import SUITES, DevicePython, read_ends
from unit.render.pages import read
from unit.samples import build, device, night, plan

from ootci.history.store import History
from ootci.model.plan import PlannedSuite
from ootci.model.record import write
from ootci.model.verdict import VerdictName
from ootci.model.workspace import RunFolder
from ootci.stages.collect import collect
from ootci.stages.judge import judge
from ootci.stages.render import render

pytestmark = pytest.mark.torch

PRELUDE = """
import json
import torch
from harness.accuracy import Accuracy

F, H, B, C = torch.float32, torch.float16, torch.bfloat16, torch.complex64
ONES = torch.ones(8)
NUMBER = (torch.arange(8) + 1.0)

def measured(seen, own, exact):
    accuracy = Accuracy()
    accuracy.add(seen, own, exact)
    found = accuracy.summary()
    names = ("results", "device_largest", "device_typical", "cpu_largest", "cpu_typical")
    return [found[name] for name in names] if found else None

def one_off(dtype, value=1.0, units=1.0):
    own = torch.tensor([value, value, value], dtype=dtype)
    exact = own.to(torch.complex128 if dtype.is_complex else torch.float64)
    seen = own.clone()
    seen[0] += units * torch.finfo(dtype).eps
    return measured(seen, own, exact)
"""

FOUND: dict[str, tuple[str, list[float | None] | None]] = {
    "equal": ("measured(ONES, ONES, ONES.double())", [8, 0, 0, 0, 0]),
    "one unit of float32": ("one_off(F)", [3, 1, 0, 0, 0]),
    "one unit of float16": ("one_off(H)", [3, 1, 0, 0, 0]),
    "one unit of bfloat16": ("one_off(B)", [3, 1, 0, 0, 0]),
    "one unit of complex64": ("one_off(C)", [3, 1, 0, 0, 0]),
    # From 2 on, numbers are twice as far apart.
    "two units of 1 are one of 2": ("one_off(F, 2.0, 2.0)", [3, 1, 0, 0, 0]),
    "numbers below a power of two are nearer": ("one_off(F, 1.5)", [3, 1, 0, 0, 0]),
    "rounding to the other neighbor": (
        "measured(ONES + 2**-23, ONES, ONES.double() + 0.75 * 2**-23)",
        [8, 0.25, 0.25, 0.75, 0.75],
    ),
    "a typical error is the median": (
        "measured(ONES + 2**-23 * (NUMBER > 3) + 2**-23 * (NUMBER > 6), ONES, ONES.double())",
        [8, 2, 1, 0, 0],
    ),
    "two digits": ("measured(ONES * 1.001, ONES, ONES.double())", [8, 8400, 8400, 0, 0]),
    # The smallest number of float16 is 2**-24, which below 2**-14 is the unit.
    "subnormal numbers": (
        "measured(torch.tensor([3 * 2**-24, 1], dtype=H), torch.tensor([2**-24, 1], dtype=H), "
        "torch.tensor([2**-24, 1], dtype=torch.float64))",
        [2, 2, 0, 0, 0],
    ),
    "a zero in place of a subnormal number": (
        "measured(torch.tensor([0.0, 1], dtype=H), torch.tensor([2**-20, 1], dtype=H), "
        "torch.tensor([2**-20, 1], dtype=torch.float64))",
        [2, 16, 0, 0, 0],
    ),
    "no number for a number": (
        "measured(ONES * torch.nan, torch.where(NUMBER > 1, ONES, torch.inf), ONES.double())",
        [8, None, None, None, 0],
    ),
    "numbers for infinities and NaN are not measured": (
        "measured(ONES, ONES, torch.tensor([torch.inf, -torch.inf, torch.nan, 1, 1, 1, 1, 1e300]).double() * 1e300)",
        None,
    ),
    "what float16 cannot hold is not measured": ("measured(ONES.half(), ONES.half(), 1e5 * ONES.double())", None),
    "a zero beside larger numbers is what a sum left over": (
        "measured(NUMBER - 1 + 1e-9, NUMBER - 1, NUMBER.double() - 1)",
        [7, 0, 0, 0, 0],
    ),
    "several right results": ("measured(-ONES, ONES, -ONES.double())", None),
    "integers": ("measured(NUMBER.long(), NUMBER.long(), NUMBER.long())", None),
    "booleans": ("measured(ONES.bool(), ONES.bool(), ONES.bool())", None),
    "float64, of which there is nothing more exact": ("measured(ONES.double(), ONES.double(), ONES.double())", None),
    "another dtype": ("measured(ONES.half(), ONES, ONES.double())", None),
    "another shape": ("measured(ONES[:4], ONES, ONES.double())", None),
    "fewer results": ("measured([ONES], [ONES, ONES], [ONES.double()] * 2)", None),
    "no elements": ("measured(ONES[:0], ONES[:0], ONES[:0].double())", None),
    "a sparse result": ("measured(*[torch.eye(2).to_sparse()] * 3)", None),
    "a result without memory": ("measured(ONES.to('meta'), ONES, ONES.double())", None),
    "numbers of Python": ("measured(1.0, 1.0, 1.0)", None),
    "a number without a dimension": ("measured(ONES[0], ONES[0], ONES[0].double())", [1, 0, 0, 0, 0]),
    "several results": (
        "measured([ONES + 2**-23, ONES.long()], [ONES, ONES.long()], [ONES.double(), ONES.long()])",
        [8, 1, 1, 0, 0],
    ),
    "a conjugate view": (
        "measured((1j * ONES).conj(), (1j * ONES).conj(), (1j * ONES.double()).conj())",
        [8, 0, 0, 0, 0],
    ),
    "a large result is measured in parts": (
        "measured(*[torch.ones(400_000)] * 2, torch.ones(400_000).double())",
        [80_000, 0, 0, 0, 0],
    ),
}


@pytest.fixture(scope="module")
def found(forking_python: DevicePython) -> dict[str, object]:
    """What each expression gives."""
    lines = [f"print(json.dumps([{name!r}, {code}]))" for name, (code, _) in FOUND.items()]
    done = forking_python("-c", "\n".join([PRELUDE, *lines]), env={"PYTHONPATH": str(SUITES)})
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("case", FOUND)
def test_errors_of_known_numbers(found: dict[str, object], case: str) -> None:
    assert found[case] == FOUND[case][1]


STAGE = ("stage_start", "stage_end")
EXACT, BAD = "ops/test_forward.py::test_forward[mul-float32]", "ops/test_forward.py::test_forward[exp-float32]"
INEXACT = """
import sys
import pytest
import torch
from torch.library import Library

library = Library("aten", "IMPL")

def inexact(tensor):
    return torch.exp(tensor.cpu()).mul_(1 + 1e-5).to(tensor.device)

def refusing(tensor):
    if tensor.dim() == 0:
        raise NotImplementedError("exp of a scalar is not implemented for openreg")
    return torch.exp(tensor.cpu()).to(tensor.device)

def start():
    library.impl("exp", exp, "PrivateUse1")

if exp := {"inexact": inexact, "refusing": refusing}.get(sys.argv.pop(1)):
    torch.empty(0, device="openreg")
    import warnings
    warnings.simplefilter("ignore")
    start()
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def logs(forking_ops: DevicePython, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The event logs of the reference device, of one whose `exp` is off by 0.001 %, and of one that refuses scalars."""
    folder = tmp_path_factory.mktemp("logs")
    found = {name: folder / f"{name}.jsonl" for name in ("whole", "inexact", "refusing")}
    for name, log in found.items():
        done = forking_ops("-c", INEXACT, name, EXACT, BAD, "--device", "openreg", "-q", f"--events={log}")
        assert done.returncode == 0, done.stdout + done.stderr
    return found


def test_an_operator_that_is_refused_in_part_has_no_error(logs: dict[str, Path]) -> None:
    ends = read_ends(logs["refusing"])
    assert ends[BAD]["outcome"] == "unsupported"
    assert "measured" not in ends[BAD]
    assert "measured" in ends[EXACT]


@pytest.mark.parametrize("device_name", ["whole", "inexact"])
def test_a_relative_error_within_the_tolerance_is_measured(logs: dict[str, Path], device_name: str) -> None:
    ends = read_ends(logs[device_name])
    assert [ends[name]["outcome"] for name in (EXACT, BAD)] == ["passed", "passed"]
    exact, bad = (ends[name]["measured"] for name in (EXACT, BAD))
    assert exact["results"] > 100
    assert exact["device_largest"] == exact["cpu_largest"] == 0.5
    assert bad["cpu_largest"] <= 2
    if device_name == "whole":
        assert bad["device_largest"] == bad["cpu_largest"]
    else:
        assert 50 <= bad["device_typical"] <= bad["device_largest"] <= 200


def test_the_page_names_an_accuracy_regression_and_the_verdict_stays(logs: dict[str, Path], tmp_path: Path) -> None:
    registry = (device(suites=[{"name": "ops"}]),)
    history = History(tmp_path / "data")
    for number in range(5):
        planned = plan(number, suites=(PlannedSuite(name="ops"),))
        folder = RunFolder(tmp_path / str(number))
        folder.path.mkdir()
        write(build(number), folder.build)
        ran = [{"event": kind, "stage": stage, "status": "passed"} for stage in ("import", "check") for kind in STAGE]
        lines = [json.dumps(event) for event in [*ran, {"event": STAGE[0], "stage": "ops"}]]
        told = logs["whole" if number < 3 else "inexact"].read_text(encoding="utf-8").splitlines()
        end = json.dumps({"event": STAGE[1], "stage": "ops", "status": "passed"})
        folder.events.write_text("\n".join([*lines, *told, end, ""]), encoding="utf-8")
        history.append_plan(planned)
        history.append_run(collect(registry[0].device, planned, folder, now=night(number) + timedelta(hours=1)))
    verdicts = judge(registry, history, night(4) + timedelta(hours=2))
    assert verdicts.devices[0].verdict is VerdictName.OK, verdicts.devices[0].reason
    render(registry, history, verdicts, tmp_path / "site")
    page = read(tmp_path / "site" / "d" / "dev" / "accuracy" / "index.html")
    (line,) = page.one("section", aria_labelledby="regressions").find("li")
    assert re.fullmatch(rf"exp float32, from [\d.]+ to \d+ ulp since {night(3):%Y-%m-%d}", line.text)
    assert f"accuracy regression {line.text}" in read(tmp_path / "site" / "d" / "dev" / "index.html").text
    assert page.one("tbody").find("tr")[0].find("th")[0].text == "exp"
