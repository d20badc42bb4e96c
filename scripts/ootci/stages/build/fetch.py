"""fetch: the device's virtual environment with torch and other packages, the plugin's sources, and PyTorch's tests."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

from packaging.requirements import Requirement

from ootci.adapters import git, python_env
from ootci.adapters.download import DownloadProblem, checksum, downloaded
from ootci.adapters.remote_wheel import accelerator_packages
from ootci.adapters.torch_index import CPU
from ootci.errors import ToolMissing
from ootci.model.device import UPSTREAM, Check, Device, RegisteredDevice
from ootci.model.device.plugin import GitSource
from ootci.model.plan import PlannedRun
from ootci.model.torch_build import Channel, TorchRequest, full_commit
from ootci.model.workspace import Workspace

from .commands import Commands, Stamp, StepFailed, digest


def fetch(
    item: RegisteredDevice,
    run: PlannedRun,
    workspace: Workspace,
    commands: Commands,
    suites: Path,
    *,
    builds: bool = True,
    tests: bool = True,
) -> bool:
    """Create the environment with torch and all requirements, unless it exists; fetch the plugin's sources.

    Args:
        suites: the suites folder, which has a requirements file.

    Returns:
        Whether the environment of an earlier run was used again.

    Raises:
        StepFailed: a command failed, or no torch can be downloaded.
        ToolMissing: git or Python is missing.

    """
    device, environment = item.device, workspace.environment(run.device)
    if run.torch.unavailable_reason:
        raise StepFailed(run.torch.unavailable_reason)
    building = device.build.requirements if builds and device.plugin.package is None else ()
    requirements = (*map(str, suite_requirements(suites)), *device.plugin.requirements, *building)
    pinned = [run.torch.version, run.torch.url, run.torch.sha256, run.torch.commit]
    python = python_env.base_python(device.python)
    key = digest(python, pinned, requirements, device.plugin.index_url)
    stamp = Stamp.of(environment)
    cached = stamp.fetch == key and python_env.installed_version(environment, "torch") is not None
    if not cached:
        shutil.rmtree(environment, ignore_errors=True)
        environment.parent.mkdir(parents=True, exist_ok=True)
        create = python_env.create_command(environment, python)
        commands.run("the virtual environment cannot be made", create, cwd=environment.parent)
        _install_torch(run.torch, workspace, commands)
        _check_commit(run.torch, python_env.torch_git_version(environment))
        _check_build(run.torch, device, environment)
        if run.torch.channel is Channel.SOURCE:
            _check_c_library(python_env.interpreter(environment), commands)
        _install_requirements(requirements, device.plugin.index_url, run.torch, commands)
        Stamp(fetch=key).save(environment)
    if builds and device.plugin.git is not None:
        _clone(device.plugin.git, workspace.sources(device.name), commands)
    if tests and any(suite.name == UPSTREAM for suite in device.suites):
        fetch_upstream(python_env.torch_git_version(environment), workspace, commands)
    return cached and not (builds and device.plugin.git is not None)


def _install_torch(torch: TorchRequest, workspace: Workspace, commands: Commands) -> None:
    if torch.wheel is not None:
        requirement = [str(_checked_wheel(torch, workspace))]
    elif torch.url is not None:
        # Variants for a GPU need further packages from the index.
        index = ["--extra-index-url", torch.index_url] if torch.index_url else []
        try:
            wheel = downloaded(torch.url, workspace.torch_wheels, sha256=torch.sha256, seconds=commands.timeout)
        except DownloadProblem as problem:
            raise StepFailed(f"torch cannot be installed: {problem}") from problem
        requirement = [str(wheel), *index]
    else:
        requirement = [f"torch=={torch.version}"]
    commands.pip("torch cannot be installed", "install", *requirement)


def _checked_wheel(torch: TorchRequest, workspace: Workspace) -> Path:
    """The wheel that the plan names, with its checksum verified."""
    planned = Path(torch.wheel or "")
    path = planned if planned.is_file() else workspace.torch_wheels / planned.name
    if not path.is_file():
        raise StepFailed(f"torch cannot be installed: the wheel {planned.name} is not on this machine")
    if torch.sha256 is not None and (got := checksum(path)) != torch.sha256:
        raise StepFailed(
            f"torch cannot be installed: {planned.name} is not the wheel of the plan: its SHA-256 is {got}, "
            f"planned is {torch.sha256}"
        )
    return path


def _check_commit(torch: TorchRequest, installed: str | None) -> None:
    if torch.commit is not None and installed != torch.commit:
        raise StepFailed(
            f"the torch that was installed was built, by its own account, from {installed or 'no commit'}, "
            f"planned is {torch.commit}"
        )


def _check_c_library(python: Path, commands: Commands) -> None:
    """Check that torch loads on this machine's C library, which may be older than that of the machine that built it.

    Any other reason why it does not load is a result, and the stage import finds it.
    """
    try:
        commands.run("torch cannot be loaded", [str(python), "-c", "import torch"], cwd=commands.environment)
    except StepFailed as failed:
        if re.search(r"version `GLIBC(XX)?_[0-9.]+' not found", f"{failed.reason}\n{failed.excerpt}"):
            raise


def _check_build(torch: TorchRequest, device: Device, environment: Path) -> None:
    """Check a release that pip chose: it takes a build for CUDA if it finds no other."""
    if torch.url is not None or torch.wheel is not None or device.torch.variant != CPU:
        return
    for file in environment.glob("lib/python3.*/site-packages/torch-*.dist-info/METADATA"):
        if found := accelerator_packages(file.read_bytes(), device.python):
            raise StepFailed(
                f"torch cannot be installed: pip finds torch {torch.version} only as a build that requires {found[0]}, "
                f"wanted is the build `{CPU}`"
            )


def _install_requirements(
    requirements: tuple[str, ...], index_url: str | None, torch: TorchRequest, commands: Commands
) -> None:
    # The constraint keeps a requirement from replacing the torch under test.
    constraint = commands.environment / "torch-constraint.txt"
    installed = python_env.installed_version(commands.environment, "torch") or torch.version
    constraint.write_text(f"torch=={installed}\n", encoding="utf-8")
    index = ["--extra-index-url", index_url] if index_url else []
    if requirements:
        commands.pip("the requirements cannot be installed", "install", "-c", str(constraint), *index, *requirements)


def _clone(source: GitSource, folder: Path, commands: Commands) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        for command in git.clone_commands(source.url, source.ref, submodules=source.submodules):
            commands.run("the plugin's sources cannot be fetched", command, cwd=folder, extra=git.ENVIRONMENT)
    except StepFailed as failed:
        failed.by_device_file = not failed.timed_out and git.does_not_exist(failed.excerpt or "")
        raise


MIN_FREE_GIB = 2.0
"""Space that torch and its download need."""
GIB = 1 << 30


def machine_is_ready(check: Check, workspace: Workspace, commands: Commands) -> None:
    """Run the check command of the device file and check the disk space, so that a missing card costs no build.

    Raises:
        StepFailed: something is missing on the machine, which is not the plugin's fault.

    """
    free = shutil.disk_usage(workspace.path).free / GIB
    if free < MIN_FREE_GIB:
        raise StepFailed(f"the machine has {free:.1f} GiB free, a device's environment needs {MIN_FREE_GIB:.0f}")
    if check.command is not None:
        asking = dataclasses.replace(commands, timeout=float(check.timeout_seconds))
        try:
            asking.run("the machine is not ready: the check command failed", check.command, cwd=workspace.path)
        except ToolMissing as missing:
            raise StepFailed(
                f"the machine is not ready: {missing.what}; install the device's driver and tools here, or run it on a "
                "machine that has the card (`check.command` and `runner` in the device file)"
            ) from missing


FILE = "requirements.txt"


def suite_requirements(suites: Path) -> tuple[Requirement, ...]:
    """The packages that the suites need; none if the folder has no requirements file."""
    file = suites / FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return tuple(Requirement(text) for line in lines if (text := line.partition("#")[0].strip()))


FOLDER = "test"


def fetch_upstream(git_version: str | None, workspace: Workspace, commands: Commands) -> None:
    """Check out PyTorch's folder ``test`` at the commit of torch, unless it is there.

    Raises:
        StepFailed: the torch does not say its commit, or the commit cannot be fetched.
        ToolMissing: git is missing.

    """
    commit = full_commit(git_version)
    if commit is None:
        raise StepFailed("PyTorch's tests cannot be fetched: the installed torch does not say its commit")
    target = workspace.upstream(commit)
    if target.is_dir():
        return
    draft = target.with_name(f"{commit}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    url = git.pytorch_repository()
    what = f"PyTorch's tests of commit {commit} cannot be fetched"
    for command in git.sparse_commands(url, commit, FOLDER):
        commands.run(what, command, cwd=draft, extra=git.ENVIRONMENT)
    if not (draft / FOLDER).is_dir():
        raise StepFailed(f"{what}: the repository has no folder {FOLDER}")
    draft.rename(target)
