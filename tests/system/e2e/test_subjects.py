"""Devices unlike the reference device (``tests/system/subjects``): what their row, their cells and their tests say."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import subjects
from subjects import without_generator

from ootci.model.record import read
from ootci.model.run import Run, trivial_tests
from ootci.stages.render.pages.findings import findings

from commands import Tool, build_wheel  # isort: skip

pytestmark = pytest.mark.torch

PYTHON_ONLY = {
    "amp": "part",
    "autograd": "failing",
    "autoload": "works",
    "checkpoint": "failing",
    "compile": "part",
    "dataloader": "part",
    "device": "failing",
    "distributed": "unsupported",
    "interop": "failing",
    "memory": "unsupported",
    "mixed_devices": "works",
    "modules": "works",
    "multiprocessing": "unsupported",
    "nested": "part",
    "ops": "works",
    "optimizers": "part",
    "pinned_memory": "unsupported",
    "profiler": "part",
    "quantization": "part",
    "registration": "part",
    "rng": "unsupported",
    "serialization": "failing",
    "sparse": "unsupported",
    "streams_events": "unsupported",
    "tensors": "failing",
    "training": "works",
    "views": "failing",
}
"""What its cells say: it has no strides, no storage to share, no generator and no streams."""
PYTHON_ONLY_LACKS = [
    "waiting for the device",
    "memory with an address",
    "a generator",
    "pinned memory",
    "memory statistics",
]
"""What the probe does not find on it."""
LACKS = frozenset(
    {
        *("distributed", "memory", "multiprocessing", "pinned_memory", "rng", "sparse"),
        "streams_events",
    }
)
"""What it does not have at all, so that what passes of it is trivial."""


SYNCHRONOUS = "the device does not have: waiting for the device"
PYTHON_ONLY_FINDINGS = [
    (3, "Failed: DID NOT RAISE RuntimeError"),
    (2, "Failed: DID NOT RAISE any of (RuntimeError, ValueError, AssertionError, IndexError)"),
    (2, "Failed: DID NOT RAISE RuntimeError"),
    (2, "AssertionError: assert False == True"),
    (1, "torch.testing._internal.optests.generate_tests.OpCheckError: "),
    (1, "torch.distributed.checkpoint.api.CheckpointException: "),
    (46, "the device does not have: a generator"),
    (25, "torch.pythononly.get_amp_supported_dtype names no precision"),
    (16, SYNCHRONOUS),
    (13, "torch has no process group backend registered for this device"),
    (8, "the device does not have: pinned memory"),
    (7, "NotImplementedError: pythononly has no data of this tensor"),
    (7, "NotImplementedError: aten::as_strided is not implemented for pythononly"),
    (6, "tensors on this device cannot be sent to another process: a tensor of pythononly has no memory that"),
    (6, "no kernel for aten::_sparse_coo_tensor_with_dims_and_tensors"),
    (3, "the device does not have: memory statistics"),
    (2, "the device does not have: memory with an address"),
]
"""What its page says to fix first, each with the number of tests that it explains, as measured on torch 2.13."""
REFUSES_ALL_FINDINGS = [
    (17, "RuntimeError: refusesall: the compiler of this card does not support aten::empty_strided"),
    (5, "RuntimeError: refusesall: the compiler of this card does not support aten::empty.memory_format"),
    (0, "the device does not have: a generator"),
    (0, "the device does not have: memory statistics"),
    (0, "the device does not have: pinned memory"),
    (0, SYNCHRONOUS),
]

WITHOUT_GENERATOR = {
    "checkpoint": "part",
    "dataloader": "part",
    "device": "part",
    "distributed": "part",
    "interop": "xfailed",
    "modules": "part",
    "registration": "part",
    "rng": "unsupported",
}
"""The cells that are not green of the reference device without a generator; that of interop is a defect of torch."""
NEED_A_GENERATOR = {
    "integration/test_checkpoint.py::test_dropout_really_depends_on_the_state",
    "integration/test_dataloader.py::test_default_device_does_not_disturb",
    "integration/test_device.py::test_missing_card_is_refused_by",
    "integration/test_distributed.py::test_pipeline",
    "integration/test_modules.py::test_lazy_module",
    "integration/test_modules.py::test_module_is_made_on_the_device",
    "integration/test_registration.py::test_module_has_what_torch_looks_for",
}
"""What cannot be asked of it besides the tests of generators: parameters are drawn, or their state is kept."""
NO_GENERATOR = ("this device has no generator", "implement `getNewGenerator`", "torch.openreg.")
"""The words of its kernels, of torch about its hooks, and of the suites about its module."""


@dataclass(frozen=True)
class Result:
    """What became of a subject."""

    verdict: str
    reason: str
    run: Run
    said: str

    @property
    def states(self) -> dict[str, str]:
        """What the cells say, by capability."""
        return {row.capability: row.state.value for row in self.run.capabilities}

    def assert_findings(self, expected: list[tuple[int, str]]) -> None:
        """Assert that the findings explain so many tests each, and begin with these words."""
        found = [(item.tests, item.text) for item in findings(self.run, self.run.counts.total, frozenset())]
        assert [
            (tests, text[: len(words)]) for (tests, text), (_, words) in zip(found, expected, strict=True)
        ] == expected

    def outcomes(self, outcome: str) -> list[str]:
        """The messages of the tests that came to an outcome."""
        return [item.message or "" for item in self.run.outcomes if item.outcome.value == outcome]


@pytest.fixture
def tested(ootci: Tool, device_python: Path, tmp_path: Path) -> Any:
    """Test a subject with the project's own suites."""

    def test(package: str, *suites: str, **constants: Any) -> Result:
        python, site = subjects.environment(device_python, tmp_path / "env")
        if package == "without_generator":
            without_generator.write_source(tmp_path / "openreg")
            wheel = build_wheel(device_python, tmp_path / "openreg", tmp_path / "wheel")
            zipfile.ZipFile(wheel).extractall(site)
            file = subjects.write_device(tmp_path, "openreg", "torch-openreg", suites)
        else:
            subjects.install(package, site, **constants)
            name = constants.get("NAME", package.replace("_", ""))
            file = subjects.write_device(tmp_path, name, package, suites)
        said = ootci("nightly", str(file), "--python", str(python), cwd=tmp_path, timeout=1800).out
        (found,) = json.loads((tmp_path / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))["devices"]
        run = tmp_path / ".ootci" / "runs" / file.stem / "run.json"
        return Result(found["verdict"], found["reason"], read(Run, run), said)

    return test


@pytest.mark.deep
def test_a_device_without_memory_streams_or_generator_passes_smoke(tested: Any) -> None:
    found = tested("python_only", "smoke")
    assert (found.verdict, found.reason) == (
        "OK",
        f"{found.run.counts.passed} of {found.run.counts.passed} tests passed",
    )
    lacks = found.run.environment.device_facts["lacks"].split(", ")
    assert lacks == PYTHON_ONLY_LACKS
    found.assert_findings([(0, f"the device does not have: {name}") for name in sorted(PYTHON_ONLY_LACKS)])
    assert Counter(item.outcome.value for item in found.run.outcomes)["passed"] > 29


def test_a_device_for_inference_only_passes_smoke_and_has_a_finding(tested: Any) -> None:
    found = tested("python_only", "smoke", GRADIENTS=False)
    assert found.verdict == "OK"
    lacks = [*PYTHON_ONLY_LACKS, "gradients"]
    found.assert_findings([(0, f"the device does not have: {name}") for name in sorted(lacks)])


@pytest.mark.deep
@pytest.mark.parametrize(
    ("refused", "counts"), [("no", "2 passed"), ("used", "2 passed"), ("any", "1 passed, 1 skipped")]
)
def test_a_device_may_refuse_forked_processes(
    device_python: Path, tmp_path: Path, root: Path, refused: str, counts: str
) -> None:
    """Once it was used, or always; then what needs a fork does not apply, and its cell counts the other tests only."""
    python, site = subjects.environment(device_python, tmp_path / "env")
    subjects.install("python_only", site, **({} if refused == "no" else {"FORKS": False}))
    if refused == "any":
        backend = site / "python_only" / "backend.py"
        source = backend.read_text(encoding="utf-8")
        once_used = "lambda: not FORKS and Module.process not in (None, os.getpid())"
        assert once_used in source
        backend.write_text(source.replace(once_used, "lambda own=os.getpid(): os.getpid() != own"), encoding="utf-8")
    file = root / "tests" / "device" / "integration" / "test_multiprocessing.py"
    command = [python, "-m", "pytest", "-rs", "-k", "fork", "-p", "no:cacheprovider", file, "--device", "pythononly"]
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    assert f"= {counts}, " in said, said
    reason = "the device cannot be used after a fork: pythononly cannot be used in a forked process"
    assert (reason in said) is (refused == "any"), said


def test_a_device_in_python_computes_and_learns_what_the_cpu_does(device_python: Path, tmp_path: Path) -> None:
    """Each line was once a crash, a wrong number, or a model that learned nothing."""
    python, site = subjects.environment(device_python, tmp_path / "env")
    subjects.install("python_only", site)
    program = """
import copy
import io
import torch
from torch.utils.checkpoint import checkpoint

def trained(device):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(layer, torch.nn.Unflatten(1, (1, 4)), torch.nn.Conv2d(1, 2, 3))
    data, optimizer = torch.randn(2, 4, 8), torch.optim.SGD(model.parameters(), lr=0.1)
    model.to(device)
    for _ in range(3):
        optimizer.zero_grad()
        checkpoint(model, data.to(device), use_reentrant=False).pow(2).mean().backward()
        optimizer.step()
    return [value.cpu() for value in copy.deepcopy(model).parameters()]

def seen(device):
    x = torch.tensor([1 + 2j, 3 - 1j], device=device)
    conjugate = x.conj()
    conjugate.mul_(2)
    bits = torch.zeros(2, device=device)
    bits.view(torch.int32).fill_(1 << 30)
    compiled = torch.compile(lambda value: value * 2 + 1, backend="aot_eager")(bits)
    matrix = torch.ones(2, 3, device=device)
    matrix.t().contiguous().zero_()
    with torch.inference_mode():
        turned = matrix.t()
    file = io.BytesIO()
    torch.save(matrix, file)
    file.seek(0)
    values = (x, conjugate, conjugate.conj(), conjugate.imag, torch._neg_view(x.real), bits, compiled)
    values += (matrix, turned, torch.load(file))
    return [value.to("cpu", non_blocking=True).tolist() for value in values]

for device in ("pythononly", "cpu"):
    print(seen(device))
pairs = zip(trained("pythononly"), trained("cpu"))
print([number for number, pair in enumerate(pairs) if not torch.allclose(*pair, atol=1e-6)])
"""
    ran = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    there, expected, different = ran.stdout.splitlines()
    assert (there, different) == (expected, "[]")


@pytest.mark.deep
def test_a_device_may_have_a_name_that_torch_knows(tested: Any) -> None:
    """`torch.device("opencl")` is parsed without the plugin, and torch lets PrivateUse1 take the name."""
    found = tested("python_only", "smoke", NAME="opencl")
    assert (found.verdict, found.states["autoload"], found.states["registration"]) == ("OK", "works", "works")


@pytest.mark.deep
def test_a_device_that_refuses_everything_says_so_and_is_not_ok(tested: Any) -> None:
    found = tested("refuses_all", "smoke")
    refused = found.outcomes("unsupported")
    assert found.verdict == "SMOKE_BROKEN"
    assert found.reason.startswith(f"{len(refused)} tests of smoke unsupported, first smoke/")
    assert len(refused) > 20
    assert all("the compiler of this card does not support aten::" in message for message in refused)
    assert not found.outcomes("error")
    found.assert_findings(REFUSES_ALL_FINDINGS)
    need = findings(found.run, found.run.counts.total, frozenset())[0]
    assert f"  17 tests: {need.text}\n    {need.needed_for} {need.implement}\n" in found.said
    assert {found.states[name] for name in ("ops", "tensors", "modules")} == {"unsupported"}


@pytest.mark.deep
@pytest.mark.long
def test_every_cell_of_a_device_in_python_says_what_it_can_do(tested: Any) -> None:
    found = tested("python_only", "smoke", "integration")
    assert found.states == PYTHON_ONLY
    found.assert_findings(PYTHON_ONLY_FINDINGS)
    refused = found.outcomes("unsupported")
    assert sum("its memory has no addresses" in message for message in refused) == 2
    passed = {item.id for item in found.run.outcomes if item.outcome.value == "passed" and item.capability in LACKS}
    assert passed == trivial_tests()


@pytest.mark.deep
@pytest.mark.long
def test_a_device_without_generator_fails_nothing_and_says_what_needs_one(tested: Any) -> None:
    found = tested("without_generator", "smoke", "integration")
    counts = found.run.counts
    assert (found.verdict, found.reason) == (
        "OK",
        f"{counts.pass_rate} tests passed, {counts.xfailed} expected failures, {counts.unsupported} unsupported",
    )
    assert {name: state for name, state in found.states.items() if state != "works"} == WITHOUT_GENERATOR
    assert found.run.environment.device_facts["lacks"] == "a generator"
    refused = [item for item in found.run.outcomes if item.outcome.value == "unsupported"]
    assert {item.id.partition("[")[0] for item in refused if item.capability != "rng"} == NEED_A_GENERATOR
    found.assert_findings([(46, "the device does not have: a generator")])  # less than a tenth does not pass
    said = Counter(next((words for words in NO_GENERATOR if words in (item.message or "")), None) for item in refused)
    assert set(said) == set(NO_GENERATOR)
