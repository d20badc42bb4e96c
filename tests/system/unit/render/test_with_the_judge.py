"""The judge and the pages together: whatever the real judge makes of the sample's runs can be shown."""

from __future__ import annotations

from pathlib import Path

from unit.render.pages import read
from unit.render.sample import NOW, Sample

from ootci.stages.judge import judge
from ootci.stages.render import render, step_summary


def test_what_the_judge_says_stands_on_the_pages(sampled: Sample, tmp_path: Path) -> None:
    verdicts = judge(sampled.registry, sampled.history, NOW)
    render(sampled.registry, sampled.history, verdicts, tmp_path / "site")
    front = read(tmp_path / "site" / "index.html")
    assert front.one("h1").text == " ".join(verdicts.summary.split())
    for item in verdicts.devices:
        word = item.verdict.value.replace("_", " ")
        assert front.one("tr", id=item.device).find("td", class_="verdict")[0].text == word
        assert read(tmp_path / "site" / "d" / item.device / "index.html").one("h2", id="verdict").text == word
    assert verdicts.gate.may_merge is False
    assert "**May one merge: no.**" in step_summary(verdicts, sampled.registry)
