"""The stages import and check: whose fault it is when torch does not come up, or the card is not there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from unit.samples import build, device, night

from ootci.adapters.progress import Progress
from ootci.model.build import StageResult, StageStatus
from ootci.model.event import StageEnd, StageStart, read_events
from ootci.model.workspace import RunFolder
from ootci.stages.test import test as run_stages


def _run(tmp_path: Path, probe: str, check: dict[str, object] | None = None, **keys: object) -> dict[str, StageResult]:
    """Run the stages with a Python that is a shell script; ``probe`` is what it does when it should import torch."""
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{probe}\n", encoding="utf-8")
    python.chmod(0o755)
    stages = run_stages(
        device(check=check or {}, **keys).device,
        build(python=str(python)),
        RunFolder(tmp_path / "run"),
        tmp_path / "suites",
        clock=lambda: night(0),
        progress=Progress(quiet=True),
        planned=None,
    )
    return {stage.name: stage for stage in stages}


def _statuses(stages: dict[str, StageResult]) -> list[str]:
    return [stage.status.value for stage in stages.values()]


def _env(tmp_path: Path, error: str) -> str:
    facts = json.dumps({"reached": "python", "error": error})
    return f"echo '{facts}' > {tmp_path}/run/env.json"


def test_torch_that_cannot_be_imported_is_the_import_s_failure(tmp_path: Path) -> None:
    stages = _run(tmp_path, f"{_env(tmp_path, 'libx.so is missing')}; exit 10")
    assert _statuses(stages) == ["failed", "not_run", "not_run", "not_run"]
    assert stages["import"].reason == "libx.so is missing"
    assert stages["smoke"].reason == "import did not pass"


def test_an_import_that_kills_the_process_is_a_crash_with_its_last_words(tmp_path: Path) -> None:
    stages = _run(tmp_path, "echo last words; kill -SEGV $$")
    assert _statuses(stages)[0] == "crashed"
    assert stages["import"].reason == "`import torch` did not survive: killed by SIGSEGV; last words"


def test_an_import_that_ends_the_process_with_exit_code_0_is_no_import(tmp_path: Path) -> None:
    stages = _run(tmp_path, f"{_env(tmp_path, '')}; echo bye; exit 0")
    assert _statuses(stages) == ["failed", "not_run", "not_run", "not_run"]
    assert stages["import"].reason == "`import torch` did not survive: exit code 0; bye"


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("libx.so.1: cannot open shared object file: No such file", "install what libx.so.1 belongs to"),
        ("/a/b.so: undefined symbol: _ZN3c10", "build the plugin again with this torch"),
    ],
)
def test_what_the_loader_says_comes_with_what_to_do(tmp_path: Path, error: str, remedy: str) -> None:
    reason = str(_run(tmp_path, f"{_env(tmp_path, error)}; exit 10")["import"].reason)
    assert reason.startswith(f"{error}. What to do: {remedy}")


def test_an_import_that_hangs_is_timed_out(tmp_path: Path) -> None:
    stages = _run(tmp_path, "sleep 30", {"timeout_seconds": 1})
    assert _statuses(stages)[0] == "timed_out"


def test_a_missing_card_is_the_check_s_failure_and_not_the_import_s(tmp_path: Path) -> None:
    stages = _run(tmp_path, f"{_env(tmp_path, 'torch counts 0 cards')}; exit 12")
    assert _statuses(stages) == ["passed", "failed", "not_run", "not_run"]
    assert stages["check"].reason == "torch counts 0 cards"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("sh", "-c", "exit 4"), "the check command `sh -c exit 4` failed: exit code 4"),
        (("no-such-smi",), "`no-such-smi` cannot be started: No such file or directory (no-such-smi)"),
    ],
)
def test_hardware_that_is_not_well_explains_a_failed_import(
    tmp_path: Path, command: Sequence[str], reason: str
) -> None:
    stages = _run(tmp_path, "exit 10", {"command": list(command)})
    assert _statuses(stages)[:2] == ["failed", "failed"]
    assert stages["check"].reason == reason


def test_a_command_that_is_well_does_not_hide_a_failed_import(tmp_path: Path) -> None:
    stages = _run(tmp_path, "exit 10", {"command": ["true"]})
    assert _statuses(stages) == ["failed", "not_run", "not_run", "not_run"]


def test_every_stage_that_began_is_in_the_event_log(tmp_path: Path) -> None:
    _run(tmp_path, "exit 12")
    events = list(read_events(tmp_path / "run" / "events.jsonl"))
    assert [item.stage for item in events if isinstance(item, StageStart)] == ["import", "check"]
    assert [item.status.value for item in events if isinstance(item, StageEnd)] == ["passed", "failed"]


def test_nothing_is_started_when_the_build_did_not_pass(tmp_path: Path) -> None:
    broken = build(python="/no/such/python")
    failed = broken.stages[1].model_copy(update={"status": StageStatus.FAILED})
    stages = run_stages(
        device().device,
        broken.model_copy(update={"stages": (broken.stages[0], failed)}),
        RunFolder(tmp_path),
        tmp_path,
        clock=lambda: night(0),
        progress=Progress(quiet=True),
        planned=None,
    )
    assert {stage.status for stage in stages} == {StageStatus.NOT_RUN}
    assert stages[0].reason == "build did not pass"


def test_a_suite_is_asked_for_its_dtypes_and_told_what_is_declared(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    suites = [{"name": "smoke"}, {"name": "ops", "dtypes": ["float32", "bool"]}]
    claims = [{"capability": "quantization", "reason": "no integer units"}]
    facts = json.dumps({"reached": "described"})
    script = f"echo \"$@\" >> {asked}; echo '{facts}' > {tmp_path}/run/env.json"
    _run(tmp_path, script, suites=suites, unsupported=claims)
    _, smoke, ops = asked.read_text(encoding="utf-8").splitlines()
    assert "--ops-dtypes" not in smoke
    assert "--ops-dtypes=float32,bool" in ops
    assert "--declared-unsupported=quantization=no integer units" in smoke


def test_a_probe_that_dies_while_it_describes_its_card_leaves_the_rest_to_the_suites(tmp_path: Path) -> None:
    facts = json.dumps({"reached": "available", "device": {"available": True, "count": 1}})
    stages = _run(tmp_path, f"echo '{facts}' > {tmp_path}/run/env.json; kill -SEGV $$")
    assert _statuses(stages)[:2] == ["passed", "passed"]


@pytest.mark.parametrize("code", [0, 1])
def test_what_the_check_command_says_is_told_to_the_event_log(tmp_path: Path, code: int) -> None:
    said = "Tool 3\nDriver Version: 24.1.rc2  \n  firmware = 7\nSDK: 8.2\ndriver\nthe driver: no\nruntime:\n"
    check = {"command": ["sh", "-c", f"printf '{said}'; exit {code}"]}
    _run(tmp_path, "exit 0", check)
    ends = [event for event in read_events(tmp_path / "run" / "events.jsonl") if isinstance(event, StageEnd)]
    assert {end.stage: end.facts for end in ends if end.facts} == {
        "check": {"driver": "24.1.rc2", "firmware": "7", "sdk": "8.2"}
    }
