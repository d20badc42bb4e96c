"""The method page explains every word that the other pages use."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from unit.render.pages import read

from ootci.model.build import StageStatus
from ootci.model.outcome import OutcomeName
from ootci.model.run import ReportState
from ootci.model.verdict import AS_EXPECTED, BROKEN, ChangeName, VerdictName
from ootci.stages.judge import STALE_AFTER
from ootci.stages.render.status import CHANGES, OUTCOMES, REPORTS, STAGES, VERDICTS


def test_every_word_has_a_look_and_a_meaning(site: Path) -> None:
    page = read(site / "method" / "index.html")
    words = {name: [item.text for item in page.one("dl", id=name).find("dt")] for name in ("verdicts", "outcomes")}
    # From top to bottom, the first that applies is the verdict.
    assert words["verdicts"] == [VERDICTS[name].word for name in VerdictName]
    assert words["outcomes"] == [OUTCOMES[name].word for name in OutcomeName]
    assert [item.text for item in page.one("dl", id="changes").find("dt")] == [look.word for look in CHANGES.values()]
    assert set(CHANGES) == set(ChangeName)
    assert set(VERDICTS) == set(VerdictName)
    assert set(STAGES) == set(StageStatus)
    assert set(REPORTS) == set(ReportState)


def test_tones_agree_with_the_model() -> None:
    assert {name for name in VerdictName if VERDICTS[name].tone == "good"} == AS_EXPECTED
    assert {name for name in VerdictName if VERDICTS[name].tone == "bad"} == BROKEN
    assert {name for name in VerdictName if VERDICTS[name].where} >= BROKEN


def test_the_page_names_the_thresholds_that_the_judge_uses(site: Path) -> None:
    assert timedelta(hours=36) == STALE_AFTER
    assert "older than 36 hours" in read(site / "method" / "index.html").one("dl", id="verdicts").text
