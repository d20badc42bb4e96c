"""Runs on the torches of `torch.also` are judged by themselves, and nothing of the nightly rests on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import night, plan, run
from unit.stages.judging import judged
from unit.stages.other_torches import BAD, GOOD, dev, on, planned

from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import OtherTorchVerdict, VerdictName


def found(tmp_path: Path, *records: Plan | Run, **values: object) -> dict[str, OtherTorchVerdict]:
    return {one.run_as: one for one in judged(tmp_path, *records, registry=[dev(**values)]).also}


@pytest.mark.parametrize("names", [("dev",), ()], ids=["beside the nightly", "alone"])
def test_what_fails_on_another_torch_changes_nothing_of_the_nightly(tmp_path: Path, names: tuple[str, ...]) -> None:
    nightly = [plan(0), run(0, **GOOD)]
    own = run(7, **GOOD) if names else None
    without = [*nightly, *([plan(7), own] if own else [])]
    beside = [*nightly, planned(7, *names, dev_release="2.14.1"), *([own] if own else [])]
    ours = judged(tmp_path / "a", *without, registry=[dev()], now=night(8))
    both = judged(tmp_path / "b", *beside, on(7, "dev_release", "2.14.1", **BAD), registry=[dev()], now=night(8))
    assert [one.verdict for one in both.also] == [VerdictName.SMOKE_BROKEN, VerdictName.NEVER_RAN]
    assert both.devices == ours.devices
    assert (both.gate, both.gate_record, both.clusters) == (ours.gate, ours.gate_record, ours.clusters)
    assert (both.summary, both.plan_id) == (ours.summary, ours.plan_id)


def test_since_when_is_counted_on_one_minor_version_whichever_run_tested_it(tmp_path: Path) -> None:
    release, previous = "dev_release", "dev_previous_release"
    records = [
        planned(0, "dev", dev_release="2.14.0"),
        on(0, release, "2.14.0", **GOOD),
        planned(7, "dev", dev_release="2.14.1"),
        on(7, release, "2.14.1", **GOOD),
        planned(14, "dev", dev_release="2.15.0", dev_previous_release="2.14.1"),
        on(14, release, "2.15.0", **BAD),
        on(14, previous, "2.14.1", **GOOD),
    ]
    both = found(tmp_path, *records)
    assert [(one.torch, one.verdict, one.since) for one in both.values()] == [
        ("2.15.0", VerdictName.SMOKE_BROKEN, night(14)),
        ("2.14.1", VerdictName.OK, night(0)),
    ]


def test_an_old_result_is_no_result(tmp_path: Path) -> None:
    records = [planned(0, "dev", dev_release="2.14.0"), on(0, "dev_release", "2.14.0", **GOOD), plan(9)]
    assert found(tmp_path, *records)["dev_release"].verdict is VerdictName.NO_DATA
    paused = found(tmp_path / "paused", *records, paused={"reason": "It moves."})
    assert paused["dev_release"].verdict is VerdictName.PAUSED
