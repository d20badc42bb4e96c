"""Pages as they are, so that a change of looks is seen as a difference and not only as a passing test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from unit.render.sample import Sample
from unit.render.sample_clusters import ALIKE, GONE
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.stages.render import step_summary

PAGES = {
    "front.html": "index.html",
    "device-regressed.html": "d/borealis/index.html",
    "device-known.html": "d/lumen/index.html",
    "device-never-ran.html": "d/indigo/index.html",
    "clusters.html": "c/index.html",
    "cluster.html": f"c/{ALIKE.id}/index.html",
    "gone.html": f"c/{GONE.id}/index.html",
    "run-build-broken.html": f"d/dune/{plan_id(NIGHTS - 1)}/index.html",
    "health.html": "health/index.html",
    "nightly.html": f"n/{plan_id(NIGHTS - 1)}/index.html",
    "nightlies.html": "n/index.html",
    "known.html": "known/index.html",
    "latest-silent.html": "d/fjord/latest/index.html",
    "flaky.html": "flaky/index.html",
    "lives.html": "t/index.html",
    "life.html": "t/integration/test_views/index.html",
    "device-trends.html": "d/cobalt/trends/index.html",
    "trends.html": "trends/index.html",
    "operators.html": "operators/index.html",
    "device-operators.html": "operators/jasper/index.html",
    "registry.html": "devices/index.html",
    "add.html": "devices/add/index.html",
    "diff.html": "diff/index.html",
    "gate.json": "gate.json",
}


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, site: Path, golden: Callable[[str, str], None]) -> None:
    golden(name, (site / PAGES[name]).read_text(encoding="utf-8"))


def test_step_summary(sampled: Sample, golden: Callable[[str, str], None]) -> None:
    golden("summary.md", step_summary(sampled.verdicts, sampled.registry))
