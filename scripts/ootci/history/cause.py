"""The likely cause of a failure: which devices share it, compared with what changed on each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ootci.model.cluster import Cause, Mark, Streak


@dataclass(frozen=True)
class Source:
    """A device of the night, and where its plugin comes from.

    Attributes:
        package: distribution of its plugin; None where that is not known.
        source: repository, folder or package that the plugin comes from; None where that is not known.
        display_name: name of the device in sentences; empty where the device is no longer registered.

    """

    device: str
    is_reference: bool = False
    package: str | None = None
    source: str | None = None
    display_name: str = ""

    @property
    def identities(self) -> frozenset[str]:
        """The identity of plugins. Two devices that share any of these have one plugin, and count as one witness."""
        # Two devices may be built from two branches of one repository.
        repository = re.sub(r"(?: at |\.git@).*", "", self.source or "").removesuffix(".git").rstrip("/").lower()
        package = re.sub(r"[-_.]+", "-", self.package or "").lower()
        found = {f"package {package}" if package else "", f"source {repository}" if repository else ""} - {""}
        return frozenset(found or {f"device {self.device}"})


@dataclass(frozen=True)
class Began:
    """The start of an unexpected failure on one device: the streaks of its tests that had passed before."""

    source: Source
    streaks: tuple[Streak, ...]

    @property
    def plugin_changed(self) -> bool | None:
        """Whether its plugin changed then."""
        return any_of(streak.plugin_changed for streak in self.streaks)

    @property
    def torch_changed(self) -> bool | None:
        """Whether PyTorch changed then."""
        return any_of(streak.torch_changed for streak in self.streaks)

    @property
    def first_failed(self) -> Mark:
        """The first night on which it failed."""
        return min((streak.first_failed for streak in self.streaks), key=lambda mark: mark.date)

    @property
    def torch(self) -> str | None:
        """The PyTorch that it began with."""
        return self.first_failed.torch_commit or self.first_failed.torch_version


@dataclass(frozen=True)
class Blamed:
    """A cause, and why."""

    cause: Cause
    reason: str
    began: tuple[Began, ...]


_PLUGIN = {
    True: "its plugin changed",
    False: "its plugin did not change",
    None: "whether its plugin changed is not known",
}
_TORCH = {True: "PyTorch changed", False: "PyTorch did not", None: "nobody knows whether PyTorch did"}
_ALONE: dict[tuple[bool | None, bool | None], Cause] = {
    (False, True): Cause.SUSPECTED_UPSTREAM,
    (True, False): Cause.PLUGIN,
}
"""The likely cause of one plugin's failure, by whether the plugin and PyTorch changed; else unclear."""


def blame(began: Sequence[Began], *, others: bool = False) -> Blamed:
    """The likely cause of a failure that began on these devices, at least one, in overlapping ranges of nights.

    With ``others``, the same test or stage fails on other devices, too, since an overlapping night.
    """
    # Where PyTorch stayed as it was, it did nothing.
    witnesses = [item for item in began if item.torch_changed is not False]
    together = max(_with_one_torch(witnesses), key=lambda group: (plugins(group), group[0].torch or ""), default=())
    if plugins(together) > 1:
        return Blamed(Cause.UPSTREAM, _together(together), together)
    if plugins(began) > 1:
        reason = f"{plugins(began)} independent plugins broke on the same nightly, but not with the same new PyTorch"
        return Blamed(Cause.UNKNOWN, reason, tuple(began))
    plugin, torch = any_of(item.plugin_changed for item in began), any_of(item.torch_changed for item in began)
    cause = _ALONE.get((plugin, torch), Cause.UNKNOWN)
    if any(item.source.is_reference for item in began) and cause is not Cause.PLUGIN:
        # The reference is never its own evidence.
        return Blamed(Cause.UNKNOWN, "only the reference device; PyTorch or the reference: unclear", tuple(began))
    who = "only this device" if len(began) == 1 else f"only the {len(began)} devices of one plugin"
    if others:
        who = "on other devices it fails with another error, or is known or flaky"
    return Blamed(cause, f"{who}: {_PLUGIN[plugin]}, {_TORCH[torch]}", tuple(began))


def _with_one_torch(began: Sequence[Began]) -> list[tuple[Began, ...]]:
    """The devices that may have broken with the same new PyTorch.

    A device that was silent on the first night began later, and with a later PyTorch: it may have broken with any.
    """
    first = min((item.first_failed.date for item in began), default=None)
    early = [item for item in began if item.first_failed.date == first]
    late = [item for item in began if item.first_failed.date != first]
    return [
        tuple(item for item in began if item in late or item.torch == torch)
        for torch in sorted({item.torch for item in early}, key=str)
    ]


def plugins(began: Iterable[Began]) -> int:
    """How many independent plugins the devices have."""
    found: list[frozenset[str]] = []
    for item in began:
        same = [other for other in found if other & item.source.identities]
        found = [other for other in found if other not in same]
        found.append(item.source.identities.union(*same))
    return len(found)


def any_of(answers: Iterable[bool | None]) -> bool | None:
    """True where one is; else None where one is not known."""
    found = set(answers)
    return True if True in found else None if None in found else False


def _together(began: Sequence[Began]) -> str:
    count = plugins(began)
    changed, unknown = (
        ", ".join(
            sorted(item.source.display_name or item.source.device for item in began if item.plugin_changed is answer)
        )
        for answer in (True, None)
    )
    plugin = f"; the plugin changed too on {changed}" if changed else ""
    plugin += f"; a change of the plugin is not known on {unknown}" if unknown else ""
    reference = ", the reference among them" if any(item.source.is_reference for item in began) else ""
    none = ", and none of them changed"
    return f"{count} independent plugins broke the same way{reference}: probably upstream{plugin or none}"
