"""The page that compares any two runs, in the browser, over the API; this module has the words and glyphs for it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ootci.history.states import OUTCOME_LETTERS
from ootci.model.device import Device
from ootci.model.difference import CHANGE_OF, CLASSES
from ootci.model.outcome import NOT_EXECUTED, OutcomeName
from ootci.model.plan import Plan
from ootci.model.verdict import FAILING, NEW_FAILURES, ChangeName

from ..page_maker import PageMaker
from ..publish import File
from ..run_pages import RunPage
from ..status import CHANGES, OUTCOMES, Status
from ..text import one_line
from .run_files import by_age

OTHER = Status("other", "off", "never")
WORDS: Mapping[str, Status] = MappingProxyType(
    {
        "worse": Status("B is worse than A", "bad", "down"),
        "not_worse": Status("B is not worse than A", "good", "check"),
        "same": Status("A and B are the same run", "off", "check"),
        "loading": Status("Loading the two runs …", "off", "clock"),
        "trouble": Status("These runs cannot be compared", "warn", "alert"),
        "known": Status("known", "good", "known"),
        "flaky": Status("flaky", "warn", "wave"),
        **{name.value: status for name, status in OUTCOMES.items()},
    }
)
"""The glyphs that the browser draws, by name."""
ABSENT = "absent"


@dataclass(frozen=True)
class NewestRuns:
    """The newest two nightlies of a device."""

    name: str
    newest: RunPage
    before: RunPage | None

    @property
    def command(self) -> str | None:
        """What compares them on a terminal."""
        return f"ootci diff {_name(self.before)} {_name(self.newest)}" if self.before else None


def newest_runs(device: Device, pages: Sequence[RunPage], plans: Mapping[str, Plan]) -> NewestRuns | None:
    """The newest two nightlies of a device that count; None when it has not reported."""
    counting = [page for page in by_age(pages, plans) if page.latest]
    if not counting:
        return None
    return NewestRuns(device.name, counting[-1], counting[-2] if len(counting) > 1 else None)


def diff_page(maker: PageMaker, devices: Sequence[NewestRuns]) -> File:
    """The page, as it is before a script has run; ``devices`` are those that have reported, in registry order."""
    return maker.show(
        "diff/index.html",
        "diff.html",
        # Each kind of change: its name, how it is shown, and what it means.
        kinds=[
            (change.value if change else "other", CHANGES[change] if change else OTHER, meaning)
            for change, meaning in CLASSES
        ],
        words=WORDS,
        devices=devices,
        rules=_rules(),
        # The device that is compared with itself when nobody has chosen; empty when none has two nightlies.
        first=next((device.name for device in devices if device.before), ""),
    )


def _rules() -> str:
    """Everything that the script has to know of outcomes and changes, as JSON."""
    changes: dict[str, dict[str, str | None]] = {}
    for (before, after), change in CHANGE_OF.items():
        changes.setdefault(before or ABSENT, {})[after or ABSENT] = change and change.value
    return json.dumps(
        {
            "changes": changes,
            "failing": _names(FAILING),
            "new_failures": _names(NEW_FAILURES),
            "executed": _names(set(OutcomeName) - NOT_EXECUTED),
            "letters": {letter: name.value for name, letter in OUTCOME_LETTERS.items()},
        }
    )


def _names(chosen: Iterable[ChangeName | OutcomeName]) -> list[str]:
    return sorted(name.value for name in chosen)


def _name(page: RunPage) -> str:
    return shlex.quote(one_line(f"{page.run.device}@{page.run.plan_id}"))
