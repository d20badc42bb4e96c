"""What vendor code gets to see of our environment, and what is read from its environment without running it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from ootci.adapters.python_env import (
    base_python,
    create_command,
    device_environment,
    installed_version,
    overwritten_files,
    pip_command,
    python_version,
    torch_git_version,
)
from ootci.errors import ToolMissing


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "ACTIONS_CACHE_URL",
        "INPUT_TOKEN",
        "OOTCI_NIGHTLY_INDEX",
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "PYTEST_ADDOPTS",
        "PYTEST_PLUGINS",
    ],
)
def test_secrets_and_what_is_meant_for_our_own_python_stay_with_us(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "ours")
    assert name not in device_environment(None, {})


def test_the_rest_of_the_host_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/runtime/lib")
    found = device_environment(None, {})
    assert found["LD_LIBRARY_PATH"] == "/opt/runtime/lib"
    assert found["PYTHONNOUSERSITE"] == "1"
    assert "VIRTUAL_ENV" not in found


@pytest.mark.parametrize("virtual", [True, False])
def test_the_environment_s_programs_come_first_and_the_device_file_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, virtual: bool
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("VIRTUAL_ENV", "/ours")
    if virtual:
        (tmp_path / "pyvenv.cfg").touch()
    found = device_environment(tmp_path, {"PYTHONUNBUFFERED": "0", "A": "b", "LIBRARY": "{venv}/lib/a.so:{b}"})
    assert found["PATH"] == f"{tmp_path / 'bin'}{os.pathsep}/usr/bin"
    assert found.get("VIRTUAL_ENV") == (str(tmp_path) if virtual else None)
    assert (found["PYTHONUNBUFFERED"], found["A"]) == ("0", "b")
    assert found["LIBRARY"] == f"{tmp_path}/lib/a.so:{{b}}"


def test_pip_neither_asks_nor_looks_for_itself_nor_compiles_what_nobody_imports() -> None:
    command = pip_command(Path("/envs/dev"), "install", "x")
    assert command[:3] == ["/envs/dev/bin/python", "-m", "pip"]
    assert {"--disable-pip-version-check", "--no-input"} < set(command)
    assert command[-3:] == ["install", "--no-compile", "x"]
    assert pip_command(Path("/envs/dev"), "wheel", "x")[-2:] == ["wheel", "x"]


def test_environments_are_made_from_a_python_that_is_none_itself() -> None:
    assert not (Path(base_python()).parent.parent / "pyvenv.cfg").exists()


def test_the_version_of_an_environment_s_python_is_read_from_it(tmp_path: Path) -> None:
    subprocess.run([base_python(), "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    assert python_version(tmp_path / "env") == platform.python_version()
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.98.1\n", encoding="utf-8")
    assert python_version(tmp_path / "env") == "3.98.1"
    assert python_version(tmp_path / "none") is None


def _site(environment: Path) -> Path:
    folder = environment / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    return folder


def test_versions_are_read_from_the_metadata(tmp_path: Path) -> None:
    site = _site(tmp_path)
    for name in ("torch-2.14.0.dev20261120+cpu.dist-info", "torch_vision_x-1.0.dist-info", "torch-2.0.egg-info"):
        (site / name).mkdir()
    assert installed_version(tmp_path, "torch") == "2.14.0.dev20261120+cpu"
    assert installed_version(tmp_path, "Torch.Vision-X") == "1.0"
    assert installed_version(tmp_path, "vision") is None
    assert installed_version(tmp_path / "gone", "torch") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"__version__ = '2'\ngit_version = 'abc'\n", "abc"),
        (b"from typing import Optional\ncuda: Optional[str] = None\ngit_version = 'abc'\n", "abc"),
        (b"git_version = None\n", None),
        (b"raise SystemExit\n", None),
        (b"git_version = (", None),
        (b"\xff\xfe", None),
        (b"git_version = f()\n", None),
    ],
)
def test_torch_s_commit_is_read_without_importing_torch(tmp_path: Path, text: bytes, found: str | None) -> None:
    folder = _site(tmp_path) / "torch"
    folder.mkdir()
    (folder / "version.py").write_bytes(text)
    assert torch_git_version(tmp_path) == found


def test_files_that_others_installed_over_are_found_by_what_each_says(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    said = {
        "torch-2.13.0": "torch/version.py,sha256=x,1\ntorch/__pycache__/version.cpython-311.pyc,,\nbin/a,,\n",
        "torch_dev-1.0": "torch_dev/__init__.py,,\ntorch/../torch/version.py,,\n",
        "numpy-2.0": 'numpy/__init__.py,,\n"odd, name.py",,\ntorch/__pycache__/version.cpython-311.pyc,,\n',
    }
    for name, record in said.items():
        (site / f"{name}.dist-info").mkdir(parents=True)
        (site / f"{name}.dist-info" / "RECORD").write_text(record, encoding="utf-8")
    (site / "broken-1.0.dist-info").mkdir()
    assert overwritten_files(tmp_path, "torch") == {"torch-dev": ("torch/version.py",)}
    assert overwritten_files(tmp_path / "none", "torch") == {}


def test_another_python_is_found_on_the_path_or_named_as_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert base_python(f"{sys.version_info.major}.{sys.version_info.minor}") == base_python()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing) as caught:
        base_python("3.99")
    assert caught.value.what == "Python 3.99 is not on this machine"
    found = tmp_path / "python3.99"
    found.write_text("#!/bin/sh\n", encoding="utf-8")
    found.chmod(0o755)
    assert base_python("3.99") == str(found)
    assert create_command(tmp_path / "env", base_python("3.99"))[0] == str(found)
