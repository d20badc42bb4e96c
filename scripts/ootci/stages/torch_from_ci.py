"""torch: the wheel that PyTorch's own CI built of a pull request or a push, which takes minutes instead of hours."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from ootci.adapters.download import DownloadProblem, checksum
from ootci.adapters.github_rest import GithubRest
from ootci.adapters.progress import Progress
from ootci.adapters.pytorch_ci import CiBuild, builds_of, take_wheel
from ootci.adapters.remote_wheel import local_contents
from ootci.adapters.torch_index import CPU
from ootci.errors import OotciError, TorchNotBuilt
from ootci.model.device import Device
from ootci.model.plan import Proposal
from ootci.model.record import write
from ootci.model.torch_build import NONE_THERE, TorchSource, full_commit
from ootci.model.workspace import Workspace

PAUSE = timedelta(minutes=5)
"""Between two looks. A build appears one to two hours after the push."""
DOWNLOAD_SECONDS = 1800.0


@dataclass(frozen=True)
class Taker:
    """Takes the wheel of a proposal.

    Attributes:
        devices: those that are tested on it; a build for the Python of one of them is preferred.
        until: when it is looked for the last time; at least once.

    """

    what: Proposal
    devices: tuple[Device, ...]
    workspace: Workspace
    rest: GithubRest
    until: datetime
    clock: Callable[[], datetime]
    wait: Callable[[float], None]
    progress: Progress

    def take(self) -> tuple[TorchSource, Mapping[str, str]]:
        """The wheel, in the work folder, with its torch.json; and by device, why it cannot be tested on the wheel.

        Raises:
            TorchNotBuilt: there is none in time, or none that any of the devices can be tested on.

        """
        started_at, started = self.clock(), time.monotonic()
        with self.progress.step("torch: looking in PyTorch's CI"):
            build = self._found()
        unfit = {device.name: why for device in self.devices if (why := _unfit(build, device))}
        if len(unfit) == len(self.devices):
            raise self._none(next(iter(unfit.values()), "no device is tested"))
        with self.progress.step(f"torch: downloading {build.archive}"):
            wheel, version, commit = self._downloaded(build)
        self.workspace.torch_wheels.mkdir(parents=True, exist_ok=True)
        wheel = wheel.replace(self.workspace.torch_wheels / wheel.name)
        source = TorchSource(
            remote=f"https://github.com/{self.what.repository}",
            ref=self.what.ref,
            pull_request=self.what.pull_request,
            commit=commit,
            version=version,
            wheel=wheel.name,
            sha256=checksum(wheel),
            python_version=build.python,
            ci_run=build.page,
            python_files_of=None if commit == self.what.commit else self.what.commit,
            started_at=started_at,
            duration=round(time.monotonic() - started, 3),
        )
        write(source, self.workspace.torch_source)
        return source, unfit

    def _found(self) -> CiBuild:
        wanted = {device.python for device in self.devices}
        while True:
            try:
                there = builds_of(self.rest, self.what.repository, self.what.commit)
            except OotciError as error:
                raise self._none(f"{error.what} ({error.where})") from error
            if there.built:
                return max(there.built, key=lambda build: (build.python in wanted, Version(build.python)))
            if not there.may_come:
                raise self._none(there.state)
            if self.clock() + PAUSE > self.until:
                raise self._none(f"{there.state} at {self.clock():%H:%M} UTC, and longer is not waited")
            self.progress.update(there.state)
            self.wait(PAUSE.total_seconds())

    def _downloaded(self, build: CiBuild) -> tuple[Path, str, str]:
        """The wheel, its version, and the commit that its binaries are of."""
        folder = self.workspace.path / "torch-from-ci"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            wheel = take_wheel(build, folder, seconds=DOWNLOAD_SECONDS)
            commit = full_commit(local_contents(wheel).commit)
        except (DownloadProblem, OSError) as problem:
            raise self._none(str(problem)) from problem
        try:
            _, version, _, tags = parse_wheel_filename(wheel.name)
        except InvalidWheelFilename as error:
            raise self._none(f"{wheel.name} is not the name of a wheel") from error
        if not any(_python_of(tag.interpreter) in (build.python, None) for tag in tags):
            raise self._none(f"{wheel.name} is not for Python {build.python}")
        # PyTorch's CI puts a commit's Python files, and its name, into an earlier build where nothing else changed.
        # Source: pytorch/pytorch, `.github/actions/reuse-old-whl`.
        if commit is None or (commit != self.what.commit and version.local != f"git{self.what.commit[:7]}"):
            raise self._none(f"{wheel.name} was built from {commit or 'no commit'}, and not from {self.what.commit}")
        return wheel, str(version), commit

    def _none(self, why: str) -> TorchNotBuilt:
        return TorchNotBuilt(
            f"{NONE_THERE} of {self.what}: {why}",
            where=f"{self.what.repository}, {self.what.commit}",
            fix="build it with `ootci torch build --planned`, or run this again later",
        )


def _unfit(build: CiBuild, device: Device) -> str | None:
    """Why a device cannot be tested on a build; None where it can."""
    if device.torch.variant != CPU:
        return f"PyTorch's CI has it for the CPU, the device file requires {device.torch.variant} (`torch.variant`)"
    if device.python not in (None, build.python):
        return f"PyTorch's CI has it for Python {build.python}, the device file requires {device.python} (`python`)"
    return None


def _python_of(interpreter: str) -> str | None:
    """The Python of a wheel's tag; None where it is for every Python 3."""
    found = re.fullmatch(r"[a-z]+3(\d{1,2})", interpreter)
    return f"3.{found[1]}" if found else None
