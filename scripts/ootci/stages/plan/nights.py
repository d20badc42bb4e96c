"""The nightly that is tested: the newest usable one, or a given date or version."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from packaging.tags import Tag
from packaging.version import Version

from ootci.adapters import remote_wheel, torch_index
from ootci.adapters.download import DownloadProblem
from ootci.adapters.torch_index import IndexProblem, NothingFits, TorchWheel
from ootci.errors import BadOption, IndexUnreachable, TorchMissing
from ootci.model.device import Torch
from ootci.model.torch_build import Channel, TorchRequest, full_commit

from .releases import OPTION, SHOWN, WantedBuild, no_torch, release_of_device_file, request_of

NIGHTS_BACK = 7
"""How many days older than the newest nightly a replacement may be."""
STALE_DAYS = 3
"""Days after which the newest nightly of an index counts as a fallback."""


def newest_night(settings: Torch, build: WantedBuild, today: date | None) -> TorchRequest:
    """The newest usable nightly, or a release unless the device file rules that out."""
    wanted, problems = Channel.NIGHTLY.value, list[str]()
    try:
        nights = torch_index.nights(torch_index.nightly_index(build.variant), build.tags)
        newest = nights[0].night or date.min
        if today is not None and today - newest > timedelta(days=STALE_DAYS):
            problems.append(f"the newest nightly of the index is of {newest}, {(today - newest).days} days ago")
        for wheel in nights:
            if wheel.night is None or newest - wheel.night > timedelta(days=NIGHTS_BACK):
                break
            if problems and settings.fallback == "none":
                break
            commit, problem = _looked_into(wheel, build)
            if problem is None:
                reason = "; ".join(problems) or None
                found = request_of(wheel, wanted, Channel.NIGHTLY, Channel.NIGHTLY, reason)
                return found.model_copy(update={"commit": commit})
            problems.append(problem)
    except IndexProblem as problem:
        problems.append(str(problem))
    why = "; ".join(problems)
    if settings.fallback == "none":
        return no_torch(wanted, Channel.NIGHTLY, Channel.NIGHTLY, f"nightly wanted, and no fallback is allowed: {why}")
    return release_of_device_file(wanted, Channel.NIGHTLY, settings.release, build, why)


def night_asked_for(wanted: str, night: date, build: WantedBuild, today: date | None) -> TorchRequest:
    """The nightly of that date, and never another one.

    Raises:
        BadOption: the date is in the future.
        TorchMissing: the index has no such nightly, or withdrew it.
        IndexUnreachable: the index does not answer, or does not have the file that it lists.

    """
    if today is not None and night > today:
        raise BadOption(f"{night} is in the future", where=OPTION, fix=f"give {wanted[:8]}{today} or an earlier date")
    return _asked_for(wanted, lambda wheel: wheel.night == night, night, build)


def version_asked_for(wanted: str, build: WantedBuild) -> TorchRequest:
    """The nightly of that version, whose local part may be left out; raises as :func:`night_asked_for`."""
    version = Version(wanted)
    return _asked_for(
        wanted, lambda wheel: torch_index.is_version(wheel.version, version), torch_index.night_of(version), build
    )


def _asked_for(
    wanted: str, is_it: Callable[[TorchWheel], bool], night: date | None, build: WantedBuild
) -> TorchRequest:
    index = torch_index.nightly_index(build.variant)
    where = f"{OPTION}, {index}"
    try:
        listed = torch_index.listed(index, build.tags)
    except NothingFits as problem:
        fix = "name a Python for which there are wheels with `python` in the device file"
        raise TorchMissing(str(problem), where=where, fix=fix) from None
    except IndexProblem as problem:
        raise IndexUnreachable(
            f"torch {wanted} cannot be looked for: {problem}",
            where=where,
            fix="try again later, name a mirror with OOTCI_NIGHTLY_INDEX, or give the path of a wheel",
        ) from problem
    instead = f"give another nightly{_nearest(listed, night)}, or `nightly` for the newest that can be used"
    # Of several files of one night, prefer one that is not withdrawn, then the higher version.
    found = max(filter(is_it, listed), key=lambda wheel: (wheel.withdrawn is None, wheel.version), default=None)
    if found is None:
        raise TorchMissing(f"the index has no torch {wanted} for {build}", where=where, fix=instead)
    if found.withdrawn is not None:
        raise TorchMissing(_withdrawn(found), where=where, fix=instead)
    commit, defect = _looked_into(found, build)
    if defect is not None:
        raise IndexUnreachable(defect, where=where, fix=instead)
    request = request_of(found, wanted, Channel.NIGHTLY, Channel.NIGHTLY)
    return request.model_copy(update={"commit": commit})


def night_before(nightly: TorchRequest, tags: frozenset[Tag]) -> TorchRequest | None:
    """The nightly before another one on its index, in the same build; None where the index has none.

    Raises:
        IndexUnreachable: the index does not answer.

    """
    version, index = Version(nightly.version or ""), nightly.index_url or ""
    try:
        listed = torch_index.nightlies(index, tags)
    except IndexProblem as problem:
        raise IndexUnreachable(
            f"the nightly before {version} cannot be looked for: {problem}", where=index, fix="try again later"
        ) from problem
    older = [wheel for wheel in listed if wheel.version < version and wheel.version.local == version.local]
    return request_of(older[-1], str(older[-1].version), Channel.NIGHTLY, Channel.NIGHTLY) if older else None


def _nearest(listed: list[TorchWheel], night: date | None) -> str:
    nights = {wheel.night for wheel in listed if wheel.night is not None and wheel.withdrawn is None} - {night}
    wanted = night or date.max
    near = sorted(sorted(nights, key=lambda found: abs(found - wanted))[:SHOWN])
    return f" (the nearest are {', '.join(map(str, near))})" if near else ""


def _looked_into(wheel: TorchWheel, build: WantedBuild) -> tuple[str | None, str | None]:
    """The commit that a wheel was built from, if it is known, and why the wheel cannot be used."""
    if wheel.withdrawn is not None:
        return None, _withdrawn(wheel)
    try:
        contents = remote_wheel.remote_contents(wheel.url)
        if contents is None:
            return None, None
        return full_commit(contents.commit), build.metadata_problem(wheel.name, contents.metadata)
    except DownloadProblem as problem:
        return None, f"the file of {wheel.night} cannot be used: {problem}"


def _withdrawn(wheel: TorchWheel) -> str:
    return f"the file of {wheel.night} was withdrawn" + (f" ({wheel.withdrawn[:200]})" if wheel.withdrawn else "")
