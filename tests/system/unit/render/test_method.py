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
from ootci.stages.render.method import CHANGE_MEANINGS, OUTCOME_MEANINGS, VERDICT_MEANINGS
from ootci.stages.render.status import CHANGES, OUTCOMES, REPORTS, STAGES, VERDICTS


def test_every_word_has_a_look_and_a_meaning() -> None:
    assert set(VERDICTS) == set(VerdictName)
    assert list(VERDICT_MEANINGS) == list(VerdictName)
    assert list(OUTCOMES) == list(OUTCOME_MEANINGS) == list(OutcomeName)
    assert set(CHANGES) == set(CHANGE_MEANINGS) == set(ChangeName)
    assert set(STAGES) == set(StageStatus)
    assert set(REPORTS) == set(ReportState)


def test_tones_agree_with_the_model() -> None:
    assert {name for name in VerdictName if VERDICTS[name].tone == "good"} == AS_EXPECTED
    assert {name for name in VerdictName if VERDICTS[name].tone == "bad"} == BROKEN
    assert {name for name in VerdictName if VERDICTS[name].where} >= BROKEN


def test_the_page_names_the_thresholds_that_the_judge_uses() -> None:
    assert timedelta(hours=36) == STALE_AFTER
    assert "36 hours" in VERDICT_MEANINGS[VerdictName.NO_DATA]


def test_verdicts_stand_in_their_order_of_precedence(site: Path) -> None:
    words = [item.text for item in read(site / "method" / "index.html").one("dl", id="verdicts").find("dt")]
    assert words == [name.value.replace("_", " ") for name in VerdictName]
