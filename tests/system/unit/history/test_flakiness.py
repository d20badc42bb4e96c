"""Which tests fail and pass by turns: both directions, and enough nights to tell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.samples import device, lettered, night, plan, request, run

from ootci.history.excuses import Record
from ootci.history.flakiness import LATELY, SAMPLE, FlakyTest, flaky_tests, tells
from ootci.history.stored import StoredRun, stored
from ootci.history.tables import TestTable
from ootci.model.torch_build import Channel

TWO = "integration/test_x.py::two"


def nights(letters: str) -> list[StoredRun]:
    """A night for each letter: the outcome of the test `two`; `a` is a failure that passed when it was run again."""
    table = TestTable()
    return [stored(lettered(number, letter), table) for number, letter in enumerate(letters)]


@pytest.mark.parametrize(
    ("letters", "turns", "again", "failed", "sample"),
    [
        ("pppppapppp", 1, 1, 1, 10),
        ("pppfppfppp", 2, 0, 2, 10),
        ("pppfsnpfppp.p", 2, 0, 2, 10),
        ("ffffpfpppp", 2, 0, 5, 10),
        ("ppppppepea", 2, 1, 3, 10),
        ("pppppppfap", 1, 1, 2, 10),
        ("pfpfpffffff", 2, 0, 8, 11),
        ("apppppppppff", 1, 1, 3, 12),
    ],
)
def test_turns_are_counted(letters: str, turns: int, again: int, failed: int, sample: int) -> None:
    (found,) = flaky_tests(nights(letters))
    assert (found.id, found.turns, found.again, found.failed, found.sample) == (TWO, turns, again, failed, sample)


@pytest.mark.parametrize(
    "letters",
    [
        "pppppppppp",
        "ffffffffff",
        "pppppfffff",
        "pppfffpppp",
        "ppppfpppff",
        "ppppfpfpffffff",
        "pfpfp" + 15 * "p" + "ffff",
        "a" + 20 * "p" + "fff",
        "a" * (SAMPLE - 1),
        "pfpfpfpfs",
        "",
    ],
)
def test_one_direction_a_single_repair_or_too_few_nights_are_not_flaky(letters: str) -> None:
    assert flaky_tests(nights(letters)) == ()


@settings(max_examples=60, deadline=None)
@given(st.text("ppppppfas.", min_size=SAMPLE, max_size=LATELY + 10))
def test_the_judge_excuses_what_the_page_names(letters: str) -> None:
    *before, tonight = nights(f"{letters}f")
    record = Record()
    for item in before:
        record.add(item)
    excused = record.excuses(plan(len(before)), tonight, None).flaky
    assert excused == {test.id for test in flaky_tests([*before, tonight])}


def test_the_newest_night_on_which_it_failed_is_named() -> None:
    made = nights("ppppapppap")
    assert flaky_tests(made)[0].plan_id == made[8].head.plan_id


def test_the_most_turns_for_their_nights_stand_first() -> None:
    table, made = TestTable(), []
    for number in range(SAMPLE):
        outcomes = {name: "failed" if number in bad else "passed" for name, bad in _BAD.items()}
        made.append(stored(run(number, integration=outcomes), table))
    found = flaky_tests(made)
    assert [test.id.rpartition("::")[2] for test in found] == ["often", "longer", "twice"]
    assert isinstance(found[0], FlakyTest)


_BAD = {"twice": (2, 5), "often": (1, 3, 5), "longer": (2, 3, 6), "once": (4,)}


def test_only_nights_of_the_newest_one_s_channel_are_looked_at_and_the_newest_of_them() -> None:
    made = nights("a" + LATELY * "p")
    assert flaky_tests(made) == ()
    (found,) = flaky_tests(made[:-1])
    assert found.sample == LATELY
    release = {"channel": Channel.RELEASE, "wanted_channel": Channel.RELEASE}
    of_releases = [
        replace(item, head=item.head.model_copy(update={"torch_request": request().model_copy(update=release)}))
        for item in nights("apppppppppp")
    ]
    assert flaky_tests([*of_releases, *nights("pppp")]) == ()
    assert flaky_tests([*nights("pppp"), *of_releases])


def test_a_night_on_another_torch_and_one_in_a_bad_range_tell_nothing() -> None:
    bad = {"first": night(1).date(), "last": night(1).date(), "reason": "No network.", "link": "https://example.com/1"}
    ranges = device(bad_ranges=[bad]).device.bad_ranges
    first, second = nights("pp")
    assert (tells(ranges, plan(0), first), tells(ranges, plan(1), second)) == (True, False)
    instead = request().model_copy(update={"channel": Channel.RELEASE})
    head = first.head.model_copy(update={"torch_request": instead})
    assert not tells(ranges, plan(0), replace(first, head=head))
