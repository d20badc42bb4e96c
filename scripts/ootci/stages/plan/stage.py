"""plan: which devices run on which torch, decided once so that every device of a nightly tests the same torch."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from ootci.errors import BadOption
from ootci.history.nights import failing_before, plugin_before
from ootci.history.store import History
from ootci.model.device import Cadence, Device, RegisteredDevice, Torch, on_other_torches
from ootci.model.plan import LOCAL, NOT_ASKED_FOR, LeftOut, Plan, PlannedRun, Proposal, Trigger
from ootci.model.torch_build import TorchRequest

from .torch_choice import resolve, resolve_proposed


@dataclass(frozen=True)
class Proposed:
    """A commit of PyTorch that is tested instead of a nightly.

    Attributes:
        what: the commit of PyTorch.
        event: what happened, where the relay delivered it.
        is_over: whether it was closed or deleted, so that no result is needed.

    """

    what: Proposal
    event: str | None
    is_over: bool = False

    def reason_against(self, device: Device) -> str | None:
        """Why a device is not tested on it; None where it is."""
        if self.is_over:
            return "it was closed or deleted"
        if device.external is not None:
            return "it is run elsewhere, where its vendor tests pull requests"
        return None if device.pull_requests else "its device file does not enable pull requests"


def plan(
    registry: Sequence[RegisteredDevice],
    *,
    chosen: Sequence[str],
    torch: str | None,
    installed: TorchRequest | None = None,
    now: datetime,
    trigger: Trigger,
    suffix: str | None = None,
    history: History | None = None,
    proposed: Proposed | None = None,
    also: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Decide which devices run on which torch.

    Args:
        chosen: names of registered devices to run; empty means all that are not paused.
        torch: ``nightly``, a version, or a path of a wheel, for all devices; None leaves it to the device files. Of
            what is proposed it can only be a wheel.
        installed: the torch of an environment that is there already; ``torch`` and the device files are not asked.
        now: the nightly's time; its date is part of the plan's id.
        suffix: makes the plan's id unique within a day; the time of day when absent.
        history: past runs, from which the plan takes what failed last.
        proposed: what is tested instead of a nightly.
        also: whether the torches of `torch.also` are tested, too. Without it they are on Sundays only, and not on a
            person's own machine or where certain devices or a torch are requested.
        say: called with each fallback.

    Raises:
        BadOption, TorchWheelMissing, TorchMissing, IndexUnreachable: ``torch`` or ``suffix`` cannot be used or had.
        HistoryCorrupt: a record of the history cannot be read back.

    """
    now = now.astimezone(timezone.utc)
    plan_id = f"{now:%Y%m%d}-{_checked(suffix) or f'{now:%H%M%S}'}"
    is_asked = any((chosen, torch, installed, proposed, trigger.event == LOCAL))
    also = also or (not is_asked and Cadence.WEEKLY.is_due(now))
    planned = _Runs(plan_id, chosen, torch, installed, proposed, now, history, say).of
    left_out: list[LeftOut] = []
    runs, others = list[PlannedRun](), list[PlannedRun]()
    for item in registry:
        left = _left_out(item.device, chosen, proposed, now)
        if left is not None:
            left_out.append(left)
        else:
            runs.append(planned(item, tries_declarations=_tries_declarations(item.device, now, trigger, proposed)))
        others += [
            planned(item.model_copy(update={"device": device}))
            for device in on_other_torches(item.device)
            if device.name in chosen or (also and left is None)
        ]
    if proposed is not None:
        trigger = trigger.model_copy(update={"event": proposed.event or trigger.event, "proposal": proposed.what})
    return Plan(
        id=plan_id, created_at=now, trigger=trigger, runs=tuple(runs), left_out=tuple(left_out), also=tuple(others)
    )


@dataclass
class _Runs:
    """Plans the runs of devices, see ``plan``; a torch that several of them want is looked for once."""

    plan_id: str
    chosen: Sequence[str]
    torch: str | None
    installed: TorchRequest | None
    proposed: Proposed | None
    now: datetime
    history: History | None
    say: Callable[[str], None]
    _found: dict[tuple[str | None, Torch, str | None], TorchRequest] = field(default_factory=dict)

    def of(self, item: RegisteredDevice, *, tries_declarations: bool = False) -> PlannedRun:
        name = item.device.name
        failing = failing_before(self.history.newest_stored(name)) if self.history else None
        from_git = self.history is not None and item.device.plugin.git is not None
        return PlannedRun.of(
            item,
            f"{self.plan_id}-{name}",
            self._torch_of(item.device),
            failing_before=failing.ids if failing else None,
            not_retried=failing.not_retried if failing else (),
            plugin_before=plugin_before(self.history.newest_stored(name)) if self.history and from_git else None,
            tries_declarations=tries_declarations,
            by_name=name in self.chosen,
        )

    def _torch_of(self, device: Device) -> TorchRequest:
        wanted = self.torch or device.wanted_torch
        key = (wanted, device.torch, device.python)
        if key not in self._found:
            self._found[key] = self.installed or self._resolved(wanted, device)
            if told := self._found[key].deviation:
                self.say(f"torch: {told}")
        return self._found[key]

    def _resolved(self, torch: str | None, device: Device) -> TorchRequest:
        if self.proposed is not None:
            return resolve_proposed(torch, self.proposed.what)
        return resolve(torch, device.torch, self.now.date(), device.python)


def _tries_declarations(device: Device, now: datetime, trigger: Trigger, proposed: Proposed | None) -> bool:
    """Whether a nightly also tries what is declared, which each device does on its own day of the week."""
    if proposed is not None or trigger.event == LOCAL:
        return False
    day = zlib.crc32(device.name.encode()) % 7 if device.cadence is Cadence.NIGHTLY else now.weekday()
    return now.weekday() == day and any(suite.declares for suite in device.suites)


def _left_out(device: Device, chosen: Sequence[str], proposed: Proposed | None, now: datetime) -> LeftOut | None:
    """Why a device does not run; None where it does."""
    if device.name in chosen:
        return None
    if device.paused:
        return LeftOut(device=device.name, reason=device.paused.reason, paused=True)
    if chosen:
        return LeftOut(device=device.name, reason=NOT_ASKED_FOR, paused=False)
    if proposed is not None:
        reason = proposed.reason_against(device)
    else:
        reason = None if device.cadence.is_due(now) else "it runs weekly, on Sundays"
    return LeftOut(device=device.name, reason=reason, paused=False) if reason else None


def _checked(suffix: str | None) -> str | None:
    # The plan's id is used in file names and in GITHUB_OUTPUT.
    if suffix and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", suffix):
        raise BadOption(
            f"`{suffix}` cannot be part of a plan's id", where="GITHUB_RUN_ID", fix="use letters, digits, - and _ only"
        )
    return suffix
