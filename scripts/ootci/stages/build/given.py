"""An environment that is there already, with torch and the plugin in it, in place of one that is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ootci.adapters.interpreter import Installed
from ootci.adapters.terminal import Progress
from ootci.model.build import Build, PluginBuild, StageName
from ootci.model.device import RegisteredDevice
from ootci.model.plan import PlannedRun
from ootci.model.record import write
from ootci.model.torch_build import TorchBuild
from ootci.model.workspace import Workspace

from .commands import Commands, StepFailed
from .ready import machine_is_ready
from .suite_requirements import suite_requirements
from .timed import Timed
from .upstream import fetch_upstream


@dataclass(frozen=True)
class GivenEnvironment:
    """An environment that somebody else set up.

    Attributes:
        python: its interpreter.
        installed: what is installed beside it.

    """

    python: Path
    installed: Installed


def take_environment(
    item: RegisteredDevice,
    run: PlannedRun,
    given: GivenEnvironment,
    workspace: Workspace,
    suites: Path,
    *,
    clock: Callable[[], datetime],
    progress: Progress,
) -> Build:
    """Look whether an environment has what a run needs, and write build.json. Nothing is installed or changed in it.

    Args:
        item: the device and its file.
        run: the planned run.
        given: the environment.
        workspace: the work folder.
        suites: the suites folder, which says what it needs.
        clock: gives the aware current time.
        progress: told what is going on.

    """
    folder = workspace.run(run.device)
    folder.empty()
    timed, log = Timed(clock, progress, run.device), folder.logs / "fetch.log"
    seconds = item.device.build.timeout_minutes * 60
    commands = Commands(given.python.parent.parent, {**item.device.environment}, seconds, progress, log)
    installed, distribution = given.installed, item.device.plugin.distribution
    torch, version = installed.versions.get("torch"), installed.versions.get(distribution)
    stages = (
        timed.stage(StageName.FETCH, log, lambda: _look(item, run, installed, workspace, suites, commands)),
        timed.stage(StageName.BUILD, folder.logs / "build.log", lambda: _require_plugin(distribution, version)),
    )
    result = Build(
        run_id=run.run_id,
        device=run.device,
        stages=stages,
        torch_request=run.torch,
        torch=TorchBuild(version=torch, git_version=installed.torch_git_version) if torch else None,
        plugin=PluginBuild(package=distribution, version=version, source="installed in the environment given"),
        python=str(given.python),
        python_version=installed.python_version,
    )
    write(result, folder.build)
    return result


def _look(
    item: RegisteredDevice,
    run: PlannedRun,
    installed: Installed,
    workspace: Workspace,
    suites: Path,
    commands: Commands,
) -> bool:
    machine_is_ready(item.device.check, workspace, commands)
    if run.torch.unavailable_reason:
        raise StepFailed(run.torch.unavailable_reason)
    wanted = item.device.python
    if wanted is not None and wanted != ".".join(installed.python_version.split(".")[:2]):
        raise StepFailed(
            f"the environment given has Python {installed.python_version}, the device file asks for {wanted}"
        )
    _suites_can_run(installed, suites)
    if any(suite.name == "upstream" for suite in item.device.suites):
        fetch_upstream(installed.torch_git_version, workspace, commands)
    return True


def _require_plugin(distribution: str, version: str | None) -> bool:
    if version is None:
        raise StepFailed(f"`{distribution}` (`plugin.distribution`) is not installed in the environment given")
    return True


def _suites_can_run(installed: Installed, suites: Path) -> None:
    missing, found = [], []
    for needed in suite_requirements(suites):
        version = installed.versions.get(needed.name)
        if version is None or not needed.specifier.contains(version, prereleases=True):
            missing.append(str(needed))
            found.append(f"{needed.name} {version}" if version else f"no {needed.name}")
    if missing:
        asked = " ".join(f"'{text}'" for text in missing)
        raise StepFailed(
            f"the environment given has {' and '.join(found)}, the suites need {' and '.join(missing)}: "
            f"`python -m pip install {asked}` in it"
        )
