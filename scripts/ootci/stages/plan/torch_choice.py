"""Resolving the torch that is tested: from an index or a file, or its replacement."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from ootci.adapters.download import DownloadProblem, checksum, file_name
from ootci.adapters.remote_wheel import local_contents
from ootci.errors import BadOption, OotciError, TorchWheelMissing
from ootci.model.device import Torch
from ootci.model.plan import Plan, PlannedRun, Proposal
from ootci.model.record import read
from ootci.model.torch_build import Channel, OtherTorch, TorchRequest, TorchSource, version_of

from .nights import newest_night, night_asked_for, version_asked_for
from .releases import OPTION, WantedBuild, no_torch, previous_release, release_asked_for, release_of_device_file

_WORDS = frozenset((Channel.NIGHTLY.value, *(other.value for other in OtherTorch)))
_ADDRESS = ("https://", "http://")
_NIGHT = f"{Channel.NIGHTLY.value}@"
_WHEEL = "give the path of a torch wheel, for example torch-2.13.0-cp311-cp311-linux_x86_64.whl"


def resolve(wanted: str | None, settings: Torch, today: date | None = None, python: str | None = None) -> TorchRequest:
    """The exact torch for a request.

    The newest nightly may be replaced by an earlier one or by a release, with a reason in the result. A given night or
    version is never replaced.

    Args:
        wanted: ``nightly``, ``nightly@2026-11-20``, ``release``, ``previous_release``, a version, or a path of a wheel;
            None takes the device's channel.
        settings: the device's torch settings: channel, variant, release and fallback.
        today: the day (UTC) from which a nightly's age is counted; None where its age does not matter.
        python: the device's Python, such as ``3.12``; None means the tool's own.

    Raises:
        BadOption: ``wanted`` is none of these.
        TorchWheelMissing: the wheel does not exist, is not a torch wheel, or is for another Python.
        TorchMissing: there is no such night or version.
        IndexUnreachable: it is not known whether there is.

    """
    if wanted is not None:
        require_torch(wanted)
    build = WantedBuild(settings.variant, python)
    if wanted is None and settings.channel is Channel.RELEASE:
        return release_of_device_file(
            settings.release or Channel.RELEASE.value, Channel.RELEASE, settings.release, build
        )
    if wanted is None or wanted == Channel.NIGHTLY.value:
        return newest_night(settings, build, today)
    if wanted == OtherTorch.RELEASE.value:
        return release_of_device_file(wanted, Channel.RELEASE, None, build)
    if wanted == OtherTorch.PREVIOUS_RELEASE.value:
        return previous_release(build)
    if _is_wheel(wanted):
        return _from_wheel(Path(wanted), build)
    if wanted.startswith(_NIGHT):
        return night_asked_for(wanted, _date(wanted.removeprefix(_NIGHT)), build, today)
    version = version_of(wanted)
    return (version_asked_for if version and version.is_devrelease else release_asked_for)(wanted, build)


def require_torch(wanted: str, option: str = OPTION) -> None:
    """Refuse what names no torch; no index is asked.

    Raises:
        BadOption: it is no channel, no night, no version and no path of a wheel.
        TorchWheelMissing: the wheel does not exist, or its name is not that of a torch wheel.

    """
    if _is_wheel(wanted):
        _named(Path(wanted))
    elif wanted.startswith(_NIGHT):
        _date(wanted.removeprefix(_NIGHT))
    elif wanted not in _WORDS and not (version_of(wanted) and re.fullmatch(r"[0-9][0-9A-Za-z.+]*", wanted)):
        raise BadOption(
            f"`{wanted}` is not a torch",
            where=option,
            fix="give nightly, nightly@2026-11-20, release, a version such as 2.13.0, or the path of a .whl",
        )


def require_wheel(wanted: str) -> None:
    """Refuse what cannot be the torch of a pull request or a push; nobody is asked.

    Raises:
        BadOption: it is no path and no address of a wheel; any other torch would not test the proposal.
        TorchWheelMissing: the wheel does not exist, or its name is not that of a torch wheel.

    """
    if wanted.startswith(_ADDRESS):
        _version_at(wanted.partition("#")[0])
    elif not wanted.endswith(".whl"):
        raise BadOption(
            f"`{wanted}` is not the torch of a pull request or a push",
            where="--torch",
            fix="give the path or the address of a wheel that was built of it",
        )
    else:
        _named(Path(wanted))


def _is_wheel(wanted: str) -> bool:
    return not wanted.startswith(_ADDRESS) and (wanted.endswith(".whl") or "/" in wanted)


def _named(path: Path) -> tuple[Version, frozenset[Tag]]:
    """Version and tags of a torch wheel, from its file's name."""
    if not path.is_file():
        raise TorchWheelMissing("there is no such wheel", where=str(path), fix=_WHEEL)
    try:
        project, version, _, tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise TorchWheelMissing("the file's name is not that of a wheel", where=str(path), fix=_WHEEL) from error
    if project != "torch":
        raise TorchWheelMissing(f"the wheel holds {project}, not torch", where=str(path), fix=_WHEEL)
    return version, tags


def resolve_proposed(wheel: str | None, what: Proposal) -> TorchRequest:
    """The torch of a pull request or a push: a wheel that was built from it, or none.

    Raises:
        BadOption, TorchWheelMissing: see `require_wheel`; also where the wheel is not a torch wheel.

    """
    if wheel is None:
        why = f"there is no wheel of {what}: none was built or given"
        return no_torch(str(what), Channel.SOURCE, Channel.SOURCE, why)
    require_wheel(wheel)
    if wheel.startswith(_ADDRESS):
        return _from_address(wheel, what)
    return _from_wheel(Path(wheel)).model_copy(update={"wanted": str(what)})


def _from_wheel(path: Path, build: WantedBuild | None = None) -> TorchRequest:
    where = str(path)
    version, tags = _named(path)
    if build is not None and not tags & build.tags:
        raise TorchWheelMissing(
            f"the wheel is for {', '.join(sorted(map(str, tags)))}, not for {build}",
            where=where,
            fix="give a wheel for that Python, or name the wheel's Python with `python` in the device file",
        )
    try:
        local_contents(path)
    except DownloadProblem as problem:
        raise TorchWheelMissing(str(problem), where=where, fix="build or download the wheel again") from problem
    sha256 = checksum(path)
    source = _provenance(path, sha256)
    channel = Channel.SOURCE if source else Channel.WHEEL
    return TorchRequest(
        wanted=str(source) if source else path.name,
        wanted_channel=channel,
        channel=channel,
        version=str(version),
        wheel=str(path.resolve()),
        sha256=sha256,
        commit=source.commit if source else None,
        fallback_reason=source.deviation if source else None,
        origin=source.origin if source else None,
    )


def _provenance(wheel: Path, sha256: str) -> TorchSource | None:
    """The record of a wheel that was built here; None for others."""
    try:
        found = read(TorchSource, wheel.with_name(TorchSource.FILE))
    except OotciError:
        return None
    return found if (found.wheel, found.sha256) == (wheel.name, sha256) else None


def with_built(plan: Plan, wheel: Path | None, reason: str | None, unfit: Mapping[str, str] = {}) -> Plan:
    """A plan of something that is proposed, with the wheel that was built of it for every device, or why there is none.

    Args:
        reason: why there is no wheel.
        unfit: by device, why it cannot be tested on the wheel.

    Raises:
        TorchWheelMissing: the wheel does not exist or is not a torch wheel.

    """
    built = _from_wheel(wheel) if wheel is not None else None

    def entered(run: PlannedRun) -> TorchRequest:
        if built is None or run.device in unfit:
            return run.torch.model_copy(update={"unavailable_reason": unfit.get(run.device, reason)})
        return built.model_copy(update={"wanted": run.torch.wanted})

    runs = tuple(run.model_copy(update={"torch": entered(run)}) for run in plan.runs)
    return plan.model_copy(update={"runs": runs})


def with_nightly(plan: Plan) -> Plan:
    """A plan with the newest nightly for predictions, where no device runs on one."""
    if any(run.torch.channel is Channel.NIGHTLY for run in plan.runs):
        return plan
    return plan.model_copy(update={"nightly": resolve(Channel.NIGHTLY.value, Torch(fallback="none"))})


def _from_address(address: str, what: Proposal) -> TorchRequest:
    url, _, fragment = address.partition("#")
    return TorchRequest(
        wanted=str(what),
        wanted_channel=Channel.WHEEL,
        channel=Channel.WHEEL,
        version=_version_at(url),
        url=url,
        sha256=fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None,
    )


def _version_at(url: str) -> str:
    with contextlib.suppress(InvalidWheelFilename, ValueError):
        project, version, _, _ = parse_wheel_filename(file_name(url))
        if project == "torch":
            return str(version)
    raise TorchWheelMissing(
        "the address is not that of a torch wheel", where=url, fix="give one that ends in a torch wheel's file name"
    )


def _date(text: str) -> date:
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise BadOption(f"`{text}` is not a date", where=OPTION, fix="write it as nightly@2026-11-20")
