"""The suite ops beyond results: modules, optimizers, wrong calls, ``out=``, and a torch without one of its lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import deep
from small_suites import DevicePython, read_ends

pytestmark = pytest.mark.torch

FEW = (
    "ops/test_errors.py::test_errors[dot]",
    "ops/test_errors.py::test_errors[narrow]",
    "ops/test_out.py::test_out[sin-float32]",
    "ops/test_out.py::test_out[sort-float32]",
    "ops/test_out.py::test_out[bitwise_and-int64]",
    "ops/test_modules.py::test_module_forward[nn.BatchNorm2d-train-float32]",
    "ops/test_modules.py::test_module_forward[nn.BatchNorm2d-eval-float32]",
    "ops/test_modules.py::test_module_backward[nn.LSTM-train-float32]",
    "ops/test_modules.py::test_module_errors[nn.MaxPool2d-train-float32]",
    "ops/test_optimizers.py::test_optimizer[Adam-for_loop]",
    "ops/test_optimizers.py::test_optimizer[Adam-foreach]",
    "ops/test_optimizers.py::test_optimizer[Adam-fused]",
    "ops/test_optimizers.py::test_optimizer[Adam-capturable]",
    "ops/test_optimizers.py::test_optimizer[LBFGS-for_loop]",
    "ops/test_optimizers.py::test_optimizer[SparseAdam-for_loop]",
)


@pytest.mark.parametrize("device", [deep("cpu"), "openreg"])
def test_each_kind_passes(forking_ops: DevicePython, tmp_path: Path, device: str) -> None:
    log = tmp_path / "events.jsonl"
    done = forking_ops("-m", "pytest", *FEW, "--device", device, "-q", f"--events={log}")
    came = read_ends(log)
    assert {test_id: came[test_id]["outcome"] for test_id in FEW} == dict.fromkeys(FEW, "passed"), done.stdout
    ways = {test_id: came[test_id].get("ran") for test_id in FEW}
    if device == "cpu":
        assert set(ways.values()) == {None}
    else:
        assert ways["ops/test_out.py::test_out[sin-float32]"] == "native"
        assert ways["ops/test_out.py::test_out[sort-float32]"] == "fallback"


WITHOUT = {
    "a list that is gone": (
        "import torch.testing._internal.common_optimizers as lists; del lists.optim_db",
        "optimizers",
    ),
    "a module that is gone": ("sys.modules['torch.testing._internal.common_modules'] = None", "modules"),
}


@pytest.mark.parametrize("case", WITHOUT)
def test_a_torch_without_a_list_costs_one_skipped_test_each(
    forking_ops: DevicePython, tmp_path: Path, case: str
) -> None:
    spoil, what = WITHOUT[case]
    log = tmp_path / "events.jsonl"
    code = f"import sys; {spoil}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    done = forking_ops("-c", code, f"ops/test_{what}.py", "--device", "cpu", "-q", f"--events={log}")
    assert done.returncode == 0, done.stdout + done.stderr
    came = read_ends(log)
    assert came
    for end in came.values():
        assert end["id"].endswith("[none]")
        assert end["outcome"] == "skipped"
        assert f"has no list of {what} where torch 2.13 has it" in end["message"]
