"""The README's commands, in a fresh checkout: the real torch, the real plugin, the real suites, one true page."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import Nightly, Tool, run_command, with_smoke_only
from drawn import deep

from ootci.history.store import History
from ootci.model.device import load_device
from ootci.stages.render.commands import commands

pytestmark = [pytest.mark.torch, pytest.mark.long]


def _commands(text: str) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def _json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_the_readme_has_no_command_that_these_tests_do_not_run(root: Path) -> None:
    assert _commands((root / "README.md").read_text(encoding="utf-8")) == [
        "make nightly",
        ".venv/bin/ootci device check devices/openreg.yaml",
        "make test",  # what runs this test
    ]


def test_make_nightly_succeeds_and_prints_a_table_and_the_page(openreg_nightly: Nightly) -> None:
    first = openreg_nightly.first
    assert first.code == 0, first.out + first.err
    headings, row = first.out.splitlines()[:2]
    assert re.split(r"\s{2,}", headings)[:3] == ["device", "stage reached", "verdict"]
    assert re.split(r"\s{2,}", row)[:3] == ["openreg", "models", "OK"]
    assert f"dashboard: {openreg_nightly.folder / 'site' / 'index.html'}" in first.out
    for stage in ("fetch", "build", "import", "check", "smoke", "integration", "ops", "models"):
        assert f"openreg: {stage}" in first.err


@pytest.mark.parametrize("torch", ["nightly", "2.13.0", "path/to.whl"])
def test_make_passes_the_device_and_the_torch_on(root: Path, torch: str) -> None:
    said = run_command(["make", "--dry-run", "nightly", "DEVICE=name", f"TORCH={torch}"], root)
    assert f'ootci nightly "name" --torch "{torch}"' in said.out


def test_every_test_reported_and_none_was_lost(openreg_nightly: Nightly) -> None:
    run = _json(openreg_nightly.run / "run.json")
    assert {report["suite"]: report["state"] for report in run["suites"]} == {
        "smoke": "complete",
        "integration": "complete",
        "ops": "complete",
        "models": "complete",
    }
    outcomes = {item["outcome"] for item in run["outcomes"]}
    assert "passed" in outcomes
    # xpassed is news of torch, which has mended what tests/device/harness/defects.py lists: no reason to fail here.
    assert not outcomes & {"failed", "error", "crashed", "timed_out", "not_run"}
    capabilities = {item["capability"] for item in run["outcomes"]}
    assert capabilities >= {"views", "mixed_devices", "autograd", "optimizers", "serialization", "streams_events"}


def test_what_was_tested_is_the_torch_that_is_installed(openreg_nightly: Nightly) -> None:
    run = _json(openreg_nightly.run / "run.json")
    said = run_command(
        [str(openreg_nightly.device_python), "-c", "import torch; print(torch.__version__, torch.version.git_version)"],
        openreg_nightly.folder,
        {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    assert said.out.split() == [run["torch"]["version"], run["torch"]["git_version"]]


def test_a_fallback_is_visible_everywhere(openreg_nightly: Nightly) -> None:
    run = _json(openreg_nightly.run / "run.json")
    reason = run["torch_request"]["fallback_reason"]
    if reason is None:
        assert run["torch_request"]["channel"] == "nightly"
        return
    assert f"FALLBACK: release {run['torch_request']['version']} instead of nightly: {reason}" in (
        openreg_nightly.first.out
    )
    site = openreg_nightly.folder / "site"
    for page in (site / "index.html", site / "d" / "openreg" / "index.html"):
        assert "Tested on another PyTorch" in page.read_text(encoding="utf-8")


def test_the_second_time_nothing_is_built_again(openreg_nightly: Nightly) -> None:
    assert openreg_nightly.second.code == 0, openreg_nightly.second.err
    for stage in ("fetch", "build"):
        assert re.search(rf"{stage}\s+passed\s+[\d.]+ s  nothing changed", openreg_nightly.second.err)
    assert len(History(openreg_nightly.folder / "data").plans()) == 2


def test_the_command_that_pages_print_runs_one_test_again(openreg_nightly: Nightly) -> None:
    run = _json(openreg_nightly.run / "run.json")
    test = next(item["id"] for item in run["outcomes"] if item["id"].startswith("smoke/") and "[" in item["id"])
    command = commands(load_device(Path("devices/openreg.yaml")), None, [test])[1]
    again = run_command(["bash", "-c", command], openreg_nightly.folder)
    assert (again.code, "1 passed" in again.out) == (0, True), again.out + again.err


def test_the_device_file_is_checked(openreg_nightly: Nightly) -> None:
    command = [".venv/bin/ootci", "device", "check", "devices/openreg.yaml"]
    checked = run_command(command, openreg_nightly.folder)
    assert (checked.code, checked.out) == (0, "devices/openreg.yaml: 9 of 9 checks passed\n")


def test_the_shortest_device_file_of_the_readme_is_valid(root: Path, ootci: Tool, tmp_path: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    (tmp_path / "mydevice.yaml").write_text(text.split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    assert ootci("device", "check", "mydevice.yaml", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [("import", "IMPORT_BROKEN"), deep("crash@launch:10", "SMOKE_BROKEN"), deep("wrong-result", "SMOKE_BROKEN")],
)
def test_a_fault_of_the_reference_device_is_seen(
    openreg_nightly: Nightly, ootci: Tool, tmp_path: Path, fault: str, verdict: str
) -> None:
    """The canary can die: with a fault switched on, the same device is not OK."""
    shutil.copytree(openreg_nightly.folder / "devices", tmp_path / "devices", ignore=shutil.ignore_patterns("build"))
    file = tmp_path / "devices" / "openreg.yaml"
    text = file.read_text(encoding="utf-8")
    text = text.replace("  OPENREG_DEVICE_COUNT", f"  OPENREG_FAULT: {fault}\n  OPENREG_DEVICE_COUNT")
    # Smoke alone has to see it, and each crash costs a new process.
    file.write_text(with_smoke_only(text), encoding="utf-8")
    work = tmp_path / ".ootci"
    shutil.copytree(openreg_nightly.folder / ".ootci" / "wheels", work / "wheels")
    build = _json(openreg_nightly.folder / ".ootci" / "runs" / "openreg" / "build.json")
    plan = openreg_nightly.folder / ".ootci" / "plan.json"
    (work / "runs" / "openreg").mkdir(parents=True)
    shutil.copy(plan, work / "plan.json")
    (work / "runs" / "openreg" / "build.json").write_text(json.dumps(build), encoding="utf-8")
    tested = ootci("test", "openreg", "--exit-zero", cwd=tmp_path)
    assert tested.code == 0, tested.err
    for command in (["collect", "openreg"], ["history", "append"], ["judge"]):
        assert ootci(*command, cwd=tmp_path).code == 0
    (judged,) = [item for item in _json(work / "verdicts.json")["devices"] if item["device"] == "openreg"]
    assert judged["verdict"] == verdict, judged["reason"]
