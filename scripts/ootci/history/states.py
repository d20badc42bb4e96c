"""The outcomes of a run's tests, a byte each: the form in which runs are compared, and as letters the stored one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from ootci.model.outcome import NOT_EXECUTED, OutcomeName, Way

ABSENT = 0
"""The state of a test that is not in the run."""

OUTCOME_LETTERS = {
    OutcomeName.PASSED: "p",
    OutcomeName.FAILED: "f",
    OutcomeName.ERROR: "e",
    OutcomeName.CRASHED: "c",
    OutcomeName.TIMED_OUT: "t",
    OutcomeName.SKIPPED: "s",
    OutcomeName.XFAILED: "x",
    OutcomeName.XPASSED: "X",
    OutcomeName.UNSUPPORTED: "u",
    OutcomeName.NOT_RUN: "n",
}
WAY_LETTERS = {None: "-", Way.NATIVE: "n", Way.FALLBACK: "f"}
"""The letters in files of runs for the outcome of a test, and for how its work was done."""
ABSENT_LETTER = "."
"""The letter for a test that is not in the run, where the tests of several runs are listed together."""

_WAY = 16
"""A state is the number of its outcome, and so many times the number of its way."""
_OUTCOMES = {outcome: number for number, outcome in enumerate(OUTCOME_LETTERS, 1)}
_WAYS = {way: _WAY * number for number, way in enumerate(WAY_LETTERS)}
_BY_PARTS = {(outcome, way): _OUTCOMES[outcome] + _WAYS[way] for way in WAY_LETTERS for outcome in OUTCOME_LETTERS}
_BY_STATE = {state: parts for parts, state in _BY_PARTS.items()}
_OUTCOMES_TO_STATES = bytes.maketrans("".join(OUTCOME_LETTERS.values()).encode(), bytes(_OUTCOMES.values()))
_WAYS_TO_STATES = bytes.maketrans("".join(WAY_LETTERS.values()).encode(), bytes(_WAYS.values()))
_STATES_TO_OUTCOMES = bytes.maketrans(
    bytes((ABSENT, *_BY_STATE)),
    "".join((ABSENT_LETTER, *(OUTCOME_LETTERS[outcome] for outcome, _ in _BY_STATE.values()))).encode(),
)
_STATES_TO_WAYS = bytes.maketrans(bytes(_BY_STATE), "".join(WAY_LETTERS[way] for _, way in _BY_STATE.values()).encode())
_OUTCOME, _WAY_OF_ONE = (
    re.compile(f"[{''.join(letters)}][0-9]*") for letters in (OUTCOME_LETTERS.values(), sorted(WAY_LETTERS.values()))
)
_LETTERS = (*OUTCOME_LETTERS.values(), *WAY_LETTERS.values(), ABSENT_LETTER)
_SAME = re.compile("|".join((*(f"{re.escape(letter)}+" for letter in _LETTERS), ".")))
"""One expression for each letter: a third of the time of one that refers back to any letter."""


def letters_of(states: bytes) -> tuple[str, str]:
    """The outcomes of tests and the ways of their work as letters, a count after each letter that is repeated.

    ``p3f`` is passed, passed, passed, failed. The second text is empty where no way is known.
    """
    ways = states.translate(_STATES_TO_WAYS).decode()
    return _counted(states.translate(_STATES_TO_OUTCOMES).decode()), _counted(ways) if ways.strip("-") else ""


def outcome_letters(states: bytes) -> str:
    """The outcome of each row as a letter, as of ``letters_of``, up to the last row whose test is in the run."""
    return _counted(states.rstrip(bytes((ABSENT,))).translate(_STATES_TO_OUTCOMES).decode())


# On most nights a suite has the letters of the night before.
@lru_cache(maxsize=16)
def states_of(outcomes: str, ways: str, size: int) -> bytes:
    """The states that ``letters_of`` was given.

    Raises:
        ValueError: the texts are no such letters, or are not of so many tests.

    """
    states = _repeated(outcomes, size, _OUTCOME).translate(_OUTCOMES_TO_STATES)
    if not ways:
        return states
    return merged(states, _repeated(ways, size, _WAY_OF_ONE).translate(_WAYS_TO_STATES))


def _counted(letters: str) -> str:
    return "".join(map(_shortened, _SAME.findall(letters)))


@lru_cache(maxsize=4096)
def _shortened(same: str) -> str:
    """Equal letters as the letter and their count."""
    return same if len(same) == 1 else f"{same[0]}{len(same)}"


def _repeated(text: str, size: int, letter: re.Pattern[str]) -> bytes:
    counted = letter.findall(text)
    if "".join(counted) != text:
        raise ValueError(f"`{text[:40]}` is no row of letters")
    # Looked at first: a damaged count may be larger than memory.
    if sum(map(_count, counted)) == size:
        return "".join(map(_expanded, counted)).encode()
    raise ValueError(f"there are {size} tests, and another number of letters")


@lru_cache(maxsize=4096)
def _count(counted: str) -> int:
    return int(counted[1:] or 1)


@lru_cache(maxsize=4096)
def _expanded(counted: str) -> str:
    """A letter, repeated by its count."""
    return counted[0] * _count(counted)


def state_of(outcome: OutcomeName, ran: Way | None) -> int:
    """The state of a test that was in a run."""
    return _BY_PARTS[outcome, ran]


def outcome_of(state: int) -> OutcomeName | None:
    """The outcome that a state means; None for a test that is not in the run."""
    return _BY_STATE[state][0] if state else None


def way_of(state: int) -> Way | None:
    """How the work of the test was done, where that was counted."""
    return _BY_STATE[state][1] if state else None


def by_outcome(values: Mapping[OutcomeName, int], otherwise: int) -> bytes:
    """A table for ``bytes.translate`` that makes of each state the value of its outcome, else ``otherwise``, a byte
    each.
    """
    table = bytearray([otherwise] * 256)
    for state, (outcome, _) in _BY_STATE.items():
        table[state] = values.get(outcome, otherwise)
    return bytes(table)


EXECUTED = by_outcome({name: 255 for name in OutcomeName if name not in NOT_EXECUTED}, otherwise=0)
"""All bits where a test was executed."""
COLLECTED = by_outcome(dict.fromkeys(OutcomeName, 255), otherwise=0)
"""All bits where a test is in the run."""
_NOT_ZERO = bytes(1) + bytes([255] * 255)
_SPAN = re.compile(rb"\xff\xff*")
"""Begins with one byte, for which Python searches fifty times as fast as for any byte that is not 0."""


def present_rows(states: bytes) -> list[int]:
    """The rows of the tests that are in the run, ascending."""
    return _rows(states.translate(_NOT_ZERO))


def _rows(chosen: bytes) -> list[int]:
    """The rows whose byte is 255."""
    return [row for found in _SPAN.finditer(chosen) for row in range(*found.span())]


def number_of(states: bytes | bytearray) -> int:
    """States, or another byte for each row, as one number, row 0 the lowest byte.

    Numbers of many thousand digits are the fastest way that Python itself has of comparing bytes one by one.
    """
    return int.from_bytes(states, "little")


def rows_in(number: int) -> list[int]:
    """The rows whose byte of a number is not 0, ascending."""
    return present_rows(bytes_of(number))


def number_with(rows: Collection[int]) -> int:
    """A number with a byte for each row: all bits where the row is one of these, else none."""
    chosen = bytearray(max(rows, default=-1) + 1)
    for row in rows:
        chosen[row] = 255
    return number_of(chosen)


def bytes_of(number: int) -> bytes:
    """The bytes of a number up to its last row that is not 0."""
    return number.to_bytes((number.bit_length() + 7) // 8, "little")


def with_outcomes(states: bytes, outcomes: Iterable[OutcomeName]) -> list[int]:
    """The rows of the tests with one of the outcomes, ascending."""
    return _rows(states.translate(_one_of(frozenset(outcomes))))


@lru_cache
def _one_of(outcomes: frozenset[OutcomeName]) -> bytes:
    return by_outcome(dict.fromkeys(outcomes, 255), otherwise=0)


def changed_rows(before: bytes, after: bytes) -> list[int]:
    """The rows whose states differ, ascending; the shorter of the two is as if more tests were absent at its end."""
    return rows_in(number_of(before) ^ number_of(after))


def masked(states: bytes, mask: int) -> bytes:
    """The states of the rows whose byte in the mask has all bits; the others are absent."""
    return (number_of(states) & mask).to_bytes(len(states), "little")


def merged(states: bytes, others: bytes) -> bytes:
    """The states of two runs that have no row in common."""
    return (number_of(states) | number_of(others)).to_bytes(max(len(states), len(others)), "little")


def count(states: bytes) -> dict[OutcomeName, int]:
    """How many tests have which outcome."""
    found: dict[OutcomeName, int] = {}
    # Taking one state after the other out of the rest is the fastest way that Python itself has.
    rest = states.translate(None, bytes((ABSENT,)))
    while rest:
        outcome = _BY_STATE[rest[0]][0]
        others = rest.translate(None, rest[:1])
        found[outcome] = found.get(outcome, 0) + len(rest) - len(others)
        rest = others
    return found
