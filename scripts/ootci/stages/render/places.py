"""Where the nights of each test are shown: a page for each file of a suite, and an element for each test.

A test's place is made of its id and of the suite in which it was seen first, so that links to it stay.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from ootci.history.tables import Test, TestTable
from ootci.model.outcome import file_of

FILES = 1_000
"""The most files with a page, the oldest; arbitrary test names cannot fill the site."""

_PART = r"[a-z0-9][a-z0-9_-]*"
_SUITE = re.compile(_PART)
_FILE = re.compile(rf"({_PART}(?:/{_PART})*)\.py")
_LENGTH = 80


@dataclass(frozen=True)
class TestFile:
    """A file of a suite.

    Attributes:
        name: the file's name in the suite.
        page: its page's address from the top.
        tests: how many tests it has had.

    """

    __test__ = False
    """pytest takes it for no test of ours."""

    suite: str
    name: str
    page: str
    tests: int


class Places:
    """The files that have a page, and the place of each of their tests; tests are only ever added to the table."""

    def __init__(self, table: TestTable) -> None:
        self.tests = table
        # A test whose suite changed is where it was seen first.
        sizes = Counter(_file(test) for row, test in enumerate(table.tests) if table.rows_of_id(test.id)[0] == row)
        self._files = {key: TestFile(*key, _page(*key), size) for key, size in islice(sizes.items(), FILES)}
        self.beyond = len(sizes) - len(self._files)
        """Files that have no page."""

    @property
    def files(self) -> Iterable[TestFile]:
        """Every file that may have a page: it has one if any of its tests was ever not passing."""
        return self._files.values()

    def file(self, suite: str, name: str) -> TestFile | None:
        """A file by its name."""
        return self._files.get((suite, name))

    def file_of(self, test_id: str) -> TestFile | None:
        """The file of a test; None where it has no page."""
        rows = self.tests.rows_of_id(test_id)
        return self._files.get(_file(self.tests[rows[0]])) if rows else None

    def of(self, test_id: str) -> str | None:
        """The address from the top of the nights of a test that was ever not passing; None where they have no page."""
        file = self.file_of(test_id)
        return f"{file.page}#{anchor(test_id)}" if file is not None else None


def _file(test: Test) -> tuple[str, str]:
    return test.suite, file_of(test.id, test.suite)


def anchor(test_id: str) -> str:
    """What the element with a test's nights is called."""
    return f"t-{_digest(test_id)}"


def _page(suite: str, name: str) -> str:
    """Folder of a file's page; no two files share a folder.

    Only names with a dot in them stand for a file that is not at the top of its suite, only digests begin with an
    underscore, and both differ in more than the case of letters.
    """
    found = _FILE.fullmatch(name)
    folder = found[1].replace("/", ".") if found and len(name) <= _LENGTH else f"_{_digest(name)}"
    top = suite if _SUITE.fullmatch(suite) and len(suite) <= _LENGTH else f"_{_digest(suite)}"
    return f"t/{top}/{folder}/index.html"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
