"""May one merge, in markdown: what is put under a pull request, and into the summary of the job that asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ootci.model.device import RegisteredDevice
from ootci.model.pull_request import Effect, PullRequestGate
from ootci.model.verdict import Blocker, Gate
from ootci.model.words import many

from .commands import Tested, commands
from .markdown import MARKS, Sheet, marked, safe, to_paste
from .status import EFFECTS, GATE, VERDICTS
from .words import day, new_failures, spoken

LIMIT_BYTES = 60_000
"""A comment on GitHub holds 65,536 characters; the job that posts it may add a line."""

_ID_LIMIT = 300


def nightly_answer(
    gate: Gate, registry: Sequence[RegisteredDevice], tested: Mapping[str, Tested], address: str | None = None
) -> str:
    """May one merge, by the newest nightly: every device that blocks, why, and what newly fails on it.

    Args:
        tested: by device, the torch and the plugin that were tested.
        address: where the site is published, with a slash at its end; devices are then links to their pages.

    """
    about = About(registry, tested, address)
    failures = (
        _details(about, item.device, item.new_failures, item.first, item.cause_reason, is_first=item.is_first)
        for item in gate.blockers
        if item.first
    )
    headings = ("Verdict", "Device", "Tier", "Reason", "New failures", "Since")
    return _answer(gate, headings, [_blocker(item, about) for item in gate.blockers], failures)


def pull_request_answer(
    gate: PullRequestGate,
    registry: Sequence[RegisteredDevice],
    tested: Mapping[str, Tested],
    address: str | None = None,
) -> str:
    """May one merge a pull request: what it does to every device that was tested, and what newly fails on it."""
    about = About(registry, tested, address)
    failures = (_details(about, item.device, item.newly_failing, item.first) for item in gate.devices if item.first)
    headings = ("Effect", "Device", "Tier", "Reason", "New failures", "As before", "Known", "Flaky", "Compared with")
    return _answer(gate, headings, [_effect(item, about) for item in gate.devices], failures)


class About:
    """The registry's facts about a device as a comment or an issue tells them; see :func:`nightly_answer`."""

    def __init__(self, registry: Sequence[RegisteredDevice], tested: Mapping[str, Tested], address: str | None) -> None:
        self._registry = {item.device.name: item for item in registry}
        self.devices = {name: item.device for name, item in self._registry.items()}
        self._tested = tested
        self._address = address

    def name(self, device: str) -> str:
        """The name that people know, as a link where there is a page."""
        known = self.devices.get(device)
        shown = safe(known.display_name if known else device, 60)
        return f"[{shown}]({self._address}d/{device}/)" if known and self._address else shown

    def tier(self, device: str) -> str:
        """How much it counts."""
        known = self.devices.get(device)
        return known.tier.value if known else "-"

    def again(self, device: str, failed: Iterable[str]) -> Sequence[str]:
        """What reproduces the first failure; nothing for a device that is not registered."""
        item = self._registry.get(device)
        return to_paste(commands(item, self._tested.get(device), failed)) if item else ()


def _answer(
    gate: Gate | PullRequestGate,
    headings: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    failures: Iterable[Iterator[str]],
) -> str:
    sheet = Sheet(LIMIT_BYTES)
    answer = f"May one merge: {spoken(gate.answer)}"
    sheet.add(f"### {MARKS[GATE[gate.answer].tone]} {answer}", "", safe(gate.reason), "")
    if isinstance(gate, PullRequestGate) and gate.torch:
        sheet.add(f"PyTorch tested: {safe(gate.torch, 500)}.", "")
    if rows:
        sheet.table(headings, rows, "device")
    sheet.groups(map(tuple, failures), "device with new failures", "devices with new failures")
    overridden = gate.overridden.items()
    sheet.groups(
        ([f"\n{safe(name)} is not asked, overridden: {safe(reason)}"] for name, reason in overridden), "device"
    )
    return sheet.text()


def _blocker(item: Blocker, about: About) -> tuple[str, ...]:
    return (
        marked(VERDICTS[item.verdict]),
        about.name(item.device),
        about.tier(item.device),
        safe(item.reason),
        new_failures(item.new_failures, is_first=item.is_first),
        "new" if item.is_new else day(item.broken_since) if item.broken_since else "-",
    )


def _effect(item: Effect, about: About) -> tuple[str, ...]:
    return (
        marked(EFFECTS[item.effect]),
        about.name(item.device),
        about.tier(item.device),
        safe(item.reason),
        str(item.newly_failing),
        str(item.still_failing),
        str(item.known),
        str(item.flaky),
        f"{safe(item.base, 100)}, torch {safe(item.base_torch or 'unknown', 60)}" if item.base else "-",
    )


def _details(
    about: About, device: str, total: int, first: Sequence[str], cause: str | None = None, *, is_first: bool = False
) -> Iterator[str]:
    """The tests of a device that newly fail, of which the first are named."""
    in_first_run = many(total, "failure in its first run", "failures in its first run")
    yield f"\n<details><summary>{safe(device)}: {in_first_run if is_first else many(total, 'new failure')}</summary>\n"
    yield from (f"- <code>{safe(test_id, _ID_LIMIT)}</code>" for test_id in first)
    if total > len(first):
        yield f"- and {total - len(first):,} more"
    if cause:
        yield f"\n{safe(cause)}"
    yield from about.again(device, first)
    yield "\n</details>"
