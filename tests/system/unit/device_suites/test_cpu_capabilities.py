"""A test has the same outcome whatever instructions the machine's processor has and however many threads compute.

``ATEN_CPU_CAPABILITY`` chooses among the kernels of PyTorch itself; matrix products, convolutions and attention are
computed by libraries, which have switches of their own.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from forking_python import OP_DB, ForkingPython, base_environment
from preparation import prepare_once
from small_suites import DevicePython, read_ends

pytestmark = [pytest.mark.deep, pytest.mark.torch]

CAPABILITIES = ("default", "avx2", "avx512")
LIBRARIES = {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}

OPERATORS = (
    *("_upsample_bilinear2d_aa", "addcmul", "addr", "lerp", "linalg.eig", "linalg.lstsq.grad_oriented"),
    *("masked.softmax", "native_group_norm", "native_layer_norm", "grid_sampler_2d", "nn.functional.batch_norm"),
    *("nn.functional.conv2d", "nn.functional.conv3d", "nn.functional.conv_transpose2d"),
    *("nn.functional.conv_transpose3d", "nn.functional.gelu", "nn.functional.grid_sample"),
    *("nn.functional.group_norm", "nn.functional.instance_norm", "nn.functional.interpolate.bicubic"),
    *("nn.functional.interpolate.bilinear", "nn.functional.interpolate.trilinear", "nn.functional.layer_norm"),
    *("nn.functional.linear_cross_entropy", "nn.functional.scaled_dot_product_attention"),
    *("nn.functional.upsample_bilinear", "special.chebyshev_polynomial_u", "special.hermite_polynomial_h"),
    *("special.hermite_polynomial_he", "special.laguerre_polynomial_l"),
)
"""The thirty whose float32 results and gradients differed most, in tolerances, between `default` and `avx2`, on the
samples of PyTorch 2.13.0, without those that draw random numbers."""

NOT_DIFFERENTIABLE = tuple(name for name in OPERATORS if name.startswith("special."))


def _environment(capability: str | None, threads: int) -> dict[str, str]:
    chosen = LIBRARIES if capability is None else {"ATEN_CPU_CAPABILITY": capability}
    return {**chosen, "OMP_NUM_THREADS": str(threads)}


def _outcomes(
    python: DevicePython, folder: Path, device: str, what: Iterable[str], environment: Mapping[str, str]
) -> dict[str, str]:
    log = folder / f"{device}-{'-'.join(environment.values())}.jsonl"
    command = ("-m", "pytest", *what, "--device", device, f"--events={log}", "-q", "-p", "no:cacheprovider")
    done = python(*command, env=environment)
    ends = {test_id: end["outcome"] for test_id, end in read_ends(log).items()}
    assert ends, done.stdout + done.stderr
    return ends


PROCESSOR = Path("/proc/cpuinfo").read_text(encoding="utf-8")
ENVIRONMENTS = [
    _environment(capability, threads)
    for capability in (*(name for name in CAPABILITIES if name == "default" or f" {name}" in PROCESSOR), None)
    for threads in (1, 2)
]
"""Those that this machine's processor can compute in."""

SUITES = ("smoke", "integration", "ops", "models")
DEVICES = ("cpu", "openreg")

IN_FORCE = "import torch; print(torch.backends.cpu.get_cpu_capability().lower(), torch.get_num_threads())"

FORWARD_IDS = tuple(f"ops/test_forward.py::test_forward[{name}-float32]" for name in OPERATORS)
BACKWARD_IDS = tuple(
    f"ops/test_backward.py::test_backward[{name}-float32]" for name in OPERATORS if name not in NOT_DIFFERENTIABLE
)


@pytest.fixture(scope="session")
def differing(reference: DevicePython, python_with_torch: str, shared: Path) -> dict[str, list[dict[str, str]]]:
    """By device, the outcomes in each of two environments; one Python for each environment serves both devices."""
    del reference  # only asked for, so that a Python without the device skips

    def make() -> dict[str, list[dict[str, str]]]:
        folder = shared / "cpu-capabilities"
        folder.mkdir()
        (folder / "ids.txt").write_text("\n".join([*FORWARD_IDS, *BACKWARD_IDS]), encoding="utf-8")
        what = ("ops/test_forward.py", "ops/test_backward.py", f"--ids-from={folder / 'ids.txt'}")
        seen: dict[str, list[dict[str, str]]] = {device: [] for device in DEVICES}
        for capability, threads in (("default", 1), ("avx2", 2)):
            environment = {**base_environment(), **_environment(capability, threads)}
            forking = ForkingPython(python_with_torch, lambda environment=environment: environment, OP_DB)
            with contextlib.closing(forking) as python:
                said = python("-c", IN_FORCE).stdout.split()
                assert said == [capability, str(threads)], "the fork computes in another way than was asked for"
                for device in DEVICES:
                    seen[device].append(_outcomes(python, folder, device, what, _environment(capability, threads)))
        return seen

    return prepare_once(shared, "cpu_capabilities", make)


@pytest.mark.parametrize("device", DEVICES)
def test_operators_that_differ_most(differing: dict[str, list[dict[str, str]]], device: str) -> None:
    assert differing[device] == [dict.fromkeys([*FORWARD_IDS, *BACKWARD_IDS], "passed")] * 2


def test_the_published_allowances_are_those_of_this_torch(reference: DevicePython, tmp_path: Path, root: Path) -> None:
    """Those that the error of the cpu makes depend on the machine, the others on torch."""
    made = tmp_path / "allowances.json"
    done = reference("-m", "harness.allowances", str(made))
    assert done.returncode == 0, done.stderr
    seen, published = (
        json.loads(path.read_text(encoding="utf-8")) for path in (made, root / "docs" / "operator_allowances.json")
    )
    assert set(seen["allowances"]) == set(published["allowances"])
    for name, kinds in published["allowances"].items():
        assert _declared(kinds) <= _declared(seen["allowances"][name]), name


def _declared(kinds: Mapping[str, list[Any]]) -> set[str]:
    """In which directions and dtypes PyTorch's own tolerance is the largest."""
    return {kind for kind, (_, source) in kinds.items() if source == "PyTorch's own tolerance for the operator"}


@pytest.fixture(scope="session")
def plain(reference: DevicePython, shared: Path) -> Callable[[str], dict[str, str]]:
    """The outcomes of every suite on a device, in the first of the environments."""

    def outcomes(device: str) -> dict[str, str]:
        folder = shared / f"plain-{device}"
        folder.mkdir()
        return _outcomes(reference, folder, device, SUITES, ENVIRONMENTS[0])

    return lambda device: prepare_once(shared, f"outcomes-{device}", partial(outcomes, device))


@pytest.mark.long
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("environment", ENVIRONMENTS[1:], ids=lambda environment: "-".join(environment.values()))
def test_every_suite(
    plain: Callable[[str], dict[str, str]],
    reference: DevicePython,
    tmp_path: Path,
    device: str,
    environment: dict[str, str],
) -> None:
    expected = plain(device)
    assert not {name: outcome for name, outcome in expected.items() if outcome in ("failed", "error", "xpassed")}
    capability, threads = reference("-c", IN_FORCE, env=environment).stdout.split()
    assert threads == environment["OMP_NUM_THREADS"]
    assert capability == environment.get("ATEN_CPU_CAPABILITY", capability), "torch computes in another way"
    assert _outcomes(reference, tmp_path, device, SUITES, environment) == expected
