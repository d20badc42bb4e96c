"""What others check device files with: pre-commit with our hook, and check-jsonschema with the schema."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from repositories import git
from unit.samples import DEVICE_YAML, register

from commands import Ran, run_command  # isort: skip

ROOT = Path(__file__).parents[3]
DEVICES = ROOT / "devices"
BIN = Path(sys.executable).parent
HOOK = "ootci-device-check"


def _read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def _tool(name: str, *arguments: str, cwd: Path = ROOT) -> Ran:
    env = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PRE_COMMIT_COLOR": "never"}
    return run_command([str(BIN / name), *arguments], cwd, env)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Another repository that uses our hook, which is installed already so that nothing is downloaded."""
    (hook,) = _read(".pre-commit-hooks.yaml")
    assert hook["language"] == "python"
    config = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (tmp_path / "devices" / "_all").mkdir(parents=True)
    for name in ("dev", "bad"):
        (tmp_path / "devices" / name).mkdir()
        (tmp_path / "devices" / name / "pyproject.toml").touch()
    git(tmp_path, "init", "--quiet")
    return tmp_path


def test_both_files_are_what_pre_commit_asks_for() -> None:
    assert _tool("pre-commit", "validate-manifest", ".pre-commit-hooks.yaml").code == 0
    assert _tool("pre-commit", "validate-config", ".pre-commit-config.yaml").code == 0


def test_the_hook_is_used_here_for_the_same_files() -> None:
    (offered,) = _read(".pre-commit-hooks.yaml")
    used = [hook for repo in _read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"] if hook["id"] == HOOK]
    assert [(hook["files"], Path(hook["entry"]).name) for hook in used] == [(offered["files"], offered["entry"])]


def test_the_hook_checks_device_files_and_no_others(repository: Path) -> None:
    register(repository)
    (repository / "devices" / "_all" / "bad_ranges.yaml").write_text("bad_ranges: []\n", encoding="utf-8")
    (repository / "other.yaml").write_text("teir: gating\n", encoding="utf-8")
    git(repository, "add", "--all")
    assert "Passed" in (good := _tool("pre-commit", "run", "--all-files", cwd=repository)).out, good.out
    register(repository, "bad", "teir: gating\n")
    git(repository, "add", "--all")
    bad = _tool("pre-commit", "run", "--all-files", cwd=repository)
    assert bad.code == 1
    assert "unknown key `teir`; did you mean `tier`?" in bad.out
    assert "devices/bad.yaml:8" in bad.out
    assert "other.yaml" not in bad.out


def test_check_jsonschema_accepts_every_device_file_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    schema = ("--schemafile", str(DEVICES / "device.schema.json"))
    files = [str(path) for path in sorted(DEVICES.glob("*.yaml"))]
    assert len(files) >= 1
    assert (good := _tool("check-jsonschema", *schema, *files)).code == 0, good.out
    wrong = tmp_path / "dev.yaml"
    wrong.write_text(DEVICE_YAML.format(name="dev") + "teir: gating\ncadence: hourly\n", encoding="utf-8")
    refused = _tool("check-jsonschema", *schema, str(wrong))
    assert refused.code == 1
    assert "teir" in refused.out
    assert "hourly" in refused.out
