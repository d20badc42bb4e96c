"""The tour's first step is really built and passes smoke, and what the README says is missing there is missing."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from commands import Ran, run_command

pytestmark = [pytest.mark.torch, pytest.mark.long]


class StepOne:
    """The plugin's first step, before everything else that the device's Python has.

    Args:
        python: a Python with torch and what the plugin is built with.
        package: the folder of the unpacked wheel.
        suites: the device suites.

    """

    def __init__(self, python: Path, package: Path, suites: Path) -> None:
        self._python = python
        self._package = package
        self._suites = suites

    def test(self, *arguments: str) -> Ran:
        """Run tests of the suites."""
        command = [
            str(self._python),
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-q",
            "-rA",
            "--tb=short",
            "--device=openreg",
        ]
        env = {"PYTHONPATH": str(self._package), "PYTHONDONTWRITEBYTECODE": "1"}
        return run_command([*command, *arguments], self._suites, env, timeout=900)


@pytest.fixture(scope="module")
def step_one(root: Path, device_python: Path, tmp_path_factory: pytest.TempPathFactory) -> StepOne:
    folder = tmp_path_factory.mktemp("step-one")
    source, package = folder / "openreg", folder / "package"
    shutil.copytree(root / "devices" / "openreg", source, ignore=shutil.ignore_patterns("build"))
    command = [str(device_python), "-m", "pip", "--disable-pip-version-check", "wheel", "--no-build-isolation"]
    options = ["--no-deps", "-C", "cmake.define.OPENREG_STEP=1", "--wheel-dir", str(folder)]
    env = {"PATH": f"{device_python.parent}{os.pathsep}{os.environ['PATH']}", "CCACHE_BASEDIR": str(folder)}
    built = run_command([*command, *options, str(source)], folder, env, timeout=1800)
    assert built.code == 0, built.out + built.err
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(package)
    return StepOne(device_python, package, root / "tests" / "device")


def test_the_first_step_passes_smoke(step_one: StepOne) -> None:
    ran = step_one.test("smoke")
    assert ran.code == 0, ran.out + ran.err
    passed = re.search(r"(\d+) passed in", ran.out)
    assert passed is not None, "there is more than passes:\n" + ran.out
    assert int(passed[1]) >= 40


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("test_mixed_devices.py::test_module_on_the_device_refuses_cpu_input", "DID NOT RAISE RuntimeError"),
        (
            "test_optimizers.py::test_optimizer_built_before_moving_still_trains",
            "the optimizer silently updates nothing",
        ),
        ("test_modules.py::test_module_equals_cpu[conv2d-eval]", "convolution_overrideable not implemented"),
        ("test_modules.py::test_module_equals_cpu[lstm-eval]", "Could not run 'aten::_thnn_fused_lstm_cell'"),
        ("test_pinned_memory.py::test_tensor_is_pinned", "segmentation fault"),
        ("test_streams_events.py::test_record_stream_keeps_memory", "Could not run 'aten::record_stream'"),
        ("test_amp.py::test_decorator", "module 'torch.openreg' has no attribute 'get_amp_supported_dtype'"),
        ("test_quantization.py::test_quantized_tensor_is_copied", "Could not run 'aten::empty_quantized'"),
    ],
    ids=lambda value: value.partition("::")[2].partition("[")[0],
)
def test_what_the_tour_says_is_missing_is_missing(step_one: StepOne, root: Path, test: str, said: str) -> None:
    ran = step_one.test(f"integration/{test}")
    assert " passed" not in ran.out
    assert said.lower() in (ran.out + ran.err).lower()
    assert said in (root / "devices" / "openreg" / "README.md").read_text(encoding="utf-8")
