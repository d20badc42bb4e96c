"""Text that leaves the process."""

from __future__ import annotations

import json

import pytest

from harness.text import MAX_MESSAGE_CHARACTERS, capped, first_line, last_words, summary, valid


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


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("RuntimeError: no kernel\nat x.cpp:3", "RuntimeError: no kernel"),
        ("RuntimeError: it said:\n\n  no card\nat x.cpp:3", "RuntimeError: it said: no card"),
        (
            "AssertionError: assert False\n +  where False = equal(1, 2)\n +    where equal = torch.equal",
            "AssertionError: assert False, where False = equal(1, 2)",
        ),
        (
            "AssertionError: assert not True\n +  where True = is_busy()",
            "AssertionError: assert not True, where True = is_busy()",
        ),
        ("AssertionError: assert 3 == 4\n +  where 3 = count()", "AssertionError: assert 3 == 4"),
        ("AssertionError: assert False", "AssertionError: assert False"),
    ],
)
def test_summary_is_the_line_that_says_most(said: str, line: str) -> None:
    assert summary(said) == line
    assert summary(" ") is None
    assert len(summary("x:\n" + "y" * 999) or "") == MAX_MESSAGE_CHARACTERS


TRACEBACK = 'Traceback (most recent call last):\n  File "<string>", line 3, in <module>\n    main()\n'
CAUSE = "The above exception was the direct cause of the following exception:"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (TRACEBACK + "ImportError: cannot import name 'x'\n", "ImportError: cannot import name 'x'"),
        (TRACEBACK + "a.b.Bad: no card\nat x.cpp:3\nfrom y.cpp:9\n", "a.b.Bad: no card"),
        (TRACEBACK + "KeyError: 1\n\nDuring handling of that:\n\n" + TRACEBACK + "ValueError\n", "ValueError"),
        (
            f"{TRACEBACK}AttributeError: no autoload\n\n{CAUSE}\n\n{TRACEBACK}RuntimeError: Failed to load\n",
            "RuntimeError: Failed to load (because of AttributeError: no autoload)",
        ),
        ("the driver is gone\n\n", "the driver is gone"),
        ("", "nothing"),
    ],
)
def test_last_words_are_the_exception(said: str, words: str) -> None:
    assert last_words(said) == words
