"""Numbers and durations as people read them."""

from __future__ import annotations

import pytest

from ootci.model.words import duration, many


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0 s"),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (99.4, "99 s"),
        (99.6, "1 m 40 s"),
        (3599.4, "59 m 59 s"),
        (3599.6, "1 h 00 m"),
        (7620, "2 h 07 m"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_with_their_nouns() -> None:
    assert [many(count, "night") for count in (0, 1, 2, 1204)] == ["0 nights", "1 night", "2 nights", "1,204 nights"]
    assert many(2, "capability", "capabilities") == "2 capabilities"
