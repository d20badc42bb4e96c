"""``ootci compat --compile``: what compiling a plugin's source predicts, with a real compiler."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from repositories import repository
from unit.samples import plan, register, request, with_runs
from unit.stages.compat.wheels import torch_wheel

from ootci.model.compat import Compat, FindingKind, Forecast, Prediction
from ootci.model.record import read, write

from commands import OFFLINE, Ran, Tool  # isort: skip

pytestmark = pytest.mark.usefixtures("quick_environments")

HEADER = "torch/include/c10/util/Cast.h"
KEPT = "namespace c10 { inline int kept() { return 1; } }\n"
PYPROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
import pathlib, subprocess, sysconfig, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    {configure}
    include = pathlib.Path(sysconfig.get_path("purelib"), "torch", "include")
    subprocess.run(["c++", "-c", "-o", "kernel.o", "-I" + str(include), "kernel.cpp"], check=True)
    name = "torch_dev-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        info = "torch_dev-1.0.dist-info/"
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: torch-dev\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return name
"""
CMAKE = (
    "print('CMake Error at CMakeLists.txt:5 (message):\\n  The SDK is not here.\\n', flush=True); "
    "raise RuntimeError('configure failed')"
)
DEVICE = """plugin:
  distribution: torch-dev
  git: {{url: {url}}}
  requirements: [the-vendor-s-runtime]
check:
  command: ["false"]
paused:
  reason: No card.
compat:
  nothing_public: a wheel.
  compile: true
"""
"""Its requirement is not there, and its check would fail: neither is looked at."""


@dataclass(frozen=True)
class Torches:
    """Two torches: the newer one lacks a function of the older one's headers."""

    old: str
    new: str


@pytest.fixture(scope="module")
def torches(tmp_path_factory: pytest.TempPathFactory) -> Torches:
    folder = tmp_path_factory.mktemp("torches")
    gone = KEPT.replace("kept", "gone")
    headers = {"old": KEPT + gone, "new": KEPT}
    found = {
        kind: torch_wheel(folder, kind, version, "py3-none-any", **{HEADER: headers[kind]})
        for kind, version in (("old", "2.13.0"), ("new", "2.15.0"))
    }
    return Torches(str(found["old"]), str(found["new"]))


def _repository(folder: Path, calls: str, configure: str = "pass") -> str:
    """A plugin in a git repository; gives its commit."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (folder / "backend.py").write_text(BACKEND.format(configure=configure), encoding="utf-8")
    kernel = f"#include <c10/util/Cast.h>\nint use() {{ return c10::{calls}(); }}\n"
    (folder / "kernel.cpp").write_text(kernel, encoding="utf-8")
    return repository(folder)


def _register(folder: Path, repository: Path) -> None:
    path = register(folder)
    text = path.read_text(encoding="utf-8").partition("plugin:")[0]
    path.write_text(text + DEVICE.format(url=repository), encoding="utf-8")


def _compiled(ootci: Tool, folder: Path, *arguments: str) -> tuple[Ran, Prediction]:
    ran = ootci("compat", "dev", "--compile", *arguments, cwd=folder, env=OFFLINE)
    (found,) = read(Compat, folder / ".ootci" / Compat.FILE).predictions
    return ran, found


def test_a_source_that_compiles_is_no_break(ootci: Tool, tmp_path: Path, torches: Torches) -> None:
    commit = _repository(tmp_path / "plugin", "kept")
    _register(tmp_path, tmp_path / "plugin")
    ran, found = _compiled(ootci, tmp_path, "--torch", torches.new)
    assert ran.code == 0, ran.err
    assert f"dev on torch 2.15.0: no break found: source compiles (commit {commit[:10]})\n" in ran.out
    assert found.source is not None
    assert (found.source.forecast, found.source.commit, found.findings) == (Forecast.NO_BREAK, commit, ())


def test_a_name_that_vanished_from_the_headers_is_a_predicted_break(
    ootci: Tool, tmp_path: Path, torches: Torches
) -> None:
    _repository(tmp_path / "plugin", "gone")
    _register(tmp_path, tmp_path / "plugin")
    ran, found = _compiled(ootci, tmp_path, "--between", torches.old, torches.new)
    assert ran.code == 1, ran.err
    assert "dev on torch 2.15.0: break predicted: source does not compile: kernel.cpp:2: " in ran.out
    assert "  note: its source compiles on torch 2.13.0\n" in ran.out
    (finding,) = found.findings
    assert (finding.kind, finding.needed_by) == (FindingKind.COMPILE_ERROR, ("kernel.cpp:2",))
    assert "gone" in finding.text
    assert "is not a member of" in finding.text


@pytest.mark.parametrize(
    ("configure", "why"),
    [
        (CMAKE, "the plugin does not build: CMake Error at CMakeLists.txt:5 (message):; The SDK is not here."),
        (None, "the plugin's sources cannot be fetched: fatal: "),
    ],
    ids=["configure", "clone"],
)
def test_what_fails_before_the_compiler_predicts_nothing(
    ootci: Tool, tmp_path: Path, torches: Torches, configure: str | None, why: str
) -> None:
    if configure is not None:
        _repository(tmp_path / "plugin", "gone", configure)
    _register(tmp_path, tmp_path / "plugin")
    ran, found = _compiled(ootci, tmp_path, "--between", torches.old, torches.new)
    assert (ran.code, found.forecast, found.findings) == (3, Forecast.UNCHECKED, ())
    assert f"dev on torch 2.15.0: cannot be checked: source not compiled: {why}" in ran.out


def test_a_night_s_job_compiles_one_source_and_reads_no_wheel(ootci: Tool, tmp_path: Path, torches: Torches) -> None:
    _repository(tmp_path / "plugin", "kept")
    _register(tmp_path, tmp_path / "plugin")
    nightly = request().model_copy(update={"version": "2.15.0", "wheel": torches.new})
    planned = with_runs(plan(names=("openreg",), paused={"dev": "No card."}), torch=nightly)
    write(planned, tmp_path / ".ootci" / "plan.json")
    ran, found = _compiled(ootci, tmp_path, "--planned")
    assert ran.code == 0, ran.err
    assert read(Compat, tmp_path / ".ootci" / Compat.FILE).plan_id == planned.id
    assert (found.forecast, found.torch, found.needs, found.wheel) == (Forecast.NO_BREAK, "2.15.0", None, None)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("dev", "--compile"), "error CLI-001: `dev` names no source to compile"),
        (("x.whl", "--compile"), "error CLI-001: `x.whl` names no source to compile"),
        (("--compile", "--planned"), "error CLI-001: the plan names plugins and torch"),
    ],
)
def test_only_a_source_that_a_device_file_names_is_compiled(
    ootci: Tool, tmp_path: Path, arguments: tuple[str, ...], error: str
) -> None:
    register(tmp_path)
    (tmp_path / "x.whl").touch()
    ran = ootci("compat", *arguments, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert error in ran.err
