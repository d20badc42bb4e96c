"""Texts as they are kept: bounded, countable, and without what XML cannot hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ootci.model.excerpt import MAX_TEXT, excerpt, one_line


@given(st.text("ab\n", max_size=200), st.integers(2, 40))
def test_no_character_is_cut_without_being_counted(text: str, limit: int) -> None:
    found = excerpt(text, limit)
    if found is None:
        assert not text.strip()
    elif len(text) <= limit:
        assert found == text
    else:
        half = limit // 2
        assert found == f"{text[:half]}\n[{len(text) - 2 * half} characters cut]\n{text[-half:]}"


@pytest.mark.parametrize("note", ["[... 700 characters cut ...]", "\n[700 characters cut]\n"])
def test_what_was_cut_before_counts_as_cut(note: str) -> None:
    text = f"{'h' * 60}{note}{'t' * 60}"
    assert excerpt(text, 40) == f"{'h' * 20}\n[{40 + 700 + 40} characters cut]\n{'t' * 20}"


def test_what_no_xml_may_hold_is_replaced_and_lines_end_alike() -> None:
    assert excerpt("a\x1b[31m\x00\r\nb\rc\ud800") == "a\ufffd[31m\ufffd\nb\nc\ufffd"
    assert one_line(" a\x00\n\tb ") == "a\ufffd b"


@pytest.mark.parametrize("text", [None, "", " \n\t"])
def test_nothing_to_read_is_none(text: str | None) -> None:
    assert (excerpt(text), one_line(text)) == (None, None)


def test_cutting_again_and_again_counts_every_character() -> None:
    text = "x" * 5 * MAX_TEXT
    once = excerpt(text)
    assert excerpt(str(once) + "y" * MAX_TEXT) == excerpt(text + "y" * MAX_TEXT)
