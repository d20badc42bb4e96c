"""The nights of tests for programs: the same as on the pages of files, and the list of them."""

from __future__ import annotations

from collections.abc import Sequence

from ootci.history.not_passing import Came
from ootci.model.plan import Plan

from .life_row import DeviceLives, known_entry, spell_of, test_nights
from .lives import FilePage, FileRow
from .pages.lives import (
    DeviceLife,
    KnownMark,
    LifeEntry,
    LifeFile,
    LivesFile,
    TestLife,
)
from .places import TestFile

LIVES = "lives"
_TOP = "../../"
_LETTERS = {
    Came.ABSENT: b".",
    Came.PASSED: b"p",
    Came.FAILED: b"f",
    Came.FLAKY: b"a",
    Came.XFAILED: b"x",
    Came.XPASSED: b"X",
    Came.NOT_RUN: b"n",
    Came.SKIPPED: b"s",
    Came.UNSUPPORTED: b"u",
    Came.SILENT: b"_",
}
_AS_LETTERS = bytes.maketrans(bytes(_LETTERS), b"".join(_LETTERS.values()))


def life_path(file: TestFile) -> str:
    """Where the file of a suite's file lies, from the API's folder."""
    return f"{LIVES}{file.page.removeprefix('t').removesuffix('/index.html')}.json"


def lives_file(rows: Sequence[FileRow]) -> bytes:
    """The list of the files that have a page."""
    entries = tuple(
        LifeEntry(
            suite=row.file.suite,
            file=row.file.name,
            tests=row.tests,
            ever=row.ever,
            failing=row.failing,
            path=life_path(row.file),
            page=f"{_TOP}{row.href}",
        )
        for row in rows
        if row.href is not None
    )
    return LivesFile(files=entries).to_json().encode("utf-8")


def life_file(page: FilePage, devices: Sequence[DeviceLives], plans: Sequence[Plan]) -> bytes:
    """The nights of the tests that a page has.

    Args:
        page: the page.
        devices: every device that ever reported, in registry order.
        plans: every nightly, oldest first.

    """
    address = f"../../{_TOP}{page.file.page}"
    tests = tuple(
        TestLife(
            id=test.id,
            page=f"{address}#{test.anchor}",
            devices=tuple(
                _device(item, test.id, rows, plans)
                for item in devices
                if any(item.found.place(row) is not None for row in rows)
            ),
        )
        for test in page.tests
        for rows in (page.file.tests[test.id],)
    )
    nights = tuple(plan.id for plan in plans[-page.nights :])
    file = LifeFile(suite=page.file.suite, file=page.file.name, nights=nights, tests=tests, more=page.more)
    return file.to_json().encode("utf-8")


def _device(item: DeviceLives, test_id: str, rows: Sequence[int], plans: Sequence[Plan]) -> DeviceLife:
    nights, last, _ = test_nights(item, rows, plans)
    change, review = item.failing.get(test_id), known_entry(item, test_id)
    return DeviceLife(
        device=item.device.name,
        nights=nights.translate(_AS_LETTERS).decode("ascii"),
        last=last.id,
        signature=change.signature if change is not None else None,
        spell=spell_of(item, test_id),
        flaky=test_id in item.flaky,
        known=KnownMark(state=review.state, issue=review.entry.issue) if review is not None else None,
    )
