"""Running commands as a person would, and what came of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """A command that ran to its end.

    Attributes:
        code: its exit code.
        out: its standard output.
        err: its standard error.
    """

    code: int
    out: str
    err: str


Tool = Callable[..., Ran]

NO_PIP = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": "",
    "PIP_EXTRA_INDEX_URL": "",
}
"""Environment variables with which pip finds nothing."""
NOBODY = "http://127.0.0.1:9"
"""Nobody answers there: port 9 is the discard service, which no machine here runs."""
OFFLINE = {**NO_PIP, "OOTCI_NIGHTLY_INDEX": f"{NOBODY}/n", "OOTCI_RELEASE_INDEX": f"{NOBODY}/r", "NO_PROXY": "*"}
"""Environment variables with which no package index answers."""


def scrubbed(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what a surrounding CI or test run would leak into a child."""
    leaking = ("GITHUB_", "ACTIONS_", "RUNNER_", "OOTCI_", "PYTEST_", "FAKE_", "MAKE", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(leaking) and name != "PYTHONPATH"}
    return {**kept, "NO_COLOR": "1", "COLUMNS": "120", **(extra or {})}


def run_command(command: list[str], cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 600) -> Ran:
    """Run a command and keep what it printed."""
    done = subprocess.run(
        command, cwd=cwd, env=scrubbed(env), capture_output=True, text=True, timeout=timeout, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def build_wheel(python: Path, source: Path, folder: Path, *options: str) -> Path:
    """Build a plugin as its tour says, with the torch of a Python.

    Args:
        python: has torch and what the plugin is built with.
        source: of the plugin.
        folder: where the wheel is made; an empty one.
        options: of pip.

    """
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "wheel", "--no-build-isolation", "--no-deps"]
    env = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    built = run_command([*command, *options, "--wheel-dir", str(folder), str(source)], source.parent, env, timeout=1800)
    assert built.code == 0, built.out + built.err
    (wheel,) = folder.glob("*.whl")
    return wheel


def with_smoke_only(text: str) -> str:
    """A device file without its other suites."""
    return re.sub(r"(?ms)^  - name: (?!smoke$).*?(?=^  - name: |^\S|^$)", "", text)


@dataclass(frozen=True)
class Nightly:
    """What ``make nightly`` left behind in a fresh checkout.

    Attributes:
        folder: the checkout.
        run: the files of the first call's run of the device.
        first: the first call.
        second: the second call, with fewer suites and nothing else changed.
    """

    folder: Path
    run: Path
    first: Ran
    second: Ran

    @property
    def device_python(self) -> Path:
        """The interpreter that has torch and the reference plugin."""
        return self.folder / ".ootci" / "envs" / "openreg" / "bin" / "python"


def run_nightly(checkout: Path, variables: Mapping[str, str]) -> Nightly:
    """Run the README's command twice in a checkout, with environment variables that say where torch is.

    The second time is for what is built, not for what is tested, so it runs the shortest suite only.
    """
    env = {"PYTHON": sys.executable, **variables}
    first = run_command(["make", "nightly"], checkout, env, timeout=3000)
    run = checkout.with_name("first-run")
    shutil.copytree(checkout / ".ootci" / "runs" / "openreg", run)
    device = checkout / "devices" / "openreg.yaml"
    text = device.read_text(encoding="utf-8")
    device.write_text(with_smoke_only(text), encoding="utf-8")
    second = run_command(["make", "nightly"], checkout, env, timeout=3000)
    device.write_text(text, encoding="utf-8")
    return Nightly(checkout, run, first, second)


def build_documentation(root: Path, site: Path) -> Path:
    """Build the documentation site, without a warning. With --quiet ProperDocs counts none, and is not strict."""
    command = [sys.executable, "-m", "properdocs", "build", "--strict", "--site-dir", str(site)]
    built = run_command(command, root, {"PYTHONPATH": str(root / "scripts")})
    assert (built.code, "WARNING" in built.err) == (0, False), built.err
    return site
