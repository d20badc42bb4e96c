"""``ootci nightly``: a nightly of one device file, in an environment that the tool makes or in one that is there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from drawn import deep
from misbehaving import install, stub_torch_wheel, write_device, write_suites

from commands import Ran, Tool  # isort: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vendor's own folder: a device file, the plugin, and an environment in which it is installed."""
    folder = tmp_path_factory.mktemp("vendor")
    write_device(folder, "dev", "passes")
    write_suites(folder / "suites")
    install(folder / "site-packages", "dev")
    return folder


def _run_file(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / ".ootci" / "runs" / "dev" / "run.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def _stages(run: dict[str, Any]) -> dict[str, str]:
    return {stage["name"]: stage["status"] for stage in run["stages"]}


def _in_place(ootci: Tool, folder: Path, *arguments: str, python: str = sys.executable, **env: str) -> Ran:
    """Run it in the environment of a Python that finds the vendor's packages."""
    variables = {"PYTHONPATH": str(folder / "site-packages"), **env}
    work = ("--suites", str(folder / "suites"), "--history", "data", "--site", "site")
    return ootci("nightly", "dev.yaml", "--python", python, *work, *arguments, cwd=folder, env=variables)


def _files(folder: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime for path in folder.rglob("*")}


def test_an_environment_that_is_there_is_tested_and_left_as_it_was(ootci: Tool, folder: Path) -> None:
    before = _files(folder / "site-packages")
    ran = _in_place(ootci, folder)
    assert ran.code == 0, ran.out + ran.err
    assert "dev: OK: 5 of 5 tests passed" in ran.out
    assert _files(folder / "site-packages") == before
    assert not (folder / ".ootci" / "envs").exists()
    assert not (folder / ".ootci" / "wheels").exists()
    run = _run_file(folder)
    assert set(_stages(run).values()) == {"passed"}
    assert (run["torch"]["version"], run["torch"]["git_version"][:10]) == ("0.1.0+stub", "0123456789")
    assert (run["torch_request"]["channel"], run["plugin"]["version"]) == ("installed", "1.0")
    assert run["plugin"]["source"] == "installed in the environment given"
    assert str(folder) not in json.dumps(run)
    assert "installed" in (folder / "site" / "d" / "dev" / "index.html").read_text(encoding="utf-8")


def _without(folder: Path, tmp_path: Path, *names: str) -> Path:
    """The same folder with packages missing in its environment."""
    for part in ("dev.yaml", "suites"):
        (tmp_path / part).symlink_to(folder / part)
    (tmp_path / "site-packages").mkdir()
    for path in (folder / "site-packages").iterdir():
        if not path.name.startswith(names):
            (tmp_path / "site-packages" / path.name).symlink_to(path)
    return tmp_path


@pytest.mark.parametrize(
    ("missing", "code", "said"),
    [
        ("torch_dev", 1, "dev: BUILD_BROKEN: build: `torch-dev` (`plugin.distribution`) is not installed in the"),
        deep("torch", 3, "dev: INFRA: fetch: torch is not installed in the environment given"),
    ],
)
def test_what_is_missing_there_is_named(
    ootci: Tool, folder: Path, tmp_path: Path, missing: str, code: int, said: str
) -> None:
    names = (missing,) if missing == "torch_dev" else ("torch",)
    ran = _in_place(ootci, _without(folder, tmp_path, *names))
    assert said in ran.out, ran.out + ran.err
    assert ran.code == code


@pytest.mark.deep
def test_the_suites_need_pytest(ootci: Tool, folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bin" / "python"
    bare.parent.mkdir()
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    ran = _in_place(ootci, folder, "--work", str(tmp_path / "work"), python=str(bare))
    assert ran.code == 3, ran.err
    assert "the environment given has no pytest, the suites need pytest>=8.2" in ran.out
    assert "`python -m pip install 'pytest>=8.2'` in it" in ran.out


def test_what_the_suites_import_is_asked_of_an_environment_that_is_there(
    ootci: Tool, folder: Path, tmp_path: Path
) -> None:
    """Nothing is installed there, so that one sentence has to name all that is missing."""
    suites = write_suites(tmp_path / "suites")
    (suites / "requirements.txt").write_text(
        "pytest>=8.2\n# why\nno-such-one\npluggy>=99  # nor this\n", encoding="utf-8"
    )
    ran = _in_place(ootci, folder, "--work", str(tmp_path / "work"), "--suites", str(suites))
    assert ran.code == 3, ran.err
    assert "INFRA: fetch: the environment given has no no-such-one and pluggy " in ran.out
    assert "the suites need no-such-one and pluggy>=99: `python -m pip install 'no-such-one' 'pluggy>=99'`" in ran.out


def test_a_python_that_does_not_start_is_told(ootci: Tool, folder: Path) -> None:
    ran = _in_place(ootci, folder, python="/bin/false")
    assert (ran.code, ran.out) == (3, "")
    assert "error HOST-002: false does not start: exit code 1" in ran.err
    assert _in_place(ootci, folder, "--torch", "2.13.0").code == 2


def test_a_file_outside_a_checkout_is_built_and_run_paused_or_not(ootci: Tool, folder: Path, tmp_path: Path) -> None:
    wheel = stub_torch_wheel(tmp_path)
    write_device(tmp_path, "dev", "fails", extra="paused:\n  reason: The machine is away.\n")
    asked = ("nightly", "dev.yaml", "--torch", f"./{wheel.name}", "--suites", str(folder / "suites"))
    ran = ootci(*asked, cwd=tmp_path)
    assert ran.code == 1, ran.out + ran.err
    assert "dev: FAILING: 1 test failing, first integration/test_scripted.py::test_views" in ran.out
    assert _stages(_run_file(tmp_path))["integration"] == "failed"
    assert (tmp_path / "site" / "d" / "dev" / "index.html").is_file()
