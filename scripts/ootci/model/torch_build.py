"""Which torch was wanted, which one was got, and why they differ; and torch.json, about one that was built here."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Annotated, ClassVar

from packaging.version import InvalidVersion, Version
from pydantic import Field, StringConstraints

from ootci.model.delivery import Commit
from ootci.model.record import Record, StageFile, Time


class Channel(str, Enum):
    """Where torch comes from."""

    NIGHTLY = "nightly"
    RELEASE = "release"
    SOURCE = "source"
    WHEEL = "wheel"
    INSTALLED = "installed"
    """An environment that was given, with what is installed in it."""


class OtherTorch(str, Enum):
    """A torch that a device file has tested besides its own; ``ootci plan --torch`` takes the same words."""

    RELEASE = "release"
    """The newest release."""
    PREVIOUS_RELEASE = "previous_release"
    """The newest patch of the minor version before it."""


class TorchRequest(Record):
    """The torch of one run, resolved once by the plan so that every device of a nightly tests the same one."""

    wanted: str
    """What was requested, as it was written: ``nightly``, ``nightly@`` and a date, ``release`` for the newest one,
    ``previous_release`` for the one before, a version, a wheel's file name, which pull request or commit of PyTorch, or
    ``installed``."""
    wanted_channel: Channel
    """The channel that was requested."""
    channel: Channel
    """The channel that was got; it differs from `wanted_channel` only together with `fallback_reason`, which also has
    why an earlier nightly was taken."""
    version: str | None = None
    """The exact version to install, for example ``2.15.0.dev20261120+cpu``; null when none can be downloaded."""
    index_url: str | None = None
    """The package index that it was found on; null means the one that pip is configured with."""
    url: str | None = None
    """Address of the very wheel on that index."""
    wheel: str | None = None
    """Path of the wheel file, for the channels ``wheel`` and ``source`` and for a release that pip has in a folder; its
    file name alone once the run is collected. On another machine a file of that name and checksum in the work folder's
    ``torch/`` is taken."""
    sha256: str | None = None
    """Checksum of the wheel, where the index or the file gave one."""
    commit: Annotated[
        str | None, StringConstraints(pattern=r"^[0-9a-f]{40}$"), Field(exclude_if=lambda commit: commit is None)
    ] = None
    """Commit of PyTorch that the wheel names as its source, where it could be read in advance; a run whose
    installed torch names another is INFRA."""
    made_of: Annotated[Commit | None, Field(exclude_if=lambda commit: commit is None)] = None
    """The commit of PyTorch's branch `main` that `commit` was made of: PyTorch builds nightlies from a branch of their
    own, which has all changes since the nightly before in one commit. Absent where it is not known."""
    fallback_reason: str | None = None
    """Why the requested torch could not be downloaded; null when it was."""
    unavailable_reason: str | None = None
    """Why no torch can be downloaded at all, so that the run is INFRA; null when one can."""
    origin: Annotated[str | None, Field(exclude_if=lambda origin: origin is None)] = None
    """The builder of the wheel of a pull request or push: PyTorch's CI, with the page of its workflow run, or this
    system, and why. Absent for any other torch."""

    def told(self, build: TorchBuild | None) -> TorchBuild | None:
        """A build, with what it was made of where it is of this request's commit."""
        if build is None or self.made_of is None or build.git_version != self.commit:
            return build
        return build.model_copy(update={"made_of": self.made_of})

    @property
    def deviation(self) -> str | None:
        """The torch tested instead of the one requested, and why; None when they are the same."""
        if self.unavailable_reason:
            return self.unavailable_reason
        if self.fallback_reason is None:
            return None
        return f"{self.channel.value} {self.version} instead of {self.wanted}: {self.fallback_reason}"


class TorchBuild(Record):
    """The torch that is really installed in the device's environment, as it reports itself."""

    version: str
    """``torch.__version__``."""
    git_version: str | None = None
    """``torch.version.git_version``, the commit of PyTorch that it was built from."""
    made_of: Annotated[Commit | None, Field(exclude_if=lambda commit: commit is None)] = None
    """Of a nightly, the commit of PyTorch's branch `main` that it was made of; absent where it is not known."""

    @property
    def source(self) -> str | None:
        """The commit by which it is compared with other builds, as it is told."""
        return self.made_of or self.git_version


@lru_cache(maxsize=1024)
def version_of(text: str | None) -> Version | None:
    """The version in a text; None where there is none."""
    try:
        return Version(text) if text is not None else None
    except InvalidVersion:
        return None


def minor_version(text: str | None) -> tuple[int, int] | None:
    """Major and minor version of a release; None for any other version."""
    version = version_of(text)
    return (version.major, version.minor) if version is not None and not version.is_prerelease else None


def release_of(text: str | None) -> tuple[int, ...] | None:
    """Major and minor version of the release that a version is of or leads to; None where nobody can read it."""
    version = version_of(text)
    return version.release[:2] if version is not None else None


def is_release(text: str) -> bool:
    """Whether a version is that of a release; false for a version that cannot be parsed."""
    version = version_of(text)
    return version is not None and not version.is_prerelease


def commits_between(before: TorchBuild | None, after: TorchBuild | None) -> str | None:
    """The page that lists PyTorch's commits from one build to another; null where a build does not say its commit.

    Source: GitHub's documentation, "Comparing commits". The commit comes from a device run, so anything but a full
    hash is no commit.
    """
    ends = [full_commit(build.source if build else None) for build in (before, after)]
    if None in ends or ends[0] == ends[1]:
        return None
    return f"https://github.com/pytorch/pytorch/compare/{ends[0]}...{ends[1]}"


def short_range(before: TorchBuild | None, after: TorchBuild | None) -> str | None:
    """The same commits as ``abc1234...def5678``; None where a build does not say its commit."""
    if commits_between(before, after) is None:
        return None
    return "...".join(f"{build.source or '':.7}" for build in (before, after) if build)


_HASH = re.compile("[0-9a-f]{40}")


def full_commit(said: str | None) -> str | None:
    """The text if it is the whole hash of a commit and nothing else, or None."""
    return said if said is not None and _HASH.fullmatch(said) else None


NONE_THERE = "PyTorch's CI has no wheel"
"""The beginning of every reason for building torch from source, or for having none, after a look in PyTorch's CI."""


class TorchSource(StageFile):
    """The origin of a wheel of torch that this system or PyTorch's CI built from source. It is beside the wheel."""

    FILE: ClassVar[str] = "torch.json"
    WRITTEN_BY: ClassVar[str] = "ootci torch build"

    remote: str
    """The repository that it was built from."""
    ref: str
    """The branch, tag or commit that was requested; ``refs/pull/4711/merge`` for a pull request as it would be
    merged."""
    pull_request: Annotated[int | None, Field(ge=1)] = None
    """Number of the pull request; null for any other ref."""
    commit: Commit
    """The commit that the ref pointed to; ``torch.version.git_version`` of the wheel."""
    version: str
    """The wheel's version."""
    wheel: str
    """The wheel's file name."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """Its checksum."""
    python_version: str
    """The Python that it was built with, and is for."""
    compiler: str | None = None
    """First line of the C++ compiler's version, where there is a compiler."""
    compiler_cache: str | None = None
    """First line of the compiler cache's version; null when it was built without one."""
    ci_run: Annotated[str | None, Field(exclude_if=lambda page: page is None)] = None
    """Page of the workflow run of PyTorch's CI that built it; absent when it was built here."""
    not_from_ci: Annotated[str | None, Field(exclude_if=lambda reason: reason is None)] = None
    """Why PyTorch's CI had none, so that it was built here; absent when nobody looked there."""
    python_files_of: Annotated[Commit | None, Field(exclude_if=lambda commit: commit is None)] = None
    """The requested commit, where PyTorch's CI put its Python files into the wheel of the earlier `commit`, as
    it does where nothing else has changed; absent where all of it is of `commit`."""
    started_at: Time
    """When the build began, or the download."""
    duration: float
    """Seconds from then to the wheel."""

    @property
    def origin(self) -> str | None:
        """The builder, where PyTorch's CI was searched first; None elsewhere."""
        if self.ci_run:
            return f"built by PyTorch's CI, {self.ci_run}"
        return f"built from source: {self.not_from_ci}" if self.not_from_ci else None

    @property
    def deviation(self) -> str | None:
        """How it differs from a build of the requested commit; None where it does not."""
        if self.python_files_of is None:
            return None
        return (
            f"PyTorch's CI put the Python files of {self.python_files_of[:10]} into its build of {self.commit[:10]}, "
            "because nothing else had changed"
        )

    def __str__(self) -> str:
        what = f"pull request {self.pull_request}" if self.pull_request else self.ref
        return f"{what} of {self.remote} at {self.commit[:10]}"
