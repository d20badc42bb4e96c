"""A build that another machine tests, by hand: two work folders stand for the two machines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import Tool
from misbehaving import stub_torch_wheel, write_device, write_suites

DEVICE = "dev"


@pytest.mark.deep
def test_another_machine_installs_what_was_built_and_tests_it(tmp_path: Path, ootci: Tool) -> None:
    wheel = stub_torch_wheel(tmp_path)
    # The machine that builds has no card, and nobody asks it for one.
    extra = "check: {command: [sh, -c, 'test -e \"$CARD\"']}\nbuild: {runner: {labels: [builder]}}\n"
    write_device(tmp_path / "devices", DEVICE, "passes", extra=extra)
    write_suites(tmp_path / "suites")

    here = tmp_path / "here"

    def run(*arguments: str) -> None:
        ran = ootci(*arguments, cwd=tmp_path, env={"CARD": str(here / "card") if "here" in arguments else "/no/card"})
        assert ran.code == 0, ran.out + ran.err

    run("plan", "--device", DEVICE, "--torch", wheel.name, "--work", "there")
    run("build", DEVICE, "--work", "there", "--hand-over", "handover", "--github-output", "outputs")
    outputs = dict(line.split("=") for line in (tmp_path / "outputs").read_text(encoding="utf-8").splitlines())
    told = outputs.pop("handover")
    assert outputs == {"built": "yes"}

    here.mkdir()
    shutil.copy(tmp_path / "there" / "plan.json", here)
    (here / "card").write_text("", encoding="utf-8")
    run("build", DEVICE, "--work", "here", "--take-over", "handover", "--checksum", told)
    assert not (here / "building").exists()
    run("test", DEVICE, "--work", "here", "--suites", "suites")
    run("collect", DEVICE, "--work", "here")
    report = json.loads((here / "runs" / DEVICE / "run.json").read_bytes())
    handed = json.loads((tmp_path / "handover" / "handover.json").read_bytes())
    assert report["plugin"] == handed["build"]["plugin"]
    assert report["environment"]["built_on"].startswith("another machine (")
    assert [stage["status"] for stage in report["stages"][:2]] == ["passed", "passed"]
    assert report["stages"][1]["started_at"] == handed["build"]["stages"][1]["started_at"]
    assert {item["outcome"] for item in report["outcomes"]} == {"passed"}
