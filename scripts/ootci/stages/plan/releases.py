"""The release of torch that is tested: a given one, or the newest whose wheel is the wanted build.

PyTorch's own index is searched first, then every index of pip on this machine. A wheel for CUDA or ROCm never replaces
one for the CPU: the requirements of a wheel are read before it is downloaded.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from packaging.tags import Tag
from packaging.version import Version

from ootci.adapters import remote_wheel, torch_index
from ootci.adapters.download import DownloadProblem, checksum
from ootci.adapters.pip_sources import pip_pages
from ootci.adapters.remote_wheel import accelerator_packages
from ootci.adapters.torch_index import CPU, IndexProblem, NothingFits, TorchWheel, tags_of
from ootci.errors import IndexUnreachable, TorchMissing
from ootci.model.torch_build import Channel, OtherTorch, TorchRequest

_LABEL = re.compile(r"(cpu|xpu|cu[0-9]+|rocm[0-9.]+)(?:\.|$)")
"""How PyTorch labels its builds in the local part of a version, such as 2.13.0+cpu."""


@dataclass(frozen=True)
class WantedBuild:
    """A build of torch for one Python on this machine.

    Attributes:
        variant: as PyTorch's index names it, such as ``cpu`` or ``cu130``.
        python: such as ``3.12``; None means the tool's own.

    """

    variant: str
    python: str | None = None

    def __str__(self) -> str:
        return f"Python {self.python or '.'.join(platform.python_version_tuple()[:2])} on {platform.machine()}"

    @property
    def tags(self) -> frozenset[Tag]:
        """The tags of wheels that fit."""
        return tags_of(self.python)

    def label_problem(self, wheel: TorchWheel, *, own_index: bool) -> str | None:
        """Why a wheel is another build, by its version; None where it may be the wanted one.

        On the index of this variant, ``own_index``, a label may be missing.
        """
        found = _LABEL.match(wheel.version.local or "")
        if found is not None:
            return None if found[1] == self.variant else f"{wheel.name} is a build for {found[1]}"
        return None if own_index or self.variant == CPU else f"{wheel.name} is not labelled {self.variant}"

    def metadata_problem(self, name: str, metadata: bytes) -> str | None:
        """Why a wheel of that name is another build, by what it requires; None where it may be the wanted one.

        Raises:
            DownloadProblem: the metadata cannot be understood.

        """
        found = accelerator_packages(metadata, self.python) if self.variant == CPU else ()
        return f"{name} requires {found[0]}" if found else None


PINNED_RELEASE = "2.13.0"
"""The release that pip installs if no index can be read."""
MOST_LOOKED_INTO = 40
"""How many wheels are inspected; PyTorch publishes about six releases a year."""
SHOWN = 3
"""How many versions or wheels an error names."""
OPTION = "--torch (TORCH= with make)"


class ReleaseSearch:
    """Looks for one release, for the newest, or for the newest of an earlier minor version than ``before``.

    It collects the obstacles.

    Attributes:
        answered: whether any index answered with a list of torch wheels.
        listed: whether what is looked for is listed for this Python and machine.
        other_builds: wheels that are another build, each with the reason.
        unreadable: why each index that gives no list of wheels does not.
        broken: why each wheel that could not be looked into could not.

    """

    def __init__(self, build: WantedBuild, version: Version | None = None, before: Version | None = None) -> None:
        self._build = build
        self._version = version
        self._before = before
        self.answered = False
        self.listed = False
        self.other_builds: list[str] = []
        self.unreadable: list[str] = []
        self.broken: list[str] = []

    def find(self) -> TorchWheel | None:
        """The wheel; None where no index has one that is known to be the wanted build."""
        looked_into = islice(self._candidates(), MOST_LOOKED_INTO)
        return next((wheel for wheel, own_index in looked_into if self._is_the_build(wheel, own_index)), None)

    def _candidates(self) -> Iterator[tuple[TorchWheel, bool]]:
        """The wheels of the wanted version, newest first; those of PyTorch's own index, then all others."""
        own = partial(torch_index.listed, torch_index.release_index(self._build.variant))
        yield from ((wheel, True) for wheel in self._ordered([own]))
        others = (partial(torch_index.linked, page) for page in pip_pages("torch"))
        yield from ((wheel, False) for wheel in self._ordered(others))

    def _ordered(self, places: Iterable[Callable[[frozenset[Tag]], list[TorchWheel]]]) -> list[TorchWheel]:
        wheels: list[TorchWheel] = []
        for wheels_of in places:
            try:
                wheels += wheels_of(self._build.tags)
                self.answered = True
            except NothingFits:
                self.answered = True
            except IndexProblem as problem:
                self.unreadable.append(str(problem))
        wanted = [wheel for wheel in wheels if wheel.withdrawn is None and self._is_wanted(wheel.version)]
        self.listed = self.listed or bool(wanted)
        return sorted(wanted, key=lambda wheel: wheel.version, reverse=True)

    def _is_wanted(self, version: Version) -> bool:
        if self._version is None:
            is_older = self._before is None or version.release[:2] < self._before.release[:2]
            return not version.is_prerelease and is_older
        return torch_index.is_version(version, self._version)

    def _is_the_build(self, wheel: TorchWheel, own_index: bool) -> bool:
        try:
            other = self._build.label_problem(wheel, own_index=own_index) or self._requirement_problem(wheel)
        except DownloadProblem as problem:
            self.broken.append(str(problem))
            return False
        if other is not None:
            self.other_builds.append(other)
        return other is None

    def _requirement_problem(self, wheel: TorchWheel) -> str | None:
        if self._build.variant != CPU:
            return None
        if wheel.path is not None:
            metadata: bytes | None = remote_wheel.local_contents(wheel.path).metadata
        else:
            metadata = remote_wheel.remote_metadata(wheel.url, offered=wheel.metadata)
        if metadata is not None:
            return self._build.metadata_problem(wheel.name, metadata)
        # Without metadata only its label tells the build.
        return None if wheel.version.local else f"{wheel.name} has no label, and its server hands out no metadata"


def release_asked_for(wanted: str, build: WantedBuild) -> TorchRequest:
    """The release of that version, and never another one.

    Raises:
        TorchMissing: an index answers, and there is no such release, or not as the wanted build.
        IndexUnreachable: no index answers, or what lists the release is broken.

    """
    search = ReleaseSearch(build, Version(wanted))
    if (wheel := search.find()) is not None:
        return request_of(wheel, wanted, Channel.RELEASE, Channel.RELEASE)
    where = f"{OPTION}, {torch_index.release_index(build.variant)}"
    if not search.other_builds and (search.listed or not search.answered):
        raise IndexUnreachable(
            f"torch {wanted} cannot be looked for: {'; '.join(search.broken or search.unreadable)}",
            where=where,
            fix="try again later, name a mirror with OOTCI_RELEASE_INDEX, or give the path of a wheel",
        )
    newest = ReleaseSearch(build).find()
    known = f" (the newest is {newest.version})" if newest else ""
    if search.other_builds:
        what = f"torch {wanted} has no wheel for the build `{build.variant}`: {_some(search.other_builds)}"
    else:
        what = "; ".join((f"there is no torch {wanted} for {build}", *search.unreadable))
    raise TorchMissing(what, where=where, fix=f"give another version{known}, or the path of a wheel")


def release_of_device_file(
    wanted: str, wanted_channel: Channel, release: str | None, build: WantedBuild, why: str | None = None
) -> TorchRequest:
    """The release that a device file names or falls back to, and ``why``; the newest one when it names none."""
    search = ReleaseSearch(build, Version(release) if release else None)
    wheel = search.find()
    if wheel is not None:
        reasons = (*([why] if why else ()), *search.broken)
        return request_of(wheel, wanted, wanted_channel, Channel.RELEASE, "; ".join(reasons) or None)
    if release is None and search.answered:
        none = f"no release is known to be the build `{build.variant}` for {build}"
        missing = f"{none}: {_some([*search.broken, *search.other_builds, *search.unreadable])}"
        return no_torch(wanted, wanted_channel, Channel.RELEASE, f"{why}; {missing}" if why else missing)
    # The building machine may have its own index, so pip searches there.
    return TorchRequest(
        wanted=wanted,
        wanted_channel=wanted_channel,
        channel=Channel.RELEASE,
        version=release or PINNED_RELEASE,
        fallback_reason=why,
    )


def previous_release(build: WantedBuild) -> TorchRequest:
    """The newest release of the minor version before the newest one's; none where no index lists one."""
    wanted = OtherTorch.PREVIOUS_RELEASE.value
    newest = search = ReleaseSearch(build)
    wheel = newest.find()
    if wheel is not None:
        search = ReleaseSearch(build, before=wheel.version)
        if (previous := search.find()) is not None:
            return request_of(previous, wanted, Channel.RELEASE, Channel.RELEASE)
    why = _some([*search.broken, *search.other_builds, *search.unreadable]) or "the index lists none"
    missing = f"no release before the newest one of the build `{build.variant}` for {build}: {why}"
    return no_torch(wanted, Channel.RELEASE, Channel.RELEASE, missing)


def no_torch(wanted: str, wanted_channel: Channel, channel: Channel, why: str) -> TorchRequest:
    """The request where there is no torch, and ``why``."""
    return TorchRequest(wanted=wanted, wanted_channel=wanted_channel, channel=channel, unavailable_reason=why)


def request_of(
    found: TorchWheel, wanted: str, wanted_channel: Channel, channel: Channel, why: str | None = None
) -> TorchRequest:
    """The request for a wheel that was found; ``why`` is the reason for which it takes the place of another one."""
    here = found.path
    return TorchRequest(
        wanted=wanted,
        wanted_channel=wanted_channel,
        channel=channel,
        version=str(found.version),
        index_url=found.index_url,
        url=None if here else found.url,
        wheel=str(here) if here else None,
        sha256=checksum(here) if here else found.sha256,
        fallback_reason=why,
    )


def _some(items: list[str]) -> str:
    more = f"; and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return "; ".join(items[:SHOWN]) + more
