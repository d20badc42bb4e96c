"""Adding to one history what another has besides: how two publishers' records both get onto the data branch."""

from __future__ import annotations

from pathlib import Path

from .layout import FIRST_FORMAT, format_of
from .lines import read_lines
from .store import History
from .upgrade import upgrade


def join(into: Path, other: Path) -> int:
    """Add to a history folder the nightlies and runs of another that it lacks, and say how many there were.

    What is there already stays as it is, details that were removed included. Lines that both files have are the same
    record, because their checksums cover all that they name; only the others are compared.

    Raises:
        HistoryConflict: both have different records of the same identity.
        HistoryCorrupt: a record cannot be read back.
        HistoryOutdated: the other folder is of an earlier version.

    """
    if format_of(into) == FIRST_FORMAT:
        upgrade(into)
    ours, theirs = History(into), History(other)
    added = 0
    with ours.together():
        for path in theirs.plan_files():
            known = set(read_lines(into / path.relative_to(other)))
            for line, plan in zip(read_lines(path), theirs.plans_of(path), strict=True):
                added += line not in known and ours.append_plan(plan)
    for path in theirs.run_files():
        known = set(read_lines(into / path.relative_to(other)))
        file = theirs.run_file(path)
        with ours.together():
            for number, line in enumerate(file.lines):
                added += line not in known and ours.take(file.run(number), theirs)
    return added
