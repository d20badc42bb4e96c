"""Predicted breaks, and which parts of PyTorch published plugins need: symbols, names and operators, since when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated

from pydantic import Field

from ootci.history.store import History
from ootci.model.compat import Compat, FindingKind, Needs, Predicted, Removal
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.record import Record

from ..page_maker import PageMaker
from ..publish import File
from .published import Compact, WithPage, api_file

NIGHTS = 90
"""How far back the first night is looked for."""
ROWS = 6_000
"""Rows of the page; the file has all."""
_TOP = "../../"
_Key = tuple[FindingKind, str]


class CompatFile(WithPage, Compact):
    """compat.json: what is predicted from public wheels, without hardware. No verdict and no gate rests on it."""

    predicted: Predicted | None
    """The predictions for the newest nightly that has some; null where none has."""


class NeededPart(Record):
    """A part of PyTorch that published plugins need."""

    kind: FindingKind
    """Its kind: a symbol, a name or an operator."""
    text: str
    """The demangled symbol, the dotted name or the overload."""
    devices: dict[str, date]
    """By device whose plugin needs it, the first night of the streak of nights on which it did."""
    missing: bool
    """Whether it is missing from the newest nightly with predictions, and among the findings that these keep."""
    removal: Annotated[Removal | None, Field(exclude_if=lambda found: found is None)] = None
    """When it was removed; absent where it is not missing, or was left out of the breaks."""


class SymbolsFile(WithPage, Compact):
    """symbols.json: which parts of PyTorch published plugins need."""

    first: date | None
    """The first night that was looked at; what was needed then may have been needed before. Null without any."""
    parts: tuple[NeededPart, ...]
    """What most devices need comes first."""


def compat_page(maker: PageMaker) -> Iterator[File]:
    """The page of predicted breaks, and its file."""
    file = CompatFile(page=f"{_TOP}compat/index.html", predicted=maker.verdicts.predicted)
    yield maker.show("compat/index.html", "compat.html", page=file)
    yield api_file("compat.json", file)


def symbols_page(maker: PageMaker, history: History, plans: Sequence[Plan]) -> Iterator[File]:
    """The page of what plugins need, and its file; ``plans`` are oldest first."""
    found = ((plan, history.compat(plan.id)) for plan in plans[-NIGHTS:])
    nights = [(plan, compat) for plan, compat in found if compat is not None]
    unmarked = any(item.more for item in nights[-1][1].predictions) if nights else False
    file = _file(nights, history, maker.registry, maker.verdicts.predicted)
    yield maker.show("symbols/index.html", "symbols.html", page=file, parts=file.parts[:ROWS], unmarked=unmarked)
    yield api_file("symbols.json", file)


def _file(
    nights: Sequence[tuple[Plan, Compat]],
    history: History,
    registry: Sequence[RegisteredDevice],
    predicted: Predicted | None,
) -> SymbolsFile:
    registered = {item.device.name for item in registry}
    digests: dict[str, str] = {}
    since: dict[str, dict[_Key, date]] = {}
    for plan, compat in nights:
        for item in compat.predictions:
            if item.needs is None or item.plugin not in registered or digests.get(item.plugin) == item.needs:
                continue
            digests[item.plugin] = item.needs
            before = since.get(item.plugin, {})
            since[item.plugin] = {
                key: before.get(key, plan.created_at.date()) for key in _parts(history.needs(item.needs))
            }
    devices: dict[_Key, dict[str, date]] = {}
    for device in sorted(since):
        for key, first in since[device].items():
            devices.setdefault(key, {})[device] = first
    newest = nights[-1][1].predictions if nights else ()
    version = nights[-1][1].torches[0].version if nights and nights[-1][1].torches else None
    missing = {(found.kind, found.text) for item in newest if item.torch == version for found in item.findings}
    removals = predicted.removals if predicted is not None else {}
    parts = (
        NeededPart(
            kind=key[0],
            text=key[1],
            devices=found,
            missing=key in missing,
            removal=removals.get(key) if key in missing else None,
        )
        for key, found in devices.items()
    )
    return SymbolsFile(
        page=f"{_TOP}symbols/index.html",
        first=nights[0][0].created_at.date() if nights else None,
        parts=tuple(sorted(parts, key=lambda part: (-len(part.devices), part.kind.value, part.text))),
    )


def _parts(needs: Needs) -> Iterator[_Key]:
    yield from ((FindingKind.SYMBOL, text) for text in needs.symbols)
    yield from ((FindingKind.NAME, text) for text in needs.names)
    yield from ((FindingKind.OPERATOR, f"aten::{text}") for text in needs.operators)
