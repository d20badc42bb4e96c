"""Which very torch is tested: what was asked for, found on an index or in a file, or what is taken instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from ootci.adapters import remote_wheel, torch_index
from ootci.adapters.download import DownloadProblem, checksum
from ootci.adapters.torch_index import IndexProblem, TorchWheel
from ootci.errors import BadOption, OotciError, TorchWheelMissing
from ootci.model.commit import full_commit
from ootci.model.device import Torch
from ootci.model.plan import Plan, Proposal
from ootci.model.record import read
from ootci.model.torch_build import Channel, TorchRequest
from ootci.model.torch_source import TorchSource

PINNED_RELEASE = "2.13.0"
"""The release that is tested when nothing newer can be had, and that the reference plugin is developed against."""
NIGHTS_BACK = 7
"""How many days before the wanted one a nightly may be that is tested in its place."""
STALE_DAYS = 3
"""How many days old an index's newest nightly may be before it is no more what "the newest" was to mean."""
_REACH = timedelta(days=NIGHTS_BACK)


def resolve(wanted: str | None, settings: Torch, today: date | None = None) -> TorchRequest:
    """The very torch for what was asked for.

    Args:
        wanted: ``nightly``, ``nightly@2026-11-20``, a version, or a path of a wheel; None takes the device's channel.
        settings: the device's torch settings: channel, variant, release and fallback.
        today: the day (UTC) from which the newest nightly's age is counted; None where its age is nobody's matter.

    Raises:
        BadOption: ``wanted`` is none of these.
        TorchWheelMissing: the wheel does not exist or is not a torch wheel.

    """
    if wanted is not None and (wanted.endswith(".whl") or "/" in wanted):
        return _from_wheel(Path(wanted))
    release = settings.release or PINNED_RELEASE
    if wanted is None:
        wanted = Channel.NIGHTLY.value if settings.channel is Channel.NIGHTLY else release
    name, at, night = wanted.partition("@")
    if name == Channel.NIGHTLY.value:
        return _from_nights(wanted, _date(night) if at else None, settings, release, today)
    if not re.fullmatch(r"[0-9][0-9A-Za-z.+]*", wanted) or not _is_version(wanted):
        raise BadOption(
            f"`{wanted}` is not a torch",
            where="--torch (TORCH= with make)",
            fix=f"give nightly, nightly@2026-11-20, a version such as {PINNED_RELEASE}, or the path of a .whl",
        )
    if Version(wanted).is_devrelease:
        return _from_version_of_nightly(wanted, settings, release)
    return _from_release(wanted, Channel.RELEASE, wanted, settings.variant, None)


def resolve_proposed(wheel: str | None, what: Proposal) -> TorchRequest:
    """The torch of a pull request or a push: a wheel that was built of it, or none.

    Raises:
        BadOption: it is not to be a wheel; any other torch would say nothing of what is proposed.
        TorchWheelMissing: the wheel does not exist or is not a torch wheel.

    """
    if wheel is None:
        return TorchRequest(
            wanted=str(what),
            wanted_channel=Channel.SOURCE,
            channel=Channel.SOURCE,
            unavailable_reason=f"there is no wheel of {what}: none was built or given",
        )
    if wheel.startswith(("https://", "http://")):
        return _from_address(wheel, what)
    if not wheel.endswith(".whl"):
        raise BadOption(
            f"`{wheel}` is not the torch of {what}",
            where="--torch",
            fix="give the path or the address of a wheel that was built of it",
        )
    return _from_wheel(Path(wheel)).model_copy(update={"wanted": str(what)})


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _from_wheel(path: Path) -> TorchRequest:
    where, fix = str(path), "give the path of a torch wheel, for example torch-2.13.0-cp311-cp311-linux_x86_64.whl"
    if not path.is_file():
        raise TorchWheelMissing("there is no such wheel", where=where, fix=fix)
    try:
        project, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise TorchWheelMissing("the file's name is not that of a wheel", where=where, fix=fix) from error
    if project != "torch":
        raise TorchWheelMissing(f"the wheel holds {project}, not torch", where=where, fix=fix)
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
    )


def _provenance(wheel: Path, sha256: str) -> TorchSource | None:
    """What is known of a wheel that was built here; None of any other."""
    try:
        found = read(TorchSource, wheel.with_name(TorchSource.FILE))
    except OotciError:
        return None
    return found if (found.wheel, found.sha256) == (wheel.name, sha256) else None


def with_built(plan: Plan, wheel: Path | None, reason: str | None) -> Plan:
    """A plan of something that is proposed, with the wheel that was built of it for every device, or why there is none.

    Raises:
        TorchWheelMissing: the wheel does not exist or is not a torch wheel.

    """

    def entered(torch: TorchRequest) -> TorchRequest:
        if wheel is None:
            return torch.model_copy(update={"unavailable_reason": reason})
        return _from_wheel(wheel).model_copy(update={"wanted": torch.wanted})

    runs = tuple(run.model_copy(update={"torch": entered(run.torch)}) for run in plan.runs)
    return plan.model_copy(update={"runs": runs})


def _from_address(address: str, what: Proposal) -> TorchRequest:
    url, _, fragment = address.partition("#")
    error = TorchWheelMissing(
        "the address is not that of a torch wheel", where=url, fix="give one that ends in a torch wheel's file name"
    )
    try:
        project, version, _, _ = parse_wheel_filename(unquote(urlsplit(url).path.rpartition("/")[2]))
    except (InvalidWheelFilename, ValueError):
        raise error from None
    if project != "torch":
        raise error
    return TorchRequest(
        wanted=str(what),
        wanted_channel=Channel.WHEEL,
        channel=Channel.WHEEL,
        version=str(version),
        url=url,
        sha256=fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None,
    )


def _date(text: str) -> date:
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise BadOption(f"`{text}` is not a date", where="--torch (TORCH= with make)", fix="write it as nightly@2026-11-20")


def _from_nights(wanted: str, night: date | None, settings: Torch, release: str, today: date | None) -> TorchRequest:
    """The nightly of a date, or the newest; else the newest one before it that can be used, or the release."""
    problems: list[str] = []
    try:
        nights = torch_index.nights(torch_index.nightly_index(settings.variant))
        if night is None and (stopped := _stopped(nights[0].night, today)):
            problems.append(stopped)
        for wheel in _candidates(nights, night, problems):
            if problems and settings.fallback == "none":
                break
            commit, problem = _looked_into(wheel)
            if problem is None:
                reason = "; ".join(problems) or None
                found = _request(wanted, Channel.NIGHTLY, Channel.NIGHTLY, wheel, reason)
                return found.model_copy(update={"commit": commit})
            problems.append(problem)
    except IndexProblem as problem:
        problems.append(str(problem))
    return _without_nightly(wanted, "; ".join(problems), settings, release)


def _looked_into(wheel: TorchWheel) -> tuple[str | None, str | None]:
    """The commit that a wheel says it is from, if that can be seen, and why it cannot be used."""
    if wheel.withdrawn is not None:
        why = f" ({wheel.withdrawn[:200]})" if wheel.withdrawn else ""
        return None, f"the file of {wheel.night} was withdrawn{why}"
    try:
        return full_commit(remote_wheel.torch_commit(wheel.url)), None
    except DownloadProblem as problem:
        return None, f"the file of {wheel.night} cannot be used: {problem}"


def _stopped(newest: date | None, today: date | None) -> str | None:
    """That an index seems to get no nightlies any more; None while it does."""
    if newest is None or today is None or today - newest <= timedelta(days=STALE_DAYS):
        return None
    return f"the newest nightly of the index is of {newest}, {(today - newest).days} days ago"


def _candidates(nights: tuple[TorchWheel, ...], night: date | None, problems: list[str]) -> Iterator[TorchWheel]:
    """The nights to try, newest first; what is missing goes to the problems."""
    newest = night or nights[0].night
    found = [wheel for wheel in nights if wheel.night and newest and timedelta() <= newest - wheel.night <= _REACH]
    if not found or found[0].night != newest:
        problems.append(f"the index has no nightly of {newest}")
    yield from found


def _from_version_of_nightly(version: str, settings: Torch, release: str) -> TorchRequest:
    try:
        found = torch_index.exact(torch_index.nightly_index(settings.variant), version)
    except IndexProblem as problem:
        return _without_nightly(version, str(problem), settings, release)
    return _request(version, Channel.NIGHTLY, Channel.NIGHTLY, found, None)


def _without_nightly(wanted: str, why: str, settings: Torch, release: str) -> TorchRequest:
    if settings.fallback == "none":
        return TorchRequest(
            wanted=wanted,
            wanted_channel=Channel.NIGHTLY,
            channel=Channel.NIGHTLY,
            unavailable_reason=f"nightly wanted, and the device file allows no fallback: {why}",
        )
    return _from_release(wanted, Channel.NIGHTLY, release, settings.variant, why)


def _from_release(
    wanted: str, wanted_channel: Channel, version: str, variant: str, fallback_reason: str | None
) -> TorchRequest:
    try:
        found = torch_index.exact(torch_index.release_index(variant), version)
    except IndexProblem:
        # pip's own configuration (a mirror, a folder of wheels) may still have it; the build stage finds out.
        return TorchRequest(
            wanted=wanted,
            wanted_channel=wanted_channel,
            channel=Channel.RELEASE,
            version=version,
            fallback_reason=fallback_reason,
        )
    return _request(wanted, wanted_channel, Channel.RELEASE, found, fallback_reason)


def _request(
    wanted: str, wanted_channel: Channel, channel: Channel, found: TorchWheel, fallback_reason: str | None
) -> TorchRequest:
    return TorchRequest(
        wanted=wanted,
        wanted_channel=wanted_channel,
        channel=channel,
        version=str(found.version),
        index_url=found.index_url,
        url=found.url,
        sha256=found.sha256,
        fallback_reason=fallback_reason,
    )
