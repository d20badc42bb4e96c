"""The stages fetch and build of one device run."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ootci.adapters.progress import Progress
from ootci.errors import OotciError
from ootci.model.build import Build, PluginBuild, StageName, StageResult, StageStatus
from ootci.model.device import RegisteredDevice
from ootci.model.plan import PlannedRun
from ootci.model.record import write
from ootci.model.torch_build import TorchBuild
from ootci.model.workspace import Workspace

from .commands import Commands, StepFailed


@dataclass
class DeviceEnvironment(ABC):
    """The environment in which a device is tested, and how torch and the plugin get into it.

    Attributes:
        run: the planned run; its torch is used.
        suites: the suites folder, which names the packages that it imports.
        plugin: facts about the plugin, even if it does not build.
        compiler: first line of the C++ compiler's version.
        built_on: the machine that built the plugin, if it was another one.

    """

    item: RegisteredDevice
    run: PlannedRun
    workspace: Workspace
    suites: Path
    plugin: PluginBuild | None = field(init=False, default=None)
    compiler: str | None = field(init=False, default=None)
    built_on: str | None = field(init=False, default=None)

    @property
    @abstractmethod
    def interpreter(self) -> Path:
        """Its Python, in the folder ``bin`` of the environment."""

    @property
    @abstractmethod
    def python_version(self) -> str | None:
        """The version of its Python."""

    @abstractmethod
    def fetch(self, commands: Commands) -> bool:
        """Install torch and the requirements; returns whether everything was there. Raises StepFailed."""

    @abstractmethod
    def torch(self, *, fetched: bool) -> TorchBuild | None:
        """The torch that is installed, once fetch has passed or failed."""

    @abstractmethod
    def install(self, torch: TorchBuild | None, commands: Commands) -> bool:
        """Install the plugin; returns whether it was there. Raises StepFailed."""

    def build_result(self, here: StageResult) -> StageResult:
        """The result of the stage build, from its result on this machine."""
        return here


def build(environment: DeviceEnvironment, *, clock: Callable[[], datetime], progress: Progress) -> Build:
    """Run fetch and build, and write build.json. A failure is a result, not an exception."""
    run, device = environment.run, environment.item.device
    folder = environment.workspace.run(run.device)
    folder.empty()
    path, seconds = environment.interpreter.parent.parent, device.build.timeout_minutes * 60
    commands = Commands(path, {**device.environment}, seconds, progress)

    def stage(name: StageName, work: Callable[[Commands], bool]) -> StageResult:
        here = commands.into(folder.logs / f"{name.value}.log")
        return _stage(name, here.log_file, lambda: work(here), f"{run.device}: {name.value}", clock, progress)

    fetched = stage(StageName.FETCH, environment.fetch)
    passed = fetched.status is StageStatus.PASSED
    torch = environment.torch(fetched=passed)
    if passed:
        here = stage(StageName.BUILD, lambda commands: environment.install(torch, commands))
        built = environment.build_result(here)
    else:
        built = StageResult(name=StageName.BUILD, status=StageStatus.NOT_RUN, reason="fetch did not pass")
    result = Build(
        run_id=run.run_id,
        device=run.device,
        stages=(fetched, built),
        torch_request=run.torch,
        torch=torch,
        plugin=environment.plugin,
        python=str(environment.interpreter) if torch else None,
        python_version=environment.python_version if torch else None,
        compiler=environment.compiler,
        built_on=environment.built_on,
    )
    write(result, folder.build)
    return result


def _stage(
    name: StageName, log: Path, work: Callable[[], bool], title: str, clock: Callable[[], datetime], progress: Progress
) -> StageResult:
    """Run one stage; ``work`` returns whether an earlier product was used again."""
    started_at, started = clock(), time.monotonic()
    status, reason, excerpt, cached, by_device_file = StageStatus.PASSED, None, None, False, False
    try:
        with progress.step(title):
            cached = work()
    except StepFailed as failure:
        status = StageStatus.TIMED_OUT if failure.timed_out else StageStatus.FAILED
        reason, excerpt, by_device_file = failure.reason, failure.excerpt, failure.by_device_file
    except OotciError as error:
        status, reason = StageStatus.FAILED, f"{error.what} ({error.where})"
    except OSError as error:
        status, reason = StageStatus.FAILED, f"the machine refused: {error.strerror or error}"
    return StageResult(
        name=name,
        status=status,
        started_at=started_at,
        duration=round(time.monotonic() - started, 3),
        reason=reason,
        excerpt=excerpt,
        log=log.name if log.exists() else None,
        cached=cached,
        by_device_file=by_device_file,
    )
