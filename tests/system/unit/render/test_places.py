"""Where the nights of tests are shown: addresses that stay, are safe, and are never those of another file."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from unit.render.hostile import EVIL, LONG

from ootci.history import tables
from ootci.history.tables import TestTable
from ootci.stages.render.places import FILES, Places, file_of

NAMES = (
    "test_x.py",
    "test_x",
    "Test_x.py",
    "sub/test_x.py",
    "sub.test_x.py",
    "sub/test.x.py",
    "sub//test_x.py",
    "../test_x.py",
    "/test_x.py",
    "..",
    ".",
    "",
    "index.html",
    "index/html.py",
    "_0123456789abcdef.py",
    "test_x.py ",
    "tést.py",
    "con\x00.py",
    "\ud800.py",
    "a" * 90 + ".py",
    "a" * 91 + ".py",
    EVIL,
    LONG,
)


def table(*tests: tuple[str, str]) -> TestTable:
    """A table with a row for each suite and id."""
    made = TestTable()
    made.rows_of(tables.Test(test_id, suite, None, None) for suite, test_id in tests)
    return made


def test_a_plain_file_keeps_its_name() -> None:
    places = Places(table(("smoke", "smoke/test_x.py::test_y[a-b]"), ("smoke", "smoke/sub/test_x.py::test_y")))
    assert [file.page for file in places.files] == ["t/smoke/test_x/index.html", "t/smoke/sub.test_x/index.html"]
    assert re.fullmatch(r"t/smoke/test_x/index\.html#t-[0-9a-f]{16}", places.of("smoke/test_x.py::test_y[a-b]") or "")
    assert places.of("smoke/test_x.py::never_seen") is None


def test_no_two_names_share_a_folder_not_even_where_case_does_not_count() -> None:
    both = [(suite, name) for suite in NAMES for name in NAMES]
    places = Places(table(*((suite, f"{name}::t{number}") for number, (suite, name) in enumerate(both))))
    pages = {(file.suite, file.name): file.page for file in places.files}
    # "../test_x.py" of the suite "..", and "/test_x.py" of the one without a name, are "test_x.py" in them.
    assert len(pages) == len(NAMES) ** 2 - 2
    for one, other in combinations(pages.values(), 2):
        assert one.lower() != other.lower()
        assert not one.startswith(other.removesuffix("index.html"))


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_nothing_but_plain_letters(name: str) -> None:
    (file,) = Places(table((name, f"{name}::t"))).files
    assert re.fullmatch(r"t/(?:[a-z0-9_][a-z0-9_-]{0,80})/(?:[a-z0-9_][a-z0-9_.-]{0,90})/index\.html", file.page)


def test_a_test_stays_where_it_was_first_when_its_suite_changes() -> None:
    places = Places(table(("smoke", "smoke/test_x.py::a"), ("ops", "smoke/test_x.py::a")))
    (file,) = places.files
    assert (file.suite, file.tests, places.file_of("smoke/test_x.py::a")) == ("smoke", 1, file)


def test_files_without_end_have_no_pages_and_are_counted() -> None:
    places = Places(table(*(("ops", f"ops/test_{number}.py::t") for number in range(FILES + 20))))
    assert len(list(places.files)) == FILES
    assert places.beyond == 20
    assert places.of("ops/test_0.py::t")
    assert places.of(f"ops/test_{FILES}.py::t") is None


def test_what_has_no_colons_is_a_file() -> None:
    assert file_of("ops/test_x.py", "ops") == "test_x.py"
    assert file_of("elsewhere/test_x.py::a::b", "ops") == "elsewhere/test_x.py"
