"""Probes of the device: whether torch can be imported, the hardware is there, and it still computes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ootci.adapters.process import Finished, run
from ootci.adapters.progress import Progress
from ootci.adapters.terminal import plain
from ootci.model.build import StageStatus
from ootci.model.device import Device
from ootci.model.probe import read_probe
from ootci.model.workspace import RunFolder

from .finish import PASSED, Finish, excerpt_of, status_of, telling_line

PROBE_NO_TORCH, PROBE_UNKNOWN, PROBE_UNAVAILABLE = 10, 11, 12
"""Exit codes of ``tests/device/probe.py``."""
_FACT = re.compile(
    r"^[ \t]*(driver|firmware|runtime|sdk)(?: version)?[ \t]*[:=][ \t]*(\S.{0,199})$", re.IGNORECASE | re.MULTILINE
)
"""Lines of the check command that are kept with the run."""


@dataclass(frozen=True)
class Questions:
    """Asks a device, each time in a process of its own.

    Attributes:
        suites: the suites folder, which holds the probe.
        variables: the whole environment of the processes.
        progress: shows their output.

    """

    device: Device
    python: str
    folder: RunFolder
    suites: Path
    variables: Mapping[str, str]
    progress: Progress

    def probe(self) -> tuple[Finish, Finish]:
        """Import torch in a process of its own; returns the results of the stages import and check."""
        command = [self.python, str(self.suites / "probe.py"), "--device", self.device.torch_name]
        command += ["--out", str(self.folder.env), "--expect-devices", str(self.device.check.devices)]
        done = self._run(command, "import.log")
        reached = read_probe(self.folder.env).reached
        if reached in ("available", "described"):
            # A crash after that, with torch imported and the devices counted, is left to the tests.
            return PASSED, PASSED
        error = _said(self.folder.env) or telling_line(done)
        if done.exit_code == PROBE_UNAVAILABLE and not done.timed_out:
            return PASSED, Finish(StageStatus.FAILED, error, None, "import.log")
        failed = Finish(status_of(done), _import_failure(done, error), excerpt_of(done), "import.log")
        return failed, Finish(StageStatus.NOT_RUN, "import did not pass")

    def answer(self) -> str | None:
        """Why the device does not answer, asked in a process of its own; None when it computes."""
        said = self.folder.scratch / "answer.json"
        said.unlink(missing_ok=True)
        command = [self.python, str(self.suites / "probe.py"), "--device", self.device.torch_name, "--compute"]
        done = self._run([*command, "--out", str(said)], "answer.log")
        # A plugin can end the process with exit code 0 before anything was computed.
        computed = done.ok and read_probe(said).reached == "computed"
        return None if computed else f"{_said(said) or telling_line(done)} ({done.ending})"

    def hardware(self) -> Finish:
        """Run the device file's check command, if there is one."""
        command = self.device.check.command
        if command is None:
            return PASSED
        done = self._run(list(command), "check.log")
        facts = {name.lower(): value.strip() for name, value in _FACT.findall(plain(done.tail))}
        if done.ok:
            return Finish(StageStatus.PASSED, log="check.log", facts=facts)
        reason = f"the check command `{' '.join(command)}` failed: {done.ending}"
        return Finish(status_of(done), reason, excerpt_of(done), "check.log", facts=facts)

    def _run(self, command: list[str], log: str) -> Finished:
        timeout = float(self.device.check.timeout_seconds)
        return run(
            command,
            cwd=self.folder.scratch,
            env=self.variables,
            log_file=self.folder.logs / log,
            timeout=timeout,
            on_line=self.progress.update,
        )


def _import_failure(done: Finished, error: str) -> str:
    if done.exit_code in (PROBE_NO_TORCH, PROBE_UNKNOWN) and not done.timed_out:
        return f"{error}{_remedy(error)}"
    # The probe died inside `import torch`; only its output may contain the reason.
    return f"`import torch` did not survive: {done.ending}; {error}{_remedy(error)}"


def _remedy(error: str) -> str:
    """What to do about an import that the dynamic loader ended; nothing where the error is of another kind."""
    if missing := re.search(r"(\S+): cannot open shared object file", error):
        return (
            f". What to do: install what {missing[1]} belongs to, the device's driver or runtime, or say where it is "
            "with LD_LIBRARY_PATH under `environment` in the device file"
        )
    if "undefined symbol" in error:
        return ". What to do: build the plugin again with this torch, or take the release made for it"
    return ""


def _said(env_file: Path) -> str | None:
    error = read_probe(env_file).error
    return plain(error).strip()[:500] if error else None
