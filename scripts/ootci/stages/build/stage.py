"""The stages fetch and build of one device run."""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ootci.adapters import python_env
from ootci.adapters.process import ask
from ootci.adapters.terminal import Progress
from ootci.model.build import Build, PluginBuild, StageName, StageResult, StageStatus
from ootci.model.device import Check, RegisteredDevice
from ootci.model.plan import PlannedRun
from ootci.model.record import write
from ootci.model.torch_build import TorchBuild
from ootci.model.workspace import Workspace

from .commands import Commands
from .fetch import fetch
from .plugin import build_plugin, fetched_plugin
from .ready import machine_is_ready
from .timed import Timed


def build(
    item: RegisteredDevice,
    run: PlannedRun,
    workspace: Workspace,
    suites: Path,
    *,
    clock: Callable[[], datetime],
    progress: Progress,
    tests: bool = True,
) -> Build:
    """Make the device's environment and plugin, and write build.json. A failure is a result, not an exception.

    Nothing is fetched on a machine that is not ready: the device file's check command fails, or the disk is full.

    Args:
        item: the device and its file.
        run: the planned run; its torch is used.
        workspace: the work folder.
        suites: the suites folder, which says what it needs.
        clock: gives the aware current time.
        progress: told what is going on.
        tests: whether the device is tested on this machine; another one is not asked for the device's hardware.

    """
    folder, environment = workspace.run(run.device), workspace.environment(run.device)
    folder.empty()
    commands = commands_for(item, environment, progress)
    timed, log = Timed(clock, progress, run.device), folder.logs / "fetch.log"
    fetching = commands.into(log)
    stages = [timed.stage(StageName.FETCH, log, lambda: _fetch(item, run, workspace, fetching, suites, tests))]
    fetched = stages[0].status is StageStatus.PASSED
    torch = torch_in(environment, None if fetched else run.torch.version or "none")
    plugin: PluginBuild | None = None
    if fetched:
        log_of_build = folder.logs / "build.log"

        def work() -> bool:
            nonlocal plugin
            # Whether the plugin changed is asked of a build that breaks, too.
            plugin = fetched_plugin(item, workspace)
            plugin, cached = build_plugin(item, torch, workspace, commands.into(log_of_build))
            return cached

        stages.append(timed.stage(StageName.BUILD, log_of_build, work))
    else:
        stages.append(StageResult(name=StageName.BUILD, status=StageStatus.NOT_RUN, reason="fetch did not pass"))
    result = Build(
        run_id=run.run_id,
        device=run.device,
        stages=tuple(stages),
        torch_request=run.torch,
        torch=torch,
        plugin=plugin,
        python=str(python_env.interpreter(environment)) if torch else None,
        python_version=platform.python_version(),
        compiler=compiler(),
    )
    write(result, folder.build)
    return result


def _fetch(
    item: RegisteredDevice, run: PlannedRun, workspace: Workspace, commands: Commands, suites: Path, tests: bool
) -> bool:
    check = item.device.check if tests or item.device.build.runner is None else Check()
    machine_is_ready(check, workspace, commands)
    return fetch(item, run, workspace, commands, suites, tests=tests)


def torch_in(environment: Path, only: str | None) -> TorchBuild | None:
    """The torch that is installed; None when there is none, or another than ``only``: that of an earlier run."""
    version = python_env.installed_version(environment, "torch")
    if version is None or only not in (None, version):
        return None
    return TorchBuild(version=version, git_version=python_env.torch_git_version(environment))


def commands_for(item: RegisteredDevice, environment: Path, progress: Progress) -> Commands:
    """What runs the commands of a device."""
    return Commands(
        environment=environment,
        variables={**item.device.environment},
        timeout=item.device.build.timeout_minutes * 60,
        progress=progress,
    )


def compiler() -> str | None:
    """First line of the C++ compiler's version; None where there is no compiler."""
    answer = ask(["c++", "--version"])
    return answer.out.splitlines()[0] if answer and answer.exit_code == 0 and answer.out else None
