"""Which nightlies a bisection searches: those that the package index has, from the good end to the bad end."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from ootci.adapters import torch_index
from ootci.adapters.torch_index import IndexProblem
from ootci.errors import BadOption, IndexUnreachable, NightlyMissing
from ootci.model.device import Device


@dataclass(frozen=True)
class NightlyIndex:
    """The nightlies of a package index, oldest first."""

    address: str
    versions: tuple[Version, ...]

    @classmethod
    def of(cls, device: Device) -> NightlyIndex:
        """The index of a device's torch, as it is now.

        Raises:
            IndexUnreachable: it cannot be reached, or has no nightly that fits.

        """
        address = torch_index.nightly_index(device.torch.variant)
        try:
            wheels = torch_index.nightlies(address, torch_index.tags_of(device.python))
        except IndexProblem as problem:
            raise IndexUnreachable(
                f"the nightlies cannot be listed: {problem}",
                where=address,
                fix="run it again when the index answers; OOTCI_NIGHTLY_INDEX names a mirror",
            ) from problem
        return cls(address, tuple(wheel.version for wheel in wheels))

    def find(self, text: str, option: str) -> Version:
        """The nightly of that version, with or without its local part, or of that date, such as 20261121.

        Args:
            option: the option that names another.

        Raises:
            NightlyMissing: the index has no such nightly; names the nearest.

        """
        is_it, is_older = _comparisons(text)
        for version in self.versions:
            if is_it(version):
                return version
        older = [version for version in self.versions if is_older(version)]
        newer = self.versions[len(older) :]
        near = ", ".join(str(version) for version in (*older[-2:], *newer[:2]))
        raise NightlyMissing(
            f"the index has no nightly `{text}`",
            where=self.address,
            fix=f"name one that it has with {option}; the nearest are {near}",
        )

    def between(self, good: Version, bad: Version) -> tuple[str, ...]:
        """Versions from the good nightly to the bad one, both included, oldest first.

        Raises:
            NightlyMissing: the good one is not older.

        """
        if good >= bad:
            raise NightlyMissing(
                f"the good nightly {good} is not older than the bad one {bad}",
                where=self.address,
                fix="give a nightly on which the test passed to --good, and a later one on which it failed to --bad",
            )
        # An index may hold a version in several builds, of which the device tests one.
        builds = (good.local, bad.local)
        return tuple(str(item) for item in self.versions if good <= item <= bad and item.local in builds)


def require_nightly(text: str, option: str) -> None:
    """Refuse what names no nightly; no index is asked.

    Raises:
        BadOption: it is neither a version nor a date.

    """
    with contextlib.suppress(InvalidVersion):
        Version(text)
        return
    fix = "give a version such as 2.15.0.dev20261121, or a date such as 20261121"
    raise BadOption(f"`{text}` is no nightly", where=option, fix=fix)


def _comparisons(text: str) -> tuple[Callable[[Version], bool], Callable[[Version], bool]]:
    """Whether a version is the one that the text means, and whether it is older."""
    if re.fullmatch(r"\d{8}", text):
        date = int(text)
        return (lambda version: version.dev == date), (lambda version: (version.dev or 0) < date)
    try:
        wanted = Version(text)
    except InvalidVersion:
        return (lambda _: False), (lambda _: True)
    return (lambda version: torch_index.is_version(version, wanted)), (lambda version: version < wanted)
