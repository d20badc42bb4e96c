"""The judge and the pages together: whatever the real judge makes of the sample's runs can be shown."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from unit.render.pages import read
from unit.render.sample import NOW, Sample

from ootci.stages.judge import judge
from ootci.stages.render import render, step_summary


def test_what_the_judge_says_stands_on_the_pages(sampled: Sample, judged_site: Path) -> None:
    verdicts = judge(sampled.registry, sampled.history, NOW)
    front = read(judged_site / "index.html")
    assert front.find("p", class_="sentence") == []  # the names of those that block, and the counts, say it
    for item in verdicts.devices:
        word = item.verdict.value.replace("_", " ")
        assert front.one("li", id=item.device).one("p", class_="result").one("strong").text == word
        assert read(judged_site / "d" / item.device / "index.html").one("h2", id="verdict").text == word
    assert verdicts.gate.answer == "no"
    assert "**May one merge: no.**" in step_summary(verdicts, sampled.registry)


def test_a_device_that_fell_silent_tells_since_when_and_counts_no_nights(sampled: Sample, tmp_path: Path) -> None:
    verdicts = judge(sampled.registry, sampled.history, NOW + timedelta(days=5))
    render(sampled.registry, sampled.history, verdicts, tmp_path / "site")
    silent = [item for item in verdicts.devices if item.since and not item.nights and not item.broken_since]
    assert silent
    for item in silent:
        since = f"{item.since:%Y-%m-%d}"
        row = read(tmp_path / "site" / "index.html").one("li", id=item.device)
        assert row.one("p", class_="since").one("time").attributes["datetime"] == since
        page = read(tmp_path / "site" / "d" / item.device / "index.html")
        said = [line.text.partition(" · ")[0] for line in page.find("p", class_="muted")]
        assert f"Since {since}" in said
        assert f"| {since} |" in step_summary(verdicts, sampled.registry)
