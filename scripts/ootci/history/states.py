"""What came of every test of a run, in one byte a test: the form in which runs are kept and compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ootci.model.outcome import FAILURES, OutcomeName, Way

ABSENT = 0
"""The state of a test that is not in the run."""

_STATES: tuple[tuple[OutcomeName, Way | None], ...] = tuple(
    (outcome, way) for way in (None, *Way) for outcome in OutcomeName
)
# The names stand in files, so that the order of the enums may change and the files stay readable.
_NAMES = ("", *(outcome.value if way is None else f"{outcome.value} {way.value}" for outcome, way in _STATES))
_BY_NAME = {name: state for state, name in enumerate(_NAMES)}
_BY_PARTS = {parts: state for state, parts in enumerate(_STATES, start=1)}


def state_of(outcome: OutcomeName, ran: Way | None) -> int:
    """The state of a test that was in a run."""
    return _BY_PARTS[outcome, ran]


def outcome_of(state: int) -> OutcomeName | None:
    """The outcome that a state means; None for a test that is not in the run."""
    return _STATES[state - 1][0] if state else None


def way_of(state: int) -> Way | None:
    """How the work of the test was done, where that was counted."""
    return _STATES[state - 1][1] if state else None


def _states_with(outcomes: Iterable[OutcomeName]) -> bytes:
    wanted = set(outcomes)
    return bytes(state for state, (outcome, _) in enumerate(_STATES, start=1) if outcome in wanted)


def by_outcome(values: Mapping[OutcomeName, int], otherwise: int) -> bytes:
    """A table for ``bytes.translate`` that makes of each state the value of its outcome.

    Args:
        values: the value of each outcome, a byte.
        otherwise: the value of an absent test, and of outcomes that have none.

    """
    known = [values.get(outcome, otherwise) for outcome, _ in _STATES]
    return bytes((otherwise, *known)).ljust(256, bytes((otherwise,)))


_FAILING = re.compile(b"[" + re.escape(_states_with(FAILURES)) + b"]")
_SPAN = re.compile(rb"[^\x00]+")
_RUN = re.compile(rb"(.)\1*", re.DOTALL)


def failing_rows(states: bytes) -> list[int]:
    """The rows of the tests that failed, ascending."""
    return [found.start() for found in _FAILING.finditer(states)]


def present_rows(states: bytes) -> list[int]:
    """The rows of the tests that are in the run, ascending."""
    return [row for found in _SPAN.finditer(states) for row in range(*found.span())]


def with_outcomes(states: bytes, outcomes: Iterable[OutcomeName]) -> list[int]:
    """The rows of the tests that came to one of the outcomes, ascending."""
    pattern = re.compile(b"[" + re.escape(_states_with(outcomes)) + b"]")
    return [found.start() for found in pattern.finditer(states)]


def changed_rows(before: bytes, after: bytes) -> list[int]:
    """The rows whose states differ, ascending; the shorter of the two is as if more tests were absent at its end."""
    return [row for start, end in _changed(before, after) for row in range(start, end)]


def _changed(before: bytes, after: bytes) -> Iterator[tuple[int, int]]:
    size = max(len(before), len(after))
    # Numbers of many thousand digits are the fastest way that Python itself has of comparing bytes one by one.
    difference = int.from_bytes(before.ljust(size, b"\0"), "big") ^ int.from_bytes(after.ljust(size, b"\0"), "big")
    return (found.span() for found in _SPAN.finditer(difference.to_bytes(size, "big")))


def encode(before: bytes, after: bytes) -> dict[str, str]:
    """What has to be done to ``before`` to get ``after``: the rows that change, by the name of their new state.

    Rows are written as distances from the row before, ``+n`` after one standing for n more rows in sequence:
    ``3 2+4`` are the rows 3 and 5 to 9. A test that is absent now stands under the empty name.
    """
    size = max(len(before), len(after))
    padded = after.ljust(size, b"\0")
    parts: dict[int, list[str]] = {}
    last: dict[int, int] = {}
    for start, end in _changed(before, after):
        for found in _RUN.finditer(padded, start, end):
            state, (first, stop) = found[0][0], found.span()
            gap = str(first - last.get(state, 0))
            parts.setdefault(state, []).append(gap if stop - first == 1 else f"{gap}+{stop - first - 1}")
            last[state] = stop - 1
    return {_NAMES[state]: " ".join(texts) for state, texts in sorted(parts.items())}


def decode(before: bytes, changes: dict[str, str], size: int) -> bytes:
    """The states that ``encode`` was given as ``after``.

    Args:
        before: the states that the changes were made against.
        changes: what ``encode`` returned.
        size: how many rows there are.

    Raises:
        ValueError: the text is no such thing.

    """
    states = bytearray(before.ljust(size, b"\0"))
    for name, text in changes.items():
        if name not in _BY_NAME:
            raise ValueError(f"there is no outcome `{name}`")
        for start, end in spans(text):
            if end > size:
                raise ValueError(f"there is no row {end - 1}")
            states[start:end] = bytes((_BY_NAME[name],)) * (end - start)
    return bytes(states)


def spans(text: str) -> Iterator[tuple[int, int]]:
    """The rows of such a text, as the first of each sequence and the one after its last.

    Raises:
        ValueError: the text is no such thing.

    """
    last = 0
    for part in text.split():
        gap, _, more = part.partition("+")
        start = last + int(gap)
        last = start + (int(more) if more else 0)
        if start < 0 or last < start:
            raise ValueError(f"`{part}` is no row")
        yield start, last + 1


def row_text(rows: Iterable[int]) -> str:
    """Ascending rows as text; ``rows_of`` reads it."""
    parts: list[tuple[int, int]] = []
    for row in rows:
        if parts and parts[-1][1] == row:
            parts[-1] = (parts[-1][0], row + 1)
        else:
            parts.append((row, row + 1))
    return _span_text(parts)


def _span_text(parts: Iterable[tuple[int, int]]) -> str:
    """Sequences of rows, each as its first and the one after its last, as text."""
    texts = []
    last = 0
    for start, end in parts:
        texts.append(f"{start - last}" if end == start + 1 else f"{start - last}+{end - start - 1}")
        last = end - 1
    return " ".join(texts)


def painted(states: bytes) -> tuple[tuple[OutcomeName, str], ...]:
    """What came of the tests, by outcome, to be read in order: a row that is named again has the later outcome.

    The first entry is the most common outcome and names the rows of all tests, so that the long sequences of tests that
    passed are not written in pieces. Rows are texts as of ``row_text``. How the work was done is left out.
    """
    by_size = sorted(count(states).items(), key=lambda item: -item[1])
    if not by_size:
        return ()
    others = [outcome for outcome in OutcomeName if outcome in dict(by_size[1:])]
    everything = _span_text(found.span() for found in _SPAN.finditer(states))
    return (
        (by_size[0][0], everything),
        *((outcome, _span_text(_sequences(states, _states_with((outcome,))))) for outcome in others),
    )


def _sequences(states: bytes, wanted: bytes) -> Iterator[tuple[int, int]]:
    """The sequences of rows whose states are wanted."""
    return (found.span() for found in re.finditer(b"[" + re.escape(wanted) + b"]+", states))


def rows_of(text: str) -> list[int]:
    """The rows of such a text, ascending.

    Raises:
        ValueError: the text is no such thing.

    """
    return [row for start, end in spans(text) for row in range(start, end)]


def masked(states: bytes, mask: bytes) -> bytes:
    """The states of the rows whose byte in the mask has all bits; the others are absent."""
    size = len(states)
    return (int.from_bytes(states, "big") & int.from_bytes(mask[:size].ljust(size, b"\0"), "big")).to_bytes(size, "big")


def merged(states: bytes, others: bytes) -> bytes:
    """The states of two runs that have no row in common."""
    size = max(len(states), len(others))
    both = int.from_bytes(states.ljust(size, b"\0"), "big") | int.from_bytes(others.ljust(size, b"\0"), "big")
    return both.to_bytes(size, "big")


def count(states: bytes) -> dict[OutcomeName, int]:
    """How many tests came to which outcome."""
    found: dict[OutcomeName, int] = {}
    # Taking one state after the other out of the rest is the fastest way that Python itself has.
    rest = states.translate(None, bytes((ABSENT,)))
    while rest:
        outcome = _STATES[rest[0] - 1][0]
        others = rest.translate(None, rest[:1])
        found[outcome] = found.get(outcome, 0) + len(rest) - len(others)
        rest = others
    return found
