"""Compiles a plugin's source against a torch without the device and its SDK; this runs the vendor's build."""

from __future__ import annotations

from pathlib import Path

from ootci.adapters.progress import Progress
from ootci.flows.context import Folders, clock
from ootci.model.build import Build
from ootci.model.device import Check, RegisteredDevice
from ootci.model.plan import PlannedRun
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest
from ootci.model.workspace import Workspace
from ootci.stages.build import NewEnvironment, build


def compile_source(
    item: RegisteredDevice,
    torch: TorchBuild,
    wheel: Path,
    folders: Folders,
    progress: Progress,
    *,
    commit: str | None = None,
) -> Build:
    """Build a device's `compat.compile` in an environment of its own; no check, no suite, no package of its runtime.

    Args:
        torch: the torch to compile against; ``wheel`` is the file.
        commit: of the source, in place of what the device file names.

    """
    device, plugin = item.device, item.device.source_to_compile
    if plugin is not None and plugin.git is not None and commit is not None:
        plugin = plugin.model_copy(update={"git": plugin.git.model_copy(update={"ref": commit})})
    # Torch has one set of headers for all Pythons, and its wheel is for this one.
    bare = device.model_copy(update={"plugin": plugin, "check": Check(), "python": None})
    alone = item.model_copy(update={"device": bare})
    workspace = Workspace(folders.work / "compat" / "sources" / device.name)
    workspace.path.mkdir(parents=True, exist_ok=True)
    request = TorchRequest(
        wanted=wheel.name,
        wanted_channel=Channel.WHEEL,
        channel=Channel.WHEEL,
        version=torch.version,
        wheel=str(wheel.resolve()),
    )
    run = PlannedRun.of(alone, f"compile/{device.name}", request)
    no_suites = workspace.path / "suites"
    return build(NewEnvironment(alone, run, workspace, no_suites, tests=False), clock=clock, progress=progress)
