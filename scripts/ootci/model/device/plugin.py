"""Keys of a device file about software: the plugin, what is public of it, torch, and how the plugin is built."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator

from ootci.model.record import Record
from ootci.model.torch_build import Channel, OtherTorch

from .running import BuildRunner
from .values import GitAddress, RelativePath, Requirement, SourcePath, Text, Url, Variable


class GitSource(Record):
    """A git repository that holds the plugin."""

    url: GitAddress
    """What `git clone` takes: an address, or a path."""
    ref: Text = "HEAD"
    """Branch, tag or commit to build."""
    subdirectory: RelativePath | None = None
    """Folder of the Python project inside the repository, where it is not the top."""
    submodules: bool = False
    """Whether to fetch submodules too."""


class Plugin(Record):
    """Where the plugin comes from: exactly one of `path`, `git` and `package`."""

    distribution: Requirement
    """Name of the plugin's distribution, as `pip show` knows it."""
    path: SourcePath | None = None
    """Folder of the plugin's Python project, relative to the device file; `..` leads up within the checkout."""
    git: GitSource | None = None
    """Git repository of the plugin; built from source."""
    package: Requirement | None = None
    """Requirement that pip installs ready-made, such as `torch-vendor==2.13.0`."""
    index_url: Url | None = None
    """Additional package index for `package` and `requirements`."""
    requirements: tuple[Requirement, ...] = ()
    """Further packages that the device's environment needs at run time."""

    @model_validator(mode="after")
    def _one_source(self) -> Plugin:
        named = [key for key in ("path", "git", "package") if getattr(self, key) is not None]
        if len(named) != 1:
            found = " and ".join(f"`{key}`" for key in named) or "none of them"
            raise ValueError(f"exactly one of `path`, `git` and `package` locates the plugin; found {found}")
        return self


class Torch(Record):
    """Which torch the device is tested on."""

    channel: Literal[Channel.NIGHTLY, Channel.RELEASE] = Channel.NIGHTLY
    """`nightly` for the newest nightly build, `release` for a release."""
    variant: Annotated[str, StringConstraints(pattern=r"^[a-z0-9.]+$")] = "cpu"
    """Build variant of PyTorch's package index: `cpu`, `cu130`, `rocm7.1` and so on."""
    release: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")] | None = None
    """Release for the channel `release` and for the fallback; the newest release of the build `variant` when absent."""
    fallback: Literal["release", "none"] = "release"
    """What to do when the nightly cannot be downloaded: test the release, visibly, or report INFRA."""
    also: tuple[OtherTorch, ...] = ()
    """Torches to test besides on Sundays (UTC): `release`, the newest one, and `previous_release`, the newest of the
    minor version before. The dashboard's page Support has the results; they change no verdict."""

    @field_validator("also")
    @classmethod
    def _other_ones(cls, also: tuple[OtherTorch, ...], info: ValidationInfo) -> tuple[OtherTorch, ...]:
        if len(set(also)) != len(also):
            raise ValueError("a torch is named twice")
        if OtherTorch.RELEASE in also and info.data.get("channel") is Channel.RELEASE and not info.data.get("release"):
            raise ValueError(
                "the newest release is tested already, by `channel: release`; name `previous_release` only"
            )
        return also


class BuildSettings(Record):
    """How the plugin is built from source. With `plugin.package` only `compat.compile` uses it."""

    requirements: tuple[Requirement, ...] = ()
    """Packages that building needs; installed before the build, which is not isolated from torch."""
    environment: dict[Variable, str] = Field(default_factory=dict)
    """Environment variables of the build."""
    jobs: Annotated[int, Field(ge=1, le=512)] | None = None
    """Parallel compile jobs (`MAX_JOBS`, `CMAKE_BUILD_PARALLEL_LEVEL`); the number of processors when absent."""
    timeout_minutes: Annotated[int, Field(ge=1, le=720)] = 60
    """Time-out of fetching and of building, each."""
    runner: BuildRunner | None = None
    """Where GitHub Actions builds it; on the device's own machine when absent."""


class CompatSource(Record):
    """What is public of the plugin, to predict breaks without hardware: a wheel, a source, or that there is neither."""

    package: Requirement | None = None
    """Requirement whose newest public wheel is read, such as `torch-vendor`; it is never installed."""
    index_url: Url | None = None
    """Additional package index for it."""
    nothing_public: Text | None = None
    """In place of `package`: what was looked for, where there is no public wheel."""
    compile: bool = False
    """Whether the plugin's source compiles without the vendor's SDK, with the settings of `build`. Nightlies compile it
    while the device is paused, and run no test."""
    git: GitSource | None = None
    """Repository to compile, where `plugin` names a package; `plugin.git` or `plugin.path` when absent."""

    @model_validator(mode="after")
    def _one(self) -> CompatSource:
        if self.package is not None and self.nothing_public is not None:
            raise ValueError("either `package` names a public wheel, or `nothing_public` lists what was looked for")
        if self.package is None and self.nothing_public is None and not self.compile:
            raise ValueError("none of `package`, `nothing_public` and `compile` is there")
        if self.git is not None and not self.compile:
            raise ValueError("`git` is only compiled, and `compile` is not true")
        return self
