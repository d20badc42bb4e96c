"""build: the plugin's wheel, made against the torch in the device's environment and installed there."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename

from ootci.adapters import git, python_env
from ootci.adapters.download import checksum
from ootci.adapters.git import mirror
from ootci.adapters.remote_commits import RemoteCommits
from ootci.model.build import PluginBuild
from ootci.model.commits import NewCommits
from ootci.model.device import RegisteredDevice
from ootci.model.device.plugin import GitSource
from ootci.model.torch_build import TorchBuild, full_commit
from ootci.model.workspace import Workspace

from .commands import Commands, Stamp, StepFailed, digest

_OTHER_TORCH = re.compile(r"^ *(\S+ \S+) depends on (torch(?![\w-]).*)$", re.MULTILINE)
"""pip's message about a package that requires a torch that the constraint excludes."""


def build_plugin(
    item: RegisteredDevice,
    fetched: PluginBuild | None,
    torch: TorchBuild | None,
    workspace: Workspace,
    commands: Commands,
) -> tuple[PluginBuild, bool]:
    """Build and install the plugin unless it is installed; returns also whether it was.

    Args:
        fetched: what is to be built; None for a plugin that comes as a package.

    Raises:
        StepFailed: building or installing failed, or changed the torch under test.

    """
    device, environment = item.device, commands.environment
    if fetched is None:
        return _install_package(item, torch, commands)
    folder = _source_folder(item, workspace)
    stamp = Stamp.of(environment)
    key = digest(stamp.fetch, torch and torch.model_dump(), fetched.sources_sha256, device.build.model_dump())
    if stamp.build == key and stamp.plugin is not None and stamp.plugin.package == device.plugin.distribution:
        # The same sources: of this commit, although an earlier one was built. Device file and suites are this one's.
        here = {name: getattr(fetched, name) for name in ("commit", "source", "new_commits")}
        return stamp.plugin.model_copy(update=here), True
    wheels = workspace.wheels(device.name) / key[:16]
    found = sorted(wheels.glob("*.whl"))
    if not found:
        copy = workspace.building(device.name)
        mirror(folder, git.source_files(folder), copy)
        _build_wheel(item, copy, wheels, commands)
        found = sorted(wheels.glob("*.whl"))
    wheel = _only_wheel(found, device.plugin.distribution)
    install_wheel(wheel, torch, commands)
    plugin = fetched.model_copy(
        update={
            "version": str(parse_wheel_filename(wheel.name)[1]),
            "wheel": wheel.name,
            "sha256": checksum(wheel),
        }
    )
    Stamp(fetch=stamp.fetch, build=key, plugin=plugin).save(environment)
    return plugin, False


def install_wheel(wheel: Path, torch: TorchBuild | None, commands: Commands) -> None:
    """Install the plugin's wheel, whatever was installed before.

    Raises:
        StepFailed: it cannot be installed, or changed the torch under test.

    """
    commands.pip("the plugin's wheel cannot be installed", "install", "--no-deps", "--force-reinstall", str(wheel))
    require_same_torch(commands.environment, torch)


def fetched_plugin(item: RegisteredDevice, workspace: Workspace, before: str | None = None) -> PluginBuild | None:
    """The plugin's name, source and commit before it is built; None for a plugin that comes as a package.

    Args:
        before: the commit since which the commits of a plugin from git are counted.

    Raises:
        StepFailed: its folder does not exist.

    """
    if item.device.plugin.package is not None:
        return None
    folder = _source_folder(item, workspace)
    # A plugin beside its device file is reproduced from the commit of both; another has a repository of its own.
    beside = (item.path.resolve(), item.path.resolve().with_suffix("")) if item.device.plugin.path is not None else ()
    commit = git.commit_of(folder, *beside)
    return PluginBuild(
        package=item.device.plugin.distribution,
        version=None,
        source=item.device.plugin.path or _git_text(item),
        commit=commit,
        new_commits=_new_commits(item.device.plugin.git, before, commit),
        sources_sha256=git.source_digest(folder),
    )


def _new_commits(source: GitSource | None, before: str | None, commit: str | None) -> NewCommits | None:
    """The commits since the one before; None where they are not known, which is no reason not to build."""
    now = full_commit(commit)
    if source is None or before is None or now is None or now == before:
        return None
    try:
        with RemoteCommits(source.url) as repository:
            return NewCommits.counted(before, now, repository.count(before, now))
    except OSError:
        return None


def _source_folder(item: RegisteredDevice, workspace: Workspace) -> Path:
    folder = workspace.plugin_sources(item)
    if not folder.is_dir():
        raise StepFailed(f"the plugin's folder `{item.device.plugin.path or folder.name}` does not exist")
    return folder


def _git_text(item: RegisteredDevice) -> str:
    source = item.device.plugin.git
    return f"{source.url} at {source.ref}" if source else ""


def _build_wheel(item: RegisteredDevice, folder: Path, wheels: Path, commands: Commands) -> None:
    jobs = str(item.device.build.jobs or os.cpu_count() or 1)
    variables = {
        "MAX_JOBS": jobs,
        "CMAKE_BUILD_PARALLEL_LEVEL": jobs,
        # A build that imports torch must not load the plugin of the run before.
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        **item.device.build.environment,
    }
    unfinished = wheels.with_name(wheels.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    how = ("--verbose", "--no-build-isolation", "--no-deps", "--wheel-dir", str(unfinished), str(folder))
    try:
        commands.pip("the plugin does not build", "wheel", *how, extra=variables)
    except StepFailed as failed:
        # Paths in errors are relative to the plugin's sources, not to the copy that is built.
        copy = f"{folder}{os.sep}"
        excerpt = failed.excerpt and failed.excerpt.replace(copy, "")
        raise StepFailed(failed.reason.replace(copy, ""), excerpt, timed_out=failed.timed_out) from failed
    unfinished.rename(wheels)


def _only_wheel(found: list[Path], distribution: str) -> Path:
    wanted = canonicalize_name(distribution)
    fitting = [path for path in found if parse_wheel_filename(path.name)[0] == wanted]
    if len(fitting) != 1:
        names = ", ".join(path.name for path in found) or "no wheel"
        raise StepFailed(f"the build made {names}, not one wheel of `{distribution}` (`plugin.distribution`)")
    return fitting[0]


def _install_package(item: RegisteredDevice, torch: TorchBuild | None, commands: Commands) -> tuple[PluginBuild, bool]:
    plugin, environment = item.device.plugin, commands.environment
    index = ["--extra-index-url", plugin.index_url] if plugin.index_url else []
    constraint = environment / "torch-constraint.txt"
    what = "the plugin's package cannot be installed"
    try:
        commands.pip(what, "install", "--upgrade", "-c", str(constraint), *index, str(plugin.package))
    except StepFailed as failed:
        asks = _OTHER_TORCH.search(failed.excerpt or "")
        if asks is None or torch is None:
            raise
        reason = f"{what} beside torch {torch.version}: {asks[1]} depends on {asks[2]}"
        raise StepFailed(reason, failed.excerpt) from failed
    require_same_torch(environment, torch)
    version = python_env.installed_version(environment, plugin.distribution)
    if version is None:
        raise StepFailed(f"`{plugin.package}` was installed, but brought no distribution `{plugin.distribution}`")
    return PluginBuild(package=plugin.distribution, version=version, source=str(plugin.package)), False


def require_same_torch(environment: Path, torch: TorchBuild | None) -> None:
    """Check that torch was not replaced.

    Raises:
        StepFailed: it was replaced.

    """
    now = python_env.installed_version(environment, "torch")
    if torch is not None and now != torch.version:
        # Without a stamp the next run creates the environment again.
        Stamp().save(environment)
        raise StepFailed(f"installing the plugin replaced torch {torch.version} by {now or 'nothing'}")
    for name, files in python_env.overwritten_files(environment, "torch").items():
        Stamp().save(environment)
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise StepFailed(f"{name} was installed over files of torch: {files[0]}{more}")
