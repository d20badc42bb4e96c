"""Where things lie in a history folder, and whether a folder is a history at all."""

from __future__ import annotations

import json
from pathlib import Path

from ootci.errors import HistoryCorrupt, HistoryOutdated

FORMAT = {"format": "ootci-history", "version": 2}
FIRST_FORMAT = {"format": "ootci-history", "version": 1}
RUNS = ".runs.jsonl"
MONTH = "[0-9][0-9][0-9][0-9]-[0-9][0-9]"
UNFINISHED = ".unfinished"
"""A file that lies in the folder while a command moves it from one state of the branch to another."""


def format_file(folder: Path) -> Path:
    """The file that names the format's version."""
    return folder / "format.json"


def format_of(folder: Path) -> object:
    """What that file says; None when there is no such file, and the empty text when it is no JSON."""
    try:
        return json.loads(format_file(folder).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return ""


def check_format(folder: Path) -> None:
    """Refuse a folder that is no history of this version; one without a word on it is an empty one.

    Raises:
        HistoryOutdated: it is one of the version before.
        HistoryCorrupt: it is one of another version, or another command left it half-way.

    """
    found = format_of(folder)
    if found == FIRST_FORMAT:
        raise HistoryOutdated(
            "the folder holds a history of format version 1, and this tool reads version 2",
            where=str(format_file(folder)),
            fix="convert it with `ootci history upgrade`, once",
        )
    if found not in (None, FORMAT):
        raise HistoryCorrupt(
            "the folder holds a history of another format",
            where=str(format_file(folder)),
            fix="use the version of ootci that wrote it, or another folder with --history",
        )
    if (folder / UNFINISHED).exists():
        raise HistoryCorrupt(
            "the folder was left between two states of the data branch",
            where=str(folder / UNFINISHED),
            fix="let `ootci history fetch` or `publish` finish that; nothing is lost",
        )


def plans_file(folder: Path, month: str) -> Path:
    """The nightlies of a month."""
    return folder / month / "plans.jsonl"


def runs_file(folder: Path, month: str, device: str) -> Path:
    """The runs of a device in a month."""
    return folder / month / f"{device}{RUNS}"


def values_file(folder: Path, month: str) -> Path:
    """The values that lines of a month share."""
    return folder / month / "values.jsonl"


def details_file(folder: Path, month: str, device: str, plan_id: str, attempt: int, kind: str) -> Path:
    """Details of a run of a nightly of that month; ``kind`` is ``texts`` or ``measures``."""
    return folder / "details" / month / f"{device}.{plan_id}.{attempt}.{kind}.json.gz"


def device_of(path: Path) -> str:
    """The device of a file of runs."""
    return path.name.removesuffix(RUNS)
