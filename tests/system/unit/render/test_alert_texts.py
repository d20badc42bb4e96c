"""The texts of issues: what a maintainer needs to know, and nothing that a hostile run wants them to hold."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from unit.render.pages import pasted
from unit.render.sample import ADDRESS, Sample

from ootci.model.alert import Alert, Condition, Standing
from ootci.stages.alert import conditions
from ootci.stages.render import AlertTexts
from ootci.stages.render.alert import LIMIT_BYTES
from ootci.stages.render.commands import commands

RUNS = "https://github.com/example/repository/actions/workflows/nightly.yml"


def texts(sampled: Sample, address: str | None = ADDRESS) -> AlertTexts:
    return AlertTexts(sampled.verdicts, sampled.registry, address=address, runs_url=RUNS)


def alert(sampled: Sample, key: str) -> Alert:
    return next(item for item in conditions(sampled.verdicts) if item.key == key)


def test_a_broken_device_is_told_with_all_that_helps(sampled: Sample) -> None:
    found = alert(sampled, "device-broken/borealis")
    written = texts(sampled)
    assert written.title(found) == "Borealis B2 is broken"
    body = written.body(found, 0)
    assert f"### ❌ REGRESSED: [Borealis B2]({ADDRESS}d/borealis/)" in body
    assert "2 tests started failing" in body
    assert "| Tier | gating |" in body
    assert re.search(r"\| Since \| 2026-\d\d-\d\d, 1 night \|", body)
    assert "2 new failures:\n" in body
    item = next(item for item in sampled.registry if item.device.name == "borealis")
    verdict = next(one for one in sampled.verdicts.devices if one.device == "borealis")
    assert "@" in pasted(body)[0]
    test = pasted(body)[1].split()[3].removeprefix("tests/device/")
    assert test.startswith("integration/test_views.py")
    assert pasted(body) == commands(item, verdict, [test])
    assert "probably upstream: 2 independent plugins broke together" in body
    maintainers = next(item.device.maintainers for item in sampled.registry if item.device.name == "borealis")
    assert f"For {', '.join(maintainers)}, who answer for this device." in body
    assert "closed after 3 good nights in a row" in body
    assert "or 7 days have passed" in body


def test_a_recovery_mentions_nobody(sampled: Sample) -> None:
    good = alert(sampled, "device-broken/openreg")
    assert good.standing is Standing.ABSENT
    said = texts(sampled).comment(good, "3 good nights in a row")
    assert said.startswith("✅ 3 good nights in a row.\n")
    assert "@" not in said
    assert "Good nights in a row: 2 of 3." in texts(sampled).body(good, 2)


def test_what_is_probably_upstream_is_told_with_its_devices_and_commits(sampled: Sample) -> None:
    found = next(item for item in conditions(sampled.verdicts) if item.condition is Condition.UPSTREAM)
    body = texts(sampled).body(found, 0)
    assert body.startswith("### ❌ probably upstream")
    assert "[abc1234...def5678](https://github.com/pytorch/pytorch/compare/" in body
    rows = [line for line in body.splitlines() if line.startswith("| [")]
    assert [row.split("]")[0] for row in rows] == ["| [Borealis B2", "| [Nimbus"]
    # Nobody of theirs could mend it.
    assert "who answer for" not in body


def test_a_nightly_that_does_not_run_is_told_with_the_place_to_look_at(sampled: Sample) -> None:
    stale = sampled.verdicts.model_copy(update={"stale_reason": "the newest nightly is 50 hours old, more than 36"})
    found = conditions(stale)[0]
    written = AlertTexts(stale, sampled.registry, runs_url=RUNS)
    body = written.body(found, 0)
    assert written.title(found) == "The nightly does not run"
    assert "As of now the newest nightly is 50 hours old, more than 36." in body
    assert f"[its runs]({RUNS})" in body
    assert "](" not in AlertTexts(stale, sampled.registry).body(found, 0)


def test_a_device_that_is_gone_is_mentioned_to_nobody(sampled: Sample) -> None:
    gone = Alert(
        condition=Condition.SILENT,
        subject="borealis",
        standing=Standing.GONE,
        date=datetime(2026, 11, 1, tzinfo=timezone.utc),
        began=datetime(2026, 11, 1, tzinfo=timezone.utc),
    )
    body = texts(sampled).body(gone, 0)
    assert "is not registered any more" in body
    assert "@" not in body


def test_every_text_of_the_sample_fits_and_links_only_where_the_site_is_known(sampled: Sample) -> None:
    for found in conditions(sampled.verdicts):
        for address in (ADDRESS, None):
            written = texts(sampled, address)
            assert "\n" not in written.title(found)
            assert len(written.body(found, 1)) < LIMIT_BYTES
            assert (address is not None) or "/d/" not in written.body(found, 1)


@pytest.mark.parametrize("times", [1, 3_000])
@pytest.mark.parametrize("stale", [False, True])
def test_hostile_text_stays_text_and_mentions_nobody(sampled: Sample, times: int, stale: bool) -> None:
    words = "@everyone #1 <b> [x](javascript:1) ![y](https://e.example/p.png) `z` --> \u202e "
    evil = words * times
    devices = [
        item.model_copy(
            update={
                "reason": evil,
                "torch": item.torch.model_copy(update={"version": evil}) if item.torch else None,
                "changes": [replace(one, id=f"smoke/{evil}") for one in item.changes],
            }
        )
        for item in sampled.verdicts.devices
    ]
    clusters = [
        item.model_copy(update={"reason": evil, "signature": item.signature.model_copy(update={"text": evil})})
        for item in sampled.verdicts.clusters
    ]
    verdicts = sampled.verdicts.model_copy(
        update={
            "devices": tuple(devices),
            "clusters": tuple(clusters),
            "stale_reason": evil if stale else None,
        }
    )
    written = AlertTexts(verdicts, sampled.registry, address=ADDRESS)
    handles = {handle for item in sampled.registry for handle in item.device.maintainers}
    seen = 0
    for found in conditions(verdicts):
        for text in (written.title(found), written.body(found, 0), written.comment(found, evil)):
            seen += 1
            assert len(text.encode()) <= LIMIT_BYTES
            assert set(re.findall(r"@[\w/-]+", text)) <= handles
            assert not re.search(r"<(?!/?(code|pre)>)", text)
            assert "](javascript:" not in text
            assert set(re.findall(r"\]\((.*?)\)", text)) <= {
                f"{ADDRESS}d/{item.device.name}/" for item in sampled.registry
            } | {cluster.commits_url for cluster in verdicts.clusters}
            assert "\u202e" not in text
    assert seen > 30
