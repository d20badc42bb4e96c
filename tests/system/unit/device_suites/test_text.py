"""Text that leaves the process."""

from __future__ import annotations

import json

import pytest

from harness.text import MAX_MESSAGE_CHARACTERS, capped, first_line, valid


def test_short_text_is_kept() -> None:
    assert capped("a\nb") == "a\nb"
    assert capped("x" * 100, 100) == "x" * 100


@pytest.mark.parametrize("character", ["x", "é", "漢", "🙂", "\x00", "\ud800"])
@pytest.mark.parametrize("length", [200, 201, 5000])
def test_long_text_keeps_head_and_tail_within_the_limit(character: str, length: int) -> None:
    text = "HEAD" + character * length + "TAIL"
    short = capped(text, 150)
    assert len(short.encode("utf-8")) <= 150
    assert short.startswith("HEAD")
    assert short.endswith("TAIL")
    kept = short.replace("HEAD", "").replace("TAIL", "")
    cut = int(kept.split("[... ")[1].split(" ")[0])
    assert kept.count(valid(character)) + cut == length


def test_lone_surrogates_leave_no_trace_in_json() -> None:
    line = json.dumps(capped("a\ud800b"))
    assert json.loads(line).encode("utf-8") == b"a?b"


def test_first_line_is_the_first_that_says_something() -> None:
    assert first_line("\n\n  one \ntwo") == "one"
    assert first_line(" \n") is None
    assert first_line("x" * 9999) == "x" * MAX_MESSAGE_CHARACTERS
