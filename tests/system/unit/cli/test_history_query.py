"""``ootci history query`` reads as a stranger would ask: what is so now, since when, and what came before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.samples import changed, on_torch, plan, run, stored

from ootci.model.build import PluginBuild

from commands import Tool  # isort: skip

ONE = "smoke/test_x.py::one"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Two nights on which a test passed, one without a report, and two on which it failed with a hostile message."""
    history = stored(tmp_path / "data", *map(plan, range(5)))
    for number, outcome in ((0, "passed"), (1, "passed"), (3, "failed"), (4, "failed")):
        record = run(number, smoke={"one": outcome, "other": "passed"})
        record = changed(record, message=f"\x1b[31mno\n::error::{number}" + "!" * 200)
        record = on_torch(record, f"2.15.0.dev2026110{number}", f"{number}" * 40)
        plugin = PluginBuild(package="p", version="1.0", source="p", commit="c" * 40)
        history.append_run(record.model_copy(update={"plugin": plugin}))
    return tmp_path


def test_a_life_is_told_in_stretches(ootci: Tool, work: Path) -> None:
    ran = ootci("history", "query", "dev", ONE, cwd=work)
    assert (ran.code, ran.err) == (0, "")
    lines = [line.split("  ") for line in ran.out.splitlines()]
    compare = f"https://github.com/pytorch/pytorch/compare/{'1' * 40}...{'3' * 40}"
    assert [" | ".join(part.strip() for part in line if part) for line in lines] == [
        f"{ONE} on dev",
        "failed since 2026-11-04; passed last on 2026-11-02; in between the plugin did not change, and "
        f"PyTorch's commits are {compare}",
        "of 5: 2 passed, 2 failed, 1 no report",
        "",
        "nights | runs | outcome | torch | plugin | message",
        "2026-11-01 .. 2026-11-02 | 2 | passed | 2.15.0.dev20261100 (0000000000) .. 2.15.0.dev20261101 (1111111111) | "
        "1.0 (cccccccccc)",
        "2026-11-03 | - | no report | - | -",
        "2026-11-04 .. 2026-11-05 | 2 | failed | 2.15.0.dev20261103 (3333333333) .. 2.15.0.dev20261104 (4444444444) | "
        "1.0 (cccccccccc) | no ::error::4" + "!" * 85 + " …",
    ]


def test_as_json_each_night_is_by_itself(ootci: Tool, work: Path) -> None:
    life = json.loads(ootci("history", "query", "dev", ONE, "--format", "json", cwd=work).out)
    assert [entry["outcome"] for entry in life["entries"]] == ["passed", "passed", None, "failed", "failed"]
    assert life["entries"][2]["absent"] == "no report"


def test_several_that_fit_are_listed(ootci: Tool, work: Path) -> None:
    ran = ootci("history", "query", "dev", "smoke/*", cwd=work)
    assert (ran.code, ran.out) == (0, f"{ONE}\nsmoke/test_x.py::other\n")
    assert ran.err == "2 tests fit; name one of them to see its life\n"
    ran = ootci("history", "query", "dev", "smoke/*", "--format", "json", cwd=work)
    assert json.loads(ran.out) == [ONE, "smoke/test_x.py::other"]
