"""The wheel is the whole tool: built from the sources, installed into an empty environment, run anywhere."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import OFFLINE, Ran, run_command
from drawn import deep

from ootci import __version__

FACTS = """
import json, sys
from ootci import resources
import ootci.cli.main
print(json.dumps({
    "suites": str(resources.suites_folder()),
    "dashboard": str(resources.dashboard_folder()),
    "schema": str(resources.device_schema_file()),
    "torch": "torch" in sys.modules,
    "package": ootci.__file__,
}))
"""


@dataclass(frozen=True)
class Installed:
    """The wheel in an environment of its own.

    Attributes:
        checkout: what it was built from.
        sdist: the source distribution.
        wheel: the wheel that was built from it.
        environment: the environment.
        folder: an empty folder.
    """

    checkout: Path
    sdist: Path
    wheel: Path
    environment: Path
    folder: Path

    def run(self, program: str, *arguments: str) -> Ran:
        """Run a program of the environment in the empty folder."""
        return run_command([str(self.environment / "bin" / program), *arguments], self.folder)


@pytest.fixture(scope="module")
def installed(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    # With the hatchling of the development requirements: that of a release is installed (test_release.py).
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(checkout)]
    built = run_command(command, folder)
    assert built.code == 0, built.err + built.out
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    environment, empty = folder / "environment", folder / "empty"
    empty.mkdir()
    _install(wheel, sys.executable, environment)
    return Installed(checkout, sdist, wheel, environment, empty)


def _install(wheel: Path, python: str, environment: Path) -> None:
    """Install a wheel into a new environment of that Python; ours has a pip, which saves making one for each."""
    made = run_command([python, "-m", "venv", "--without-pip", str(environment)], environment.parent)
    assert made.code == 0, made.err
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "--disable-pip-version-check"]
    done = run_command([*pip, "install", "--quiet", "--no-compile", str(wheel)], environment.parent)
    assert done.code == 0, done.err


def _tracked(checkout: Path, folder: str) -> set[str]:
    listed = run_command(["git", "ls-files", "-z", "--", folder], checkout).out
    return {name.removeprefix(f"{folder}/") for name in listed.split("\0") if name}


def test_the_installed_tool_knows_its_version_and_schema(installed: Installed) -> None:
    assert installed.run("ootci", "--version").out == f"ootci, version {__version__}\n"
    schema = installed.run("ootci", "schema", "device")
    assert (schema.code, json.loads(schema.out)["title"]) == (0, "A device file of pytorch-integration-tests")


def test_the_installed_tool_finds_its_resources_inside_itself_and_imports_no_torch(installed: Installed) -> None:
    found = json.loads(installed.run("python", "-c", FACTS).out)
    package = Path(found["package"]).parent
    assert installed.environment in package.parents
    assert found["torch"] is False
    for name in ("suites", "dashboard", "schema"):
        assert package in Path(found[name]).parents, name
    suites, dashboard = Path(found["suites"]), Path(found["dashboard"])
    for name in ("conftest.py", "probe.py", "pytest.ini", "harness/recorder.py", "smoke/test_arithmetic.py"):
        assert (suites / name).is_file(), name
    assert (dashboard / "templates" / "base.html").is_file()
    assert (dashboard / "static" / "style.css").is_file()
    assert Path(found["schema"]).read_bytes() == (installed.checkout / "devices" / "device.schema.json").read_bytes()


def test_the_wheel_holds_every_suite_template_and_module_and_no_test_of_ours(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = set(archive.namelist())
    for folder, inside in (
        ("tests/device", "ootci/data/suites"),
        ("dashboard/templates", "ootci/data/dashboard/templates"),
        ("dashboard/static", "ootci/data/dashboard/static"),
        ("scripts/ootci", "ootci"),
        ("devices/openreg", "ootci/data/plugins/openreg"),
        ("devices/python_only", "ootci/data/plugins/python_only"),
    ):
        missing = {f"{inside}/{name}" for name in _tracked(installed.checkout, folder)} - names
        assert missing == set()
    assert "ootci/py.typed" in names
    info = f"ootci-{__version__}.dist-info"
    assert f"{info}/licenses/LICENSE" in names
    assert {name.split("/")[0] for name in names} == {"ootci", info}
    for unwanted in ("tests/system", "__pycache__", "misbehaving", "openreg/build/", "sample/", ".pyc"):
        assert not [name for name in names if unwanted in name], unwanted


def test_the_source_distribution_can_be_built_again_and_holds_no_test_of_ours(installed: Installed) -> None:
    with tarfile.open(installed.sdist) as archive:
        names = archive.getnames()
    assert any(name.endswith("/LICENSE") for name in names)
    assert any(name.endswith("/tests/device/conftest.py") for name in names)
    assert not [name for name in names if "/tests/system" in name]


def _python(version: str) -> str | None:
    """That version of Python: on PATH, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for candidate in (shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))):
        # A shim of pyenv lies on PATH also for versions that are not switched on.
        if candidate and run_command([candidate, "-c", "import venv"], Path.cwd()).code == 0:
            return candidate
    return None


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.10", deep("3.12"), deep("3.13")])
def test_the_wheel_works_on_every_python_that_it_is_for(installed: Installed, version: str, tmp_path: Path) -> None:
    python = _python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    environment, device_file = tmp_path / "environment", installed.checkout / "devices" / "openreg.yaml"
    _install(installed.wheel, python, environment)
    ootci = str(environment / "bin" / "ootci")
    assert run_command([ootci, "--version"], tmp_path).out == f"ootci, version {__version__}\n"
    shown = run_command([ootci, "device", "preview", str(device_file)], tmp_path)
    assert (shown.code, (tmp_path / "preview" / "index.html").is_file()) == (0, True), shown.err


def test_the_installed_tool_brings_the_reference_device(installed: Installed, tmp_path: Path) -> None:
    """As far as `ootci demo` comes without torch: the plan is made of the file that came with the tool."""
    ootci = str(installed.environment / "bin" / "ootci")
    ran = run_command([ootci, "demo"], tmp_path, OFFLINE)
    assert ran.code != 0
    assert (tmp_path / ".ootci" / "demo" / "openreg" / "pyproject.toml").is_file(), ran.err
    checked = run_command([ootci, "device", "check", ".ootci/demo/openreg.yaml"], tmp_path)
    assert checked.code == 0, checked.out + checked.err


def test_the_installed_tool_reports_in_an_empty_folder_what_is_missing_there(installed: Installed) -> None:
    listed = installed.run("ootci", "device", "list")
    assert listed.code == 2
    assert "error DEV-009" in listed.err
    assert list(installed.folder.iterdir()) == []
