"""Torch built from a ref or a pull request of a repository that stands in for PyTorch's, and devices tested on it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Ran, Tool
from drawn import deep
from e2e.conftest import missing
from misbehaving import write_device
from pytorch_sources import PyTorchSources, pytorch_sources

pytestmark = pytest.mark.long

Build = Callable[..., tuple[Ran, dict[str, Any]]]


@pytest.fixture(scope="module")
def pytorch(tmp_path_factory: pytest.TempPathFactory) -> PyTorchSources:
    return pytorch_sources(tmp_path_factory.mktemp("pytorch"))


@pytest.fixture
def build(tmp_path: Path, ootci: Tool, pytorch: PyTorchSources) -> Build:
    """Calls ``ootci torch build``; gives how it went, and what torch.json says then."""

    def call(*options: str, **env: str) -> tuple[Ran, dict[str, Any]]:
        env.setdefault("OOTCI_PYTORCH_GIT", pytorch.url)
        ran = ootci("torch", "build", *options, cwd=tmp_path, env=env)
        file = tmp_path / ".ootci" / "torch" / "torch.json"
        return ran, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    return call


def _plan(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / ".ootci" / "plan.json").read_text(encoding="utf-8"))
    return found


def test_a_pull_request_is_built_once_and_tested_by_all_devices(
    tmp_path: Path, ootci: Tool, pytorch: PyTorchSources, build: Build
) -> None:
    ran, source = build("--pull-request", "7")
    assert ran.code == 0, ran.out + ran.err
    wheel = tmp_path / ".ootci" / "torch" / source["wheel"]
    assert (source["commit"], source["pull_request"]) == (pytorch.merge, 7)
    assert (source["remote"], source["ref"]) == (pytorch.url, "refs/pull/7/merge")
    assert source["version"] == f"2.15.0a0+git{pytorch.merge[:7]}"
    assert source["compiler"]
    assert str(wheel) in ran.out
    changed = wheel.stat().st_mtime_ns
    ran, again = build("--pull-request", "7")
    assert (ran.code, again, wheel.stat().st_mtime_ns) == (0, source, changed), "the same commit was built twice"
    for name in ("one", "two"):
        write_device(tmp_path / "devices", name, "passes")
    assert ootci("plan", "--torch", str(wheel), cwd=tmp_path).code == 0
    requests = [run["torch"] for run in _plan(tmp_path)["runs"]]
    assert {(torch["channel"], torch["commit"], torch["sha256"]) for torch in requests} == {
        ("source", pytorch.merge, source["sha256"])
    }
    assert requests[0]["wanted"] == f"pull request 7 of {pytorch.url} at {pytorch.merge[:10]}"
    for name in ("one", "two"):
        ran = ootci("build", name, cwd=tmp_path)
        assert ran.code == 0, ran.out + ran.err
        made = json.loads((tmp_path / ".ootci" / "runs" / name / "build.json").read_text(encoding="utf-8"))
        assert made["torch"] == {"version": source["version"], "git_version": pytorch.merge}


@pytest.mark.parametrize(
    ("said", "fetched"),
    [
        ("/lib64/libc.so.6: version `GLIBC_2.34' not found (required by libtorch_cpu.so)", "failed"),
        deep("cannot import name '_C'", "passed"),
    ],
)
def test_a_machine_whose_c_library_is_too_old_for_the_torch_is_no_fault_of_the_pull_request(
    tmp_path: Path, ootci: Tool, pytorch: PyTorchSources, build: Build, said: str, fetched: str
) -> None:
    ran, source = build("--pull-request", "7", SAID_ON_IMPORT=said)
    assert ran.code == 0, ran.out + ran.err
    write_device(tmp_path / "devices", "one", "passes")
    assert ootci("plan", "--torch", str(tmp_path / ".ootci" / "torch" / source["wheel"]), cwd=tmp_path).code == 0
    assert ootci("build", "one", cwd=tmp_path).code == (3 if fetched == "failed" else 0)
    made = json.loads((tmp_path / ".ootci" / "runs" / "one" / "build.json").read_text(encoding="utf-8"))
    stage = made["stages"][0]
    assert (stage["name"], stage["status"]) == ("fetch", fetched)
    assert fetched == "passed" or "GLIBC_2.34" in stage["reason"]


@pytest.mark.parametrize("ref", ["main", *map(deep, ("v2.15.0", "the commit"))])
def test_a_ref_is_built_whatever_it_is(pytorch: PyTorchSources, build: Build, ref: str) -> None:
    ran, source = build("--ref", pytorch.main if ref == "the commit" else ref)
    assert ran.code == 0, ran.out + ran.err
    assert (source["commit"], source["pull_request"]) == (pytorch.main, None)


def test_a_planned_pull_request_gets_its_wheel_or_the_reason_why_there_is_none(
    tmp_path: Path, ootci: Tool, pytorch: PyTorchSources, build: Build
) -> None:
    write_device(tmp_path / "devices", "one", "passes", extra="pull_requests: true\n")
    env = {"OOTCI_PYTORCH_GIT": pytorch.url}
    assert ootci("plan", "--pull-request", "7", cwd=tmp_path, env=env).code == 0
    wanted = _plan(tmp_path)["runs"][0]["torch"]["wanted"]
    ran, source = build("--planned")
    assert ran.code == 0, ran.out + ran.err
    torch = _plan(tmp_path)["runs"][0]["torch"]
    assert (torch["wanted"], torch["commit"], torch["sha256"]) == (wanted, pytorch.merge, source["sha256"])
    assert torch["unavailable_reason"] is None
    assert ootci("plan", "--pull-request", "8", cwd=tmp_path, env=env).code == 0
    ran, _ = build("--planned")
    assert ran.code == 3
    assert "TORCH-004" in ran.err
    assert "one.c" in ran.err
    reason = _plan(tmp_path)["runs"][0]["torch"]["unavailable_reason"]
    assert reason == "torch does not build: exit code 1"


def test_a_pull_request_that_has_moved_on_since_it_was_planned_is_not_built(
    tmp_path: Path, ootci: Tool, pytorch: PyTorchSources, build: Build
) -> None:
    write_device(tmp_path / "devices", "one", "passes", extra="pull_requests: true\n")
    assert ootci("plan", "--pull-request", "7", cwd=tmp_path, env={"OOTCI_PYTORCH_GIT": pytorch.url}).code == 0
    file = tmp_path / ".ootci" / "plan.json"
    file.write_text(file.read_text(encoding="utf-8").replace(pytorch.head, "1" * 40), encoding="utf-8")
    ran, source = build("--planned")
    assert (ran.code, source) == (3, {})
    reason = _plan(tmp_path)["runs"][0]["torch"]["unavailable_reason"]
    assert reason == f"the sources are of {pytorch.merge[:10]}, which is not 1111111111 nor merges it"


def test_a_wheel_that_says_another_commit_is_refused(pytorch: PyTorchSources, build: Build) -> None:
    ran, source = build("--ref", "main", SAID_COMMIT=pytorch.head)
    assert (ran.code, source) == (3, {})
    assert f"the wheel was built, by its own account, from {pytorch.head}, and not from {pytorch.main}" in ran.err


@pytest.mark.deep
def test_what_was_compiled_before_comes_from_the_compiler_cache(
    tmp_path: Path, pytorch: PyTorchSources, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("ccache") is None:
        missing("ccache", "install it")
    monkeypatch.delenv("CCACHE_DIR", raising=False)  # named, it would be used instead
    for ref in ("main", "refs/pull/7/merge"):
        ran, source = build("--ref", ref)
        assert ran.code == 0, ran.out + ran.err
        assert source["compiler_cache"].startswith("ccache")
    command = ["ccache", "--dir", str(tmp_path / ".ootci" / "ccache"), "--print-stats"]
    stats = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    hits = re.findall(r"^(?:direct|preprocessed)_cache_hit\s+(\d+)$", stats, re.MULTILINE)
    assert sum(map(int, hits)) == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "not clear what to build"),
        (("--ref", "main", "--pull-request", "7"), "not clear what to build"),
        (("--ref", "--upload-pack=touch pwned"), "no ref"),
        (("--ref", "main", "--remote", "--upload-pack=touch pwned"), "no ref"),
        (("--pull-request", "7;x"), "is no pull request"),
    ],
)
def test_what_cannot_be_built_is_refused_before_git_is_asked(build: Build, options: tuple[str, ...], why: str) -> None:
    ran, _ = build(*options)
    assert ran.code == 2
    assert why in ran.err


def test_a_ref_that_is_not_there_says_so(build: Build) -> None:
    ran, _ = build("--ref", "nowhere")
    assert ran.code == 3
    assert "PyTorch's sources cannot be fetched" in ran.err
