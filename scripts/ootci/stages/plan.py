"""plan: which devices run on which torch, decided once so that every device of a nightly tests the same torch."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from ootci.adapters import torch_index
from ootci.adapters.torch_index import IndexProblem, TorchWheel
from ootci.errors import BadOption, TorchWheelMissing
from ootci.history.failing import failing_before
from ootci.history.store import History
from ootci.model.device import RegisteredDevice, Torch, find_device
from ootci.model.plan import LeftOut, Plan, PlannedRun, PlannedSuite, Trigger
from ootci.model.torch_build import Channel, TorchRequest

PINNED_RELEASE = "2.13.0"
"""The release that is tested when nothing newer can be had, and that the reference plugin is developed against."""


def plan(
    registry: Sequence[RegisteredDevice],
    *,
    chosen: Sequence[str],
    torch: str | None,
    now: datetime,
    trigger: Trigger,
    suffix: str | None = None,
    history: History | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Decide which devices run on which torch.

    Args:
        registry: every registered device, in registry order.
        chosen: names of the devices to run; empty means all that are not paused.
        torch: ``nightly``, a version, or a path of a wheel, for all devices; None leaves it to the device files.
        now: the nightly's time; its date is part of the plan's id.
        trigger: what started the nightly.
        suffix: makes the plan's id unique within a day; the time of day when absent.
        history: past runs, from which the plan takes what failed last.
        say: told about each fallback.

    Raises:
        NoSuchDevice: a chosen name is not registered.
        BadOption, TorchWheelMissing: ``torch`` or ``suffix`` cannot be used.
        HistoryCorrupt: a record of the history cannot be read back.

    """
    for name in chosen:
        find_device(tuple(registry), name)
    now = now.astimezone(timezone.utc)
    plan_id = f"{now:%Y%m%d}-{_checked(suffix) or f'{now:%H%M%S}'}"
    resolved: dict[tuple[str | None, Torch], TorchRequest] = {}
    runs: list[PlannedRun] = []
    left_out: list[LeftOut] = []
    for item in registry:
        device = item.device
        if device.paused and device.name not in chosen:
            left_out.append(LeftOut(device=device.name, reason=device.paused.reason, paused=True))
        elif chosen and device.name not in chosen:
            left_out.append(LeftOut(device=device.name, reason="not asked for in this nightly", paused=False))
        elif not chosen and not device.cadence.is_due(now):
            left_out.append(LeftOut(device=device.name, reason="it runs weekly, on Sundays", paused=False))
        else:
            key = (torch, device.torch)
            if key not in resolved:
                resolved[key] = resolve(torch, device.torch)
                if told := resolved[key].deviation:
                    say(f"torch: {told}")
            failing = failing_before(history.newest_stored(device.name)) if history else None
            runs.append(_planned(plan_id, item, resolved[key], failing))
    return Plan(id=plan_id, created_at=now, trigger=trigger, runs=tuple(runs), left_out=tuple(left_out))


def _checked(suffix: str | None) -> str | None:
    # The plan's id becomes a file's name and a line of GITHUB_OUTPUT.
    if suffix and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", suffix):
        raise BadOption(
            f"`{suffix}` cannot be part of a plan's id", where="--plan-suffix", fix="use letters, digits, - and _ only"
        )
    return suffix


def _planned(
    plan_id: str, item: RegisteredDevice, request: TorchRequest, failing: tuple[str, ...] | None
) -> PlannedRun:
    device = item.device
    return PlannedRun(
        run_id=f"{plan_id}-{device.name}",
        device=device.name,
        device_sha256=item.sha256,
        torch=request,
        suites=tuple(
            PlannedSuite(name=suite.name, required=suite.required, min_tests=suite.min_tests) for suite in device.suites
        ),
        runner=device.runner.labels,
        timeout_minutes=device.limits.job_minutes,
        known_failures=device.known_failures,
        failing_before=failing,
        unsupported=device.unsupported,
    )


def resolve(wanted: str | None, settings: Torch) -> TorchRequest:
    """The very torch for what was asked for.

    Args:
        wanted: ``nightly``, a version, or a path of a wheel; None takes the device's channel.
        settings: the device's torch settings: channel, variant, release and fallback.

    Raises:
        BadOption: ``wanted`` is none of the three.
        TorchWheelMissing: the wheel does not exist or is not a torch wheel.

    """
    if wanted is not None and (wanted.endswith(".whl") or "/" in wanted):
        return _from_wheel(Path(wanted))
    release = settings.release or PINNED_RELEASE
    if wanted is None:
        wanted = Channel.NIGHTLY.value if settings.channel is Channel.NIGHTLY else release
    if wanted == Channel.NIGHTLY.value:
        return _from_nightly(wanted, None, settings, release)
    if not re.fullmatch(r"[0-9][0-9A-Za-z.+]*", wanted) or not _is_version(wanted):
        raise BadOption(
            f"`{wanted}` is not a torch",
            where="--torch (TORCH= with make)",
            fix=f"give nightly, a version such as {PINNED_RELEASE}, or the path of a wheel ending in .whl",
        )
    if Version(wanted).is_devrelease:
        return _from_nightly(wanted, wanted, settings, release)
    return _from_release(wanted, Channel.RELEASE, wanted, settings.variant, None)


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
    return TorchRequest(
        wanted=path.name,
        wanted_channel=Channel.WHEEL,
        channel=Channel.WHEEL,
        version=str(version),
        wheel=str(path.resolve()),
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def _from_nightly(wanted: str, version: str | None, settings: Torch, release: str) -> TorchRequest:
    index_url = torch_index.nightly_index(settings.variant)
    try:
        found = torch_index.exact(index_url, version) if version else torch_index.newest(index_url)
    except IndexProblem as problem:
        if settings.fallback == "none":
            reason = f"nightly wanted, and the device file allows no fallback: {problem}"
            return TorchRequest(
                wanted=wanted,
                wanted_channel=Channel.NIGHTLY,
                channel=Channel.NIGHTLY,
                unavailable_reason=reason,
            )
        return _from_release(wanted, Channel.NIGHTLY, release, settings.variant, str(problem))
    return _request(wanted, Channel.NIGHTLY, Channel.NIGHTLY, found, None)


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
