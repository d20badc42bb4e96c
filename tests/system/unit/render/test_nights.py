"""A device's broken nights and the first night of the streak that each is in."""

from __future__ import annotations

from datetime import timedelta

import pytest
from unit.samples import night

from ootci.model.verdict import Night, VerdictName
from ootci.stages.render.nights import broken_streaks

VERDICTS = {
    "b": VerdictName.FAILING,
    "o": VerdictName.OK,
    "-": VerdictName.NO_DATA,
}


@pytest.mark.parametrize(
    ("nights", "streaks"),
    [
        ("obb", [(1, 1), (2, 1)]),
        ("bob", [(0, 0), (2, 2)]),
        ("b-b", [(0, 0), (2, 0)]),
        # A capital letter is a night on a torch that stood in for the nightly: it neither begins nor ends a streak.
        ("oBb", [(2, 2)]),
        ("bOb", [(0, 0), (2, 0)]),
        ("bBb", [(0, 0), (2, 0)]),
    ],
)
def test_a_streak_goes_on_until_a_night_as_expected(nights: str, streaks: list[tuple[int, int]]) -> None:
    history = [
        Night(
            plan_id=f"night{number}",
            date=night(0) + timedelta(days=number),
            verdict=VERDICTS[letter.lower()],
            fallback=letter.isupper(),
        )
        for number, letter in enumerate(nights)
    ]
    assert [(history.index(one), history.index(first)) for one, first in broken_streaks(history)] == streaks
