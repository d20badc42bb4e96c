"""torch: a wheel of torch, built once from any ref or pull request, for all devices of a run."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from ootci.adapters import git, python_env
from ootci.adapters.download import DownloadProblem, checksum
from ootci.adapters.process import run, version_line
from ootci.adapters.progress import Progress
from ootci.adapters.remote_wheel import local_contents
from ootci.adapters.terminal import plain
from ootci.errors import OotciError, TorchNotBuilt
from ootci.model.record import read, write
from ootci.model.torch_build import TorchSource
from ootci.model.workspace import Workspace

SHOWN_LINES = 20


@dataclass(frozen=True)
class Wanted:
    """The torch to build.

    Attributes:
        ref: branch, tag, commit, or what a pull request would be merged as.
        head: the expected head of a pull request, or commit of the ref; None accepts any.
        not_from_ci: why PyTorch's CI had no wheel of it; None where nobody looked there.

    """

    remote: str
    ref: str
    pull_request: int | None = None
    head: str | None = None
    not_from_ci: str | None = None


@dataclass(frozen=True)
class _Builder:
    wanted: Wanted
    workspace: Workspace
    seconds: float
    progress: Progress

    @property
    def folder(self) -> Path:
        return self.workspace.path / "torch-build"

    @property
    def sources(self) -> Path:
        return self.folder / "sources"

    @property
    def log(self) -> Path:
        return self.folder / "torch.log"

    def run(self, what: str, command: Sequence[str], cwd: Path, extra: Mapping[str, str] | None = None) -> None:
        env = python_env.device_environment(None, extra or {})
        done = run(command, cwd=cwd, env=env, log_file=self.log, timeout=self.seconds, on_line=self.progress.update)
        if not done.ok:
            end = "\n".join(plain(done.tail).splitlines()[-SHOWN_LINES:])
            raise TorchNotBuilt(
                f"{what}: {done.ending}\n{end}",
                where=f"{self.wanted.ref} of {self.wanted.remote}",
                fix=f"see {self.log}",
            )

    def refused(self, what: str) -> TorchNotBuilt:
        return TorchNotBuilt(what, where=f"{self.wanted.ref} of {self.wanted.remote}", fix="give another ref")


def build_torch(
    wanted: Wanted, workspace: Workspace, *, seconds: float, clock: Callable[[], datetime], progress: Progress
) -> TorchSource:
    """Build a wheel of torch into the work folder, unless that of the same commit is there already.

    The host's environment variables reach the build, such as ``USE_CUDA`` and ``MAX_JOBS``; secrets do not.

    Args:
        seconds: the time for each command: fetching, and building.

    Raises:
        TorchNotBuilt: the sources cannot be fetched, are not what was wanted, or make no torch wheel.
        ToolMissing: git is missing.

    """
    builder = _Builder(wanted, workspace, seconds, progress)
    started_at, started = clock(), time.monotonic()
    with progress.step(f"torch: fetching {wanted.ref}"):
        commit = _fetch(builder)
    if (found := _built_before(builder, commit)) is not None:
        return found
    compiler_cache = version_line("ccache")
    with progress.step(f"torch: building {commit[:10]}"):
        made = _build(builder, with_cache=compiler_cache is not None)
    version = _checked(builder, made, commit)
    workspace.torch_wheels.mkdir(parents=True, exist_ok=True)
    wheel = made.rename(workspace.torch_wheels / made.name)
    result = TorchSource(
        remote=wanted.remote,
        ref=wanted.ref,
        pull_request=wanted.pull_request,
        commit=commit,
        version=version,
        wheel=wheel.name,
        sha256=checksum(wheel),
        python_version=platform.python_version(),
        compiler=version_line("c++"),
        compiler_cache=compiler_cache,
        not_from_ci=wanted.not_from_ci,
        started_at=started_at,
        duration=round(time.monotonic() - started, 3),
    )
    write(result, workspace.torch_source)
    return result


def _fetch(builder: _Builder) -> str:
    """Fetch the sources; gives their commit."""
    shutil.rmtree(builder.folder, ignore_errors=True)
    builder.sources.mkdir(parents=True)
    wanted = builder.wanted
    for command in git.clone_commands(wanted.remote, wanted.ref, submodules=True):
        builder.run("PyTorch's sources cannot be fetched", command, builder.sources, git.ENVIRONMENT)
    commit, parents = git.head_and_parents(builder.sources)
    if wanted.head is not None and wanted.head not in (commit, *parents):
        raise builder.refused(f"the sources are of {commit[:10]}, which is not {wanted.head[:10]} nor merges it")
    return commit


def _built_before(builder: _Builder, commit: str) -> TorchSource | None:
    try:
        found = read(TorchSource, builder.workspace.torch_source)
    except OotciError:
        return None
    wheel = builder.workspace.torch_wheels / found.wheel
    same = (found.remote, found.commit, found.python_version) == (
        builder.wanted.remote,
        commit,
        platform.python_version(),
    )
    return found if same and wheel.is_file() and checksum(wheel) == found.sha256 else None


def _build(builder: _Builder, *, with_cache: bool) -> Path:
    environment, wheels = builder.folder / "env", builder.folder / "wheels"
    builder.run("the virtual environment cannot be made", python_env.create_command(environment), builder.folder)
    jobs = os.environ.get("MAX_JOBS") or str(os.cpu_count() or 1)
    variables = {"MAX_JOBS": jobs, "CMAKE_BUILD_PARALLEL_LEVEL": jobs, "BUILD_TEST": os.environ.get("BUILD_TEST", "0")}
    if with_cache:
        variables |= {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX", "CUDA")}
        variables["CCACHE_DIR"] = os.environ.get("CCACHE_DIR", str(builder.workspace.path / "ccache"))
        # Cache entries must not depend on the path of the work folder.
        variables |= {"CCACHE_BASEDIR": str(builder.sources), "CCACHE_NOHASHDIR": "1"}
    # pip creates an isolated build environment from pyproject.toml.
    options = ("--verbose", "--no-deps", "--wheel-dir", str(wheels), str(builder.sources))
    command = python_env.pip_command(environment, "wheel", *options)
    builder.run("torch does not build", command, builder.sources, variables)
    made = sorted(wheels.glob("*.whl"))
    if len(made) != 1:
        raise builder.refused(f"the build made {len(made)} wheels, not one")
    return made[0]


def _checked(builder: _Builder, wheel: Path, commit: str) -> str:
    try:
        project, version, _, _ = parse_wheel_filename(wheel.name)
    except InvalidWheelFilename:
        project, version = None, None
    if project != "torch":
        raise builder.refused(f"the build made {wheel.name}, not a wheel of torch")
    try:
        said = local_contents(wheel).commit
    except DownloadProblem as problem:
        raise builder.refused(str(problem)) from problem
    if said != commit:
        raise builder.refused(
            f"the wheel was built, by its own account, from {said or 'no commit'}, and not from {commit}"
        )
    return str(version)
