"""The torch of a run when its index or file is not as it should be: what the command line, run.json and page say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from commands import OFFLINE, Tool
from drawn import deep
from misbehaving import COMMIT, plugin_wheel, stub_torch_wheel, write_device, write_suites, write_wheel
from torch_server import Fault, TorchServer, serve_torch_index

pytestmark = pytest.mark.long

OTHER = "89abcdef" * 5
LAST_NIGHT = datetime.now(timezone.utc).date() - timedelta(days=1)
"""Of yesterday: an index whose newest nightly is old is told of."""
LAST, BEFORE = (f"2.15.0.dev{LAST_NIGHT - timedelta(days=days):%Y%m%d}+cpu" for days in (0, 1))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TorchServer]:
    """An index with two nights, and in the folder a device whose plugin is a package."""
    write_device(tmp_path / "devices", "fake", "passes", source="package: torch-fake==1.0")
    plugin_wheel(tmp_path / "wheels", "fake")
    with serve_torch_index(tmp_path / "index") as found:
        found.add("nightly", LAST, commit=OTHER)
        found.add("nightly", BEFORE)
        yield found


def _env(server: TorchServer, folder: Path) -> dict[str, str]:
    return {**server.variables, "PIP_FIND_LINKS": str(folder / "wheels")}


def _fetched(folder: Path, ootci: Tool, server: TorchServer, code: int) -> dict[str, Any]:
    """What build.json says of the stage fetch, on the plan that is there."""
    ran = ootci("build", "fake", cwd=folder, env=_env(server, folder))
    assert ran.code == code, ran.out + ran.err
    found = json.loads((folder / ".ootci" / "runs" / "fake" / "build.json").read_text(encoding="utf-8"))
    stage: dict[str, Any] = found["stages"][0]
    assert stage["name"] == "fetch"
    return stage


@pytest.mark.deep
def test_a_withdrawn_night_and_half_a_download_of_the_one_before(
    tmp_path: Path, ootci: Tool, server: TorchServer
) -> None:
    server.withdrawn[LAST] = "broken"
    whole = len(server.files[f"/nightly/cpu/torch/torch-{BEFORE}-py3-none-any.whl"])
    # The first request is planning's look; the file itself then breaks off, is refused, and goes on.
    server.faults[f"torch-{BEFORE}-py3-none-any.whl"] = [Fault.NONE, Fault.HALF, Fault.BUSY]
    server.faults["torch"] = [Fault.BUSY]
    write_suites(tmp_path / "suites")
    ran = ootci("nightly", "--suites", "suites", cwd=tmp_path, env=_env(server, tmp_path))
    assert ran.code == 0, ran.out + ran.err
    assert server.asked[-1].part == f"bytes={whole // 2}-"
    run = json.loads((tmp_path / ".ootci" / "runs" / "fake" / "run.json").read_text(encoding="utf-8"))
    assert run["torch"] == {"version": BEFORE, "git_version": COMMIT}
    assert run["torch_request"]["commit"] == COMMIT
    reason = f"the file of {LAST_NIGHT} was withdrawn (broken)"
    assert run["torch_request"]["fallback_reason"] == reason
    assert f"FALLBACK: nightly {BEFORE} instead of nightly: {reason}" in ran.out
    assert reason in (tmp_path / "site" / "d" / "fake" / "index.html").read_text(encoding="utf-8")
    assert "instead of nightly" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_a_file_that_is_not_what_the_index_states_is_never_installed(
    tmp_path: Path, ootci: Tool, server: TorchServer
) -> None:
    server.stated[LAST] = "0" * 64
    assert ootci("plan", cwd=tmp_path, env=_env(server, tmp_path)).code == 0
    stage = _fetched(tmp_path, ootci, server, 3)
    assert stage["reason"].startswith("torch cannot be installed: ")
    assert f"stated is {'0' * 64}" in stage["reason"]
    assert not list((tmp_path / ".ootci" / "envs").glob("*/lib/python3.*/site-packages/torch"))
    assert not list((tmp_path / ".ootci" / "torch").glob("*/*"))


def test_a_torch_of_another_commit_than_was_planned_is_no_torch_of_the_run(
    tmp_path: Path, ootci: Tool, server: TorchServer
) -> None:
    assert ootci("plan", cwd=tmp_path, env=_env(server, tmp_path)).code == 0
    plan = tmp_path / ".ootci" / "plan.json"
    plan.write_text(plan.read_text(encoding="utf-8").replace(OTHER, COMMIT), encoding="utf-8")
    reason = f"the torch that was installed was built, by its own account, from {OTHER}, planned is {COMMIT}"
    assert _fetched(tmp_path, ootci, server, 3)["reason"] == reason
    assert _fetched(tmp_path, ootci, server, 3)["reason"] == reason, "an environment with a wrong torch was used again"


@pytest.mark.deep
def test_a_wheel_is_taken_from_the_work_folder_by_its_checksum(
    tmp_path: Path, ootci: Tool, server: TorchServer
) -> None:
    wheel = stub_torch_wheel(tmp_path, "2.16.0a0+git89abcdef", OTHER)
    assert ootci("plan", "--torch", str(wheel), cwd=tmp_path, env=_env(server, tmp_path)).code == 0
    handed_over = tmp_path / ".ootci" / "torch" / wheel.name
    handed_over.parent.mkdir()
    wheel.rename(handed_over)
    assert _fetched(tmp_path, ootci, server, 0)["status"] == "passed"
    build = json.loads((tmp_path / ".ootci" / "runs" / "fake" / "build.json").read_text(encoding="utf-8"))
    assert build["torch"] == {"version": "2.16.0a0+git89abcdef", "git_version": OTHER}
    assert server.asked == []


@pytest.mark.parametrize("there", [True, deep(False)])
def test_a_wheel_that_was_exchanged_or_is_gone_is_not_installed(
    tmp_path: Path, ootci: Tool, server: TorchServer, there: bool
) -> None:
    wheel = stub_torch_wheel(tmp_path, "2.16.0a0+git89abcdef", OTHER)
    assert ootci("plan", "--torch", str(wheel), cwd=tmp_path, env=_env(server, tmp_path)).code == 0
    wheel.unlink()
    if there:
        stub_torch_wheel(tmp_path, "2.16.0a0+git89abcdef", COMMIT)
    reason = _fetched(tmp_path, ootci, server, 3)["reason"]
    assert ("is not the wheel of the plan" if there else "is not on this machine") in reason


def test_pip_s_choice_of_a_build_for_cuda_is_not_tested_as_the_cpu_s(
    tmp_path: Path, ootci: Tool, server: TorchServer
) -> None:
    """No index answers while planning, so the release is left to pip, which then finds one."""
    assert ootci("plan", cwd=tmp_path, env=OFFLINE).code == 0
    (run,) = json.loads((tmp_path / ".ootci" / "plan.json").read_text(encoding="utf-8"))["runs"]
    version = run["torch"]["version"]
    write_wheel(tmp_path / "wheels", "cuda_toolkit", "13.2.2", {"cuda_toolkit.py": ""})
    stub_torch_wheel(tmp_path / "wheels", version, requires='cuda-toolkit==13.2.2; platform_system == "Linux"')
    found = {**OFFLINE, "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    ran = ootci("build", "fake", cwd=tmp_path, env=found)
    assert ran.code == 3, ran.out + ran.err
    build = json.loads((tmp_path / ".ootci" / "runs" / "fake" / "build.json").read_text(encoding="utf-8"))
    assert build["stages"][0]["reason"] == (
        f"torch cannot be installed: pip finds torch {version} only as a build that requires cuda-toolkit, "
        "wanted is the build `cpu`"
    )
