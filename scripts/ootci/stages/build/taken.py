"""The stages fetch and build on a machine that takes over what another one built."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ootci.adapters import python_env
from ootci.adapters.terminal import Progress
from ootci.model.build import Build, StageName, StageResult, StageStatus
from ootci.model.device import RegisteredDevice
from ootci.model.plan import PlannedRun
from ootci.model.record import write
from ootci.model.torch_build import TorchBuild
from ootci.model.workspace import RunFolder, Workspace

from .commands import Commands, StepFailed
from .fetch import fetch
from .handover import Received, receive
from .plugin import install_wheel
from .ready import machine_is_ready
from .stage import commands_for, torch_in
from .stamp import Stamp, digest
from .timed import Timed


def take_over(
    item: RegisteredDevice,
    run: PlannedRun,
    handed: Path,
    stated: str | None,
    workspace: Workspace,
    suites: Path,
    *,
    clock: Callable[[], datetime],
    progress: Progress,
) -> Build:
    """Make the device's environment, install the wheel that was handed over, and write build.json.

    Args:
        item: the device and its file.
        run: the planned run; its torch is used.
        handed: folder of the hand-over.
        stated: the checksum of its handover.json, where it is known.
        workspace: the work folder.
        suites: the suites folder, which says what it needs.
        clock: gives the aware current time.
        progress: told what is going on.

    """
    folder, environment = workspace.run(run.device), workspace.environment(run.device)
    folder.empty()
    timed, log = Timed(clock, progress, run.device), folder.logs / "fetch.log"
    commands = commands_for(item, environment, progress).into(log)
    received: Received | None = None

    def fetching() -> bool:
        nonlocal received
        machine_is_ready(item.device.check, workspace, commands)
        found = receive(handed, stated, run)
        cached = fetch(item, run, workspace, commands, suites, builds=False)
        found.require_torch(torch_in(environment, None))
        received = found
        return cached

    fetched = timed.stage(StageName.FETCH, log, fetching)
    torch = torch_in(environment, None if received else run.torch.version or "none")
    if received is None:
        built = StageResult(name=StageName.BUILD, status=StageStatus.NOT_RUN, reason="fetch did not pass")
    else:
        built = _built(received, torch, folder, commands, timed)
    result = Build(
        run_id=run.run_id,
        device=run.device,
        stages=(fetched, built),
        torch_request=run.torch,
        torch=torch,
        plugin=received.handover.build.plugin if received else None,
        python=str(python_env.interpreter(environment)) if torch else None,
        python_version=platform.python_version(),
        compiler=received.handover.build.compiler if received else None,
        built_on=str(received.handover.provenance) if received else None,
    )
    write(result, folder.build)
    return result


def _built(
    received: Received, torch: TorchBuild | None, folder: RunFolder, commands: Commands, timed: Timed
) -> StageResult:
    """What came of building, there, and of installing, here."""
    log = folder.logs / "build.log"
    if (there := received.folder / "logs" / log.name).is_file() and not there.is_symlink():
        shutil.copyfile(there, log)
    told = received.handover.build.stages[1]
    if told.status is not StageStatus.PASSED:
        return told
    installed = timed.stage(StageName.BUILD, log, lambda: _install(received, torch, commands.into(log)))
    if installed.status is not StageStatus.PASSED:
        return installed
    return told.model_copy(update={"duration": round(told.duration + installed.duration, 3)})


def _install(received: Received, torch: TorchBuild | None, commands: Commands) -> bool:
    plugin, wheel, stamp = received.handover.build.plugin, received.wheel, Stamp.of(commands.environment)
    if plugin is None or wheel is None:
        raise StepFailed("the plugin was built, but no wheel was handed over")
    key = digest("handed over", received.handover.wheels[0].sha256)
    if stamp.build == key:
        return True
    install_wheel(wheel, torch, commands)
    Stamp(fetch=stamp.fetch, build=key, plugin=plugin).save(commands.environment)
    return False
