"""The tutorial's commands, typed as they stand on the page: by a vendor with a stand-in, and with openreg."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from misbehaving import write_device, write_suites
from repositories import git, repository
from torch_server import serve_torch_index

from commands import Ran, run_command  # isort: skip

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "tutorial" / "add-your-device.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(console|text)\n(.*?)^```$", TEXT, re.M | re.S)
ADDRESS = "https://github.com/my-company/"


def _checkout(folder: Path, python: Path, suites: Callable[[Path], None] = write_suites) -> None:
    """A checkout whose tool is this one, started with a Python, and whose suites are short."""
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "dashboard", folder / "dashboard")
    suites(folder / "tests" / "device")
    (folder / "devices").mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.txt", ".gitignore", "devices/device.schema.json"):
        shutil.copy(ROOT / name, folder / name)
    tool = folder / ".venv" / "bin" / "ootci"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nPYTHONPATH={folder}/scripts exec {python} -m ootci "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    (folder / ".venv" / "tool").touch()  # what `make` asks for: set up and up to date


def _repository(folder: Path) -> Path:
    """The vendor's plugin, in a git repository."""
    write_device(folder, "mydevice", "passes")
    plugin = (folder / "mydevice").rename(folder / "torch-mydevice.git")
    repository(plugin, "plugin")
    return plugin


IDENTITY = {f"GIT_{who}_{what}": "me@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory, tool_python: Path) -> Ran:
    """Every command of the page, one after the other, in one shell."""
    folder = tmp_path_factory.mktemp("tutorial")
    _checkout(folder / "checkout", tool_python)
    vendor = _repository(folder / "vendor").parent
    elsewhere = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{vendor}/.insteadOf",
        "GIT_CONFIG_VALUE_0": ADDRESS,
    }
    git(folder / "checkout", "init", "--quiet")
    script = "set -e\n" + "".join(block for kind, block in BLOCKS if kind == "console")
    with serve_torch_index(folder / "index") as index:
        index.add("nightly", "2.15.0.dev20261122+cpu")
        env = {**IDENTITY, **elsewhere, **index.variables}
        return run_command(["bash", "-c", script], folder / "checkout", env, timeout=900)


def test_every_command_of_the_page_works(typed: Ran) -> None:
    assert typed.code == 0, typed.out + typed.err


def test_what_the_page_shows_is_printed_in_that_order(typed: Ran) -> None:
    shown = [line for kind, block in BLOCKS if kind == "text" for line in block.splitlines()]
    assert len(shown) > 4
    place = 0
    for line in shown:
        place = typed.out.find(line, place)
        assert place >= 0, f"not printed, or not here: {line}\n{typed.out}"


def _short_suites(folder: Path) -> None:
    """The real suites, without most of the suite integration."""
    shutil.copytree(ROOT / "tests" / "device", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (folder / "integration").glob("test_*.py"):
        if file.name not in ("test_device.py", "test_tensors.py"):
            file.unlink()


@pytest.mark.deep
@pytest.mark.torch
def test_the_commands_work_for_the_reference_plugin_where_it_is_installed(
    device_python: Path, tool_python: Path, tmp_path: Path
) -> None:
    """With `--python`, as the page says for an environment that is there: nothing is built for this."""
    _checkout(tmp_path, tool_python, _short_suites)
    git(tmp_path, "init", "--quiet")
    script = "set -e\n" + "".join(block for kind, block in BLOCKS if kind == "console")
    run = "ootci nightly devices/openreg.yaml"
    script = script.replace("mydevice", "openreg").replace(run, f"{run} --python {device_python}")
    assert f"{run} --python" in script
    typed = run_command(["bash", "-c", script], tmp_path, IDENTITY, timeout=1800)
    assert typed.code == 0, typed.out + typed.err
    assert "openreg: OK" in typed.out
    assert (tmp_path / "site" / "d" / "openreg" / "index.html").is_file()


def test_the_page_has_as_many_steps_as_a_vendor_has_time() -> None:
    assert len(re.findall(r"^## \d\. ", TEXT, re.M)) == 6
    assert len([line for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]) < 12
