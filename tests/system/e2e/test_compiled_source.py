"""The reference device's source, compiled for a prediction with PyTorch's headers, and with a function of them gone."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from commands import run_command
from torch_versions import VARIABLE, find_wheel

from ootci.model.compat import Compat, FindingKind, Forecast, Prediction
from ootci.model.record import read

pytestmark = [pytest.mark.deep, pytest.mark.torch, pytest.mark.long]

VERSION = "2.13.0"
LATER = "2.13.999"
HEADER = "torch/include/torch/csrc/jit/serialization/pickler_helper.h"
FUNCTION = "TensorBackendMetaRegistry"
CALLED_IN = "csrc/BackendMeta.cpp"


def _without_the_function(wheel: Path, folder: Path) -> Path:
    """A copy of a torch, with a later version and without the function."""
    _, version, *tags = wheel.name.split("-")
    target = folder / "-".join((f"torch-{LATER}", *tags))
    shutil.copyfile(wheel, target)
    old, new = f"torch-{version}.dist-info/", f"torch-{LATER}.dist-info/"
    with zipfile.ZipFile(target, "a") as archive:
        contents = {name: archive.read(name) for name in archive.namelist() if name.startswith((old, HEADER))}
        # Only the list of contents is written again: the other files stay as they are compressed.
        archive.filelist = [item for item in archive.filelist if item.filename not in contents]
        for name, content in contents.items():
            del archive.NameToInfo[name]
            text = content.replace(FUNCTION.encode(), b"gone") if name == HEADER else content
            assert name != HEADER or text != content
            archive.writestr(name.replace(old, new), text.replace(version.encode(), LATER.encode()))
    return target


@pytest.fixture(scope="module")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference device, whose file says that its source compiles without its vendor's SDK."""
    made = tmp_path_factory.mktemp("compiled")
    devices = made / "devices"
    shutil.copytree(root / "devices" / "openreg", devices / "openreg", ignore=shutil.ignore_patterns("build"))
    text = (root / "devices" / "openreg.yaml").read_text(encoding="utf-8")
    assert "\ncompat:\n" in text
    (devices / "openreg.yaml").write_text(text.replace("\ncompat:\n", "\ncompat:\n  compile: true\n"), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def torch(folder: Path) -> Path:
    return find_wheel(VERSION, os.environ[VARIABLE], folder / "downloads")


def _compiled(folder: Path, code: int, *arguments: str) -> Prediction:
    """What the command predicts, started with the Python of the tests: CMake finds no headers of another one."""
    command = [sys.executable, "-m", "ootci", "compat", "openreg", "--compile", *arguments]
    ran = run_command(command, folder, timeout=3000)
    assert ran.code == code, ran.out + ran.err
    (found,) = read(Compat, folder / ".ootci" / Compat.FILE).predictions
    return found


def test_it_compiles_on_the_torch_that_it_is_tested_on(folder: Path, torch: Path) -> None:
    found = _compiled(folder, 0, "--torch", str(torch))
    assert found.source is not None
    assert (found.source.forecast, found.source.why, found.findings) == (Forecast.NO_BREAK, "source compiles", ())


def test_a_function_that_torch_removes_is_a_predicted_break_with_file_line_and_message(
    folder: Path, torch: Path, tmp_path: Path
) -> None:
    """It still compiles on the torch that has the function, which the command finds out by itself."""
    found = _compiled(folder, 1, "--between", str(torch), str(_without_the_function(torch, tmp_path)))
    source = (folder / "devices" / "openreg" / CALLED_IN).read_text(encoding="utf-8").splitlines()
    (line,) = (number for number, text in enumerate(source, 1) if FUNCTION in text)
    (finding,) = found.findings
    assert (found.forecast, finding.kind) == (Forecast.BREAK, FindingKind.COMPILE_ERROR)
    assert finding.needed_by == (f"{CALLED_IN}:{line}",)
    assert FUNCTION in finding.text
    assert "is not a member of" in finding.text
