"""The front page's sentence: every device is in exactly one of its numbers."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from unit.samples import night, plan
from unit.stages.alert_nights import cluster

from ootci.model.cluster import Cause
from ootci.model.verdict import DeviceVerdict, Night, VerdictName
from ootci.stages.judge.clusters import headline_numbers, sentence


def _device(number: int, verdict: VerdictName, is_new: bool, is_first: bool, new: int, fallback: bool) -> DeviceVerdict:
    last = Night(plan_id="night001", date=night(1), verdict=verdict, fallback=fallback)
    return DeviceVerdict(
        device=f"dev{number}",
        verdict=verdict,
        reason="",
        is_new=is_new,
        is_first=is_first,
        new_failures=new,
        history=(last,),
    )


_KINDS = st.tuples(st.sampled_from(VerdictName), st.booleans(), st.booleans(), st.integers(0, 2), st.booleans())


@given(st.lists(_KINDS, max_size=12), st.sets(st.integers(0, 11)))
def test_the_numbers_add_up_to_that_of_the_devices(
    kinds: list[tuple[VerdictName, bool, bool, int, bool]], alike: set[int]
) -> None:
    devices = [_device(number, *kind) for number, kind in enumerate(kinds)]
    clusters = [cluster("x", Cause.UPSTREAM, 2, *(f"dev{number}" for number in sorted(alike)))] if alike else []
    assert sum(headline_numbers(devices, clusters).values()) == len(devices)
    said = sentence(devices, plan(1), clusters)
    first, *others = said.removesuffix(".").split(" · ")
    found = re.search(r"(\d+) of (\d+) devices? as expected", first)
    assert found or first.endswith(": no device is active"), first
    good, active = map(int, found.groups()) if found else (0, 0)
    numbers = {text.partition(" ")[2]: int(text.split()[0]) for text in others}
    paused = numbers.pop("paused", 0)
    assert good + sum(numbers.values()) == active
    assert active + paused == len(devices)
