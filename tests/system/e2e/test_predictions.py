"""What `ootci compat` predicts of public wheels is what the dynamic loader and real imports say."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from commands import Nightly
from torch_versions import VARIABLE, VERSIONS, find_wheel

from ootci.model.compat import FindingKind, Forecast
from ootci.stages.compat import export_changes, predict, read_plugin, read_torch
from ootci.stages.compat.objects import OBJECT, symbols_of
from ootci.stages.compat.torch_wheel import LIBRARY, TorchWheel

pytestmark = [pytest.mark.deep, pytest.mark.torch, pytest.mark.long]

PLUGINS = (
    "torch-npu==2.12.0",
    "torch-npu==2.13.0",
    "torch-npu==2.14.0",
    "torch-rbln==0.12.0",
    "torch-opencl==0.1.0.dev23",
    "torchvulkan==0.2.1",
    "torch-tpu==0.2.0",
    "torch-xla==2.9.0",
)
NEEDED = ("filelock", "fsspec", "jinja2", "networkx", "numpy", "sympy", "typing_extensions")
"""What torch imports."""
LOADER = "/lib64/ld-linux-x86-64.so.2"
TRACE = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "yes", "LD_BIND_NOW": "yes"}
"""What ``ldd -r`` sets. It would start its own shell with PyTorch's libraries."""
IMPORTS = {"opencl": "torch", "openreg": "torch", "vulkan": "torch, torchvulkan"}
"""What is imported of devices whose runtime can be had here: PoCL, none, and Mesa's lavapipe."""
RUNTIMES = {"libOpenCL.so.1": "pocl-opencl-icd", "libvulkan_lvp.so": "libvulkan1 mesa-vulkan-drivers"}
"""Package of each library."""
UNSEEN = {("openreg", "2.14.1"): "It is not allowed to register the serialization method of backendMeta data"}
"""Imports that fail although nothing is missing: a check in the headers of 2.13 refuses what it meets in that torch."""


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _unpacked(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Path, Path]]:
    """By version of torch, the wheel and its files."""
    folder = tmp_path_factory.mktemp("torches")
    found = {version: find_wheel(version, os.environ[VARIABLE], folder / "downloads") for version in VERSIONS}
    return {version: (path, _unpacked(path, folder / version)) for version, path in found.items()}


@pytest.fixture
def torches(files: Mapping[str, tuple[Path, Path]]) -> Iterator[Mapping[str, tuple[TorchWheel, Path]]]:
    """The same, read anew: a wheel may be read for five minutes from when it is opened."""
    read = {version: (read_torch(path), folder) for version, (path, folder) in files.items()}
    yield read
    for torch, _ in read.values():
        torch.wheel.close()


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Path, Path]]:
    """By requirement, the public wheel and its files."""
    folder = tmp_path_factory.mktemp("plugins")
    found = {}
    for plugin in PLUGINS:
        _pip("download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder / plugin), plugin)
        (wheel,) = (folder / plugin).iterdir()
        found[plugin] = (wheel, _unpacked(wheel, folder / f"{plugin} unpacked"))
    return found


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_loader_misses_the_same_symbols(
    torches: Mapping[str, tuple[TorchWheel, Path]], plugins: Mapping[str, tuple[Path, Path]], plugin: str
) -> None:
    """Of those that some torch exports: nobody knows of the others whether they are PyTorch's."""
    known = frozenset().union(*(torch.symbols for torch, _ in torches.values()))
    objects = [path for path in plugins[plugin][1].rglob("*") if path.is_file() and OBJECT.search(path.name)]
    symbols = []
    for path in objects:
        with path.open("rb") as stream:
            symbols.append(symbols_of(stream))
    own = frozenset().union(*(item.defined for item in symbols))
    needed = frozenset().union(*(item.needed for item in symbols)) - own
    assert needed & known
    for version, (torch, folder) in torches.items():
        missed = frozenset().union(*(_missed(path, folder / "torch" / "lib") for path in objects))
        assert needed & known - torch.symbols == missed & known - own, version


def _missed(path: Path, libraries: Path) -> frozenset[str]:
    """Symbols that the dynamic loader does not find; nothing of the object is run."""
    offered = " ".join(map(str, filter(lambda path: LIBRARY.fullmatch(f"torch/lib/{path.name}"), libraries.iterdir())))
    command = [LOADER, "--library-path", f"{libraries}:{path.parent}", "--preload", offered, str(path)]
    said = subprocess.run(command, env=TRACE, capture_output=True, text=True, check=False)
    return frozenset(re.findall(r"undefined symbol: ([^\s(,]+)", said.stdout + said.stderr))


def test_a_year_of_changed_exports_takes_less_than_a_megabyte(
    torches: Mapping[str, tuple[TorchWheel, Path]],
) -> None:
    """Of six releases a year; half is left for what comes and goes between two of them, and for files by night."""
    read = [torch for torch, _ in torches.values()]
    for before, after in pairwise(read):
        changes = export_changes(before, after).model_dump_json().encode()
        assert 6 * len(zlib.compress(changes)) < 512 << 10, (before.version, after.version)


def test_what_is_predicted_happens(
    torches: Mapping[str, tuple[TorchWheel, Path]],
    plugins: Mapping[str, tuple[Path, Path]],
    openreg_nightly: Nightly,
    tmp_path: Path,
) -> None:
    """Devices whose runtime is not here cannot be decided; an import that works is no proof that the device does."""
    (openreg,) = (openreg_nightly.folder / ".ootci" / "wheels").rglob("torch_openreg-*.whl")
    wheels = {"openreg": (openreg, _unpacked(openreg, tmp_path / "openreg"))}
    for library, packages in RUNTIMES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            pytest.fail(f"install {packages}: imports cannot be decided without {library}", pytrace=False)
    wheels["opencl"], wheels["vulkan"] = plugins["torch-opencl==0.1.0.dev23"], plugins["torchvulkan==0.2.1"]
    needed = tmp_path / "needed"
    _pip("install", "--quiet", "--target", str(needed), *NEEDED)
    read = [torch for torch, _ in torches.values()]
    operators = {name for torch in read for name in torch.operators}
    predicted: dict[tuple[str, str], bool] = {}
    for name, (wheel, own) in wheels.items():
        plugin = read_plugin(wheel, name, operators)
        for version, (torch, folder) in torches.items():
            found = predict(plugin, torch, read)
            path = os.pathsep.join(map(str, (folder, needed, own)))
            code = f"import {IMPORTS[name]}; print((torch.zeros(2, device={name!r}) + 1).cpu())"
            done = subprocess.run(
                [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
            )
            pair = name, version
            gone = [item.name for item in found.findings if item.kind is FindingKind.SYMBOL]
            if predicted.setdefault(pair, found.forecast is Forecast.BREAK):
                assert any(item in done.stderr for item in gone), (pair, done.stderr)
            elif pair in UNSEEN:
                assert UNSEEN[pair] in done.stderr, (pair, done.stderr)
            else:
                assert done.returncode == 0, (pair, done.stderr)
    assert sum(predicted.values()) >= 4
    assert len(predicted.keys() - UNSEEN.keys()) - sum(predicted.values()) >= 4
