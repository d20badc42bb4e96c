"""Foreign text: nothing in it acts, hides or fills the page."""

from __future__ import annotations

import pytest

from ootci.stages.render.page_maker import marked
from ootci.stages.render.text import Excerpt, clean, excerpt, one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x07click\x1b]8;;\x07", "click"),
        ("a\x00b\x08c\x7f", "abc"),
        ("line\r\nnext\tcolumn", "line\nnext\tcolumn"),
        ("safe\u202egnp.exe", "safe<U+202E>gnp.exe"),
        ("\u2066isolated\u2069", "<U+2066>isolated<U+2069>"),
        ("zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("עברית ünïcödé 🎉", "עברית ünïcödé 🎉"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_cleaning_twice_changes_nothing_more() -> None:
    once = clean("\x1b\x1b[1m[31mx\u202ey\x00")
    assert clean(once) == once


def test_one_line_keeps_short_text_and_joins_lines() -> None:
    assert one_line(" two\n\nlines\there ") == "two lines here"


def test_one_line_says_how_much_it_cut() -> None:
    assert one_line("x" * 500, 100) == "x" * 100 + " … (400 more characters)"


def test_one_line_of_megabytes_is_short() -> None:
    shown = one_line("\x1b[31m \u202e" * 2_000_000)
    assert len(shown) < 500
    assert "more characters)" in shown


def test_a_short_excerpt_is_whole() -> None:
    assert excerpt("one\ntwo\n", 100) == Excerpt("one\ntwo")


def test_a_long_excerpt_has_both_ends_breaks_at_lines_and_counts_what_is_missing() -> None:
    text = "".join(f"line {number:04d}\n" for number in range(1000))
    cut = excerpt(text, 300)
    assert cut.head.startswith("line 0000\n")
    assert cut.tail.endswith("\nline 0999")
    assert all(len(line) == 9 for line in (cut.head + "\n" + cut.tail).splitlines())
    size = len(cut.head) + len(cut.tail)
    assert cut.cut + size + 1 == len(text)  # the line end at the very end is neither shown nor cut
    assert size <= 300


def test_an_excerpt_of_one_endless_line_is_cut_too() -> None:
    cut = excerpt("x" * 10_000_000, 3000)
    assert (len(cut.head), cut.cut, len(cut.tail)) == (2000, 9_997_000, 1000)


def test_error_lines_of_pytest_and_compilers_are_marked_and_all_of_it_is_escaped() -> None:
    log = "> assert x < y\nE   assert 2 < 1\nEnd\na.cpp:3:1: error: <bad>\nFAILED: a.o\n<script>"
    assert marked(log) == (
        "&gt; assert x &lt; y\n<b>E   assert 2 &lt; 1</b>\nEnd\n<b>a.cpp:3:1: error: &lt;bad&gt;\nFAILED: a.o</b>\n"
        "&lt;script&gt;"
    )


def test_a_log_of_nothing_but_errors_does_not_grow_without_end() -> None:
    assert len(marked("E\n" * 4000)) < 2 * 8000
