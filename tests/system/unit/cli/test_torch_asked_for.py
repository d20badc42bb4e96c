"""``--torch``: what cannot be had is one error, of the input or the infrastructure, and no other torch is planned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch_server import FOR_CPU, FOR_CUDA, Fault, TorchServer, serve_torch_index
from unit.samples import register

from ootci.adapters import download
from ootci.stages.plan import releases

from commands import Tool  # isort: skip


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchServer]:
    """Indexes without wheels."""
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    with serve_torch_index(tmp_path / "index") as found:
        yield found


@pytest.fixture
def without_pip(server: TorchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pip would look, without starting it."""
    monkeypatch.setattr(releases, "pip_pages", lambda project: (f"{server.address}/simple/{project}/",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where somebody works, with one device."""
    register(tmp_path)
    return tmp_path


def test_the_plan_pins_what_pip_s_own_index_has(ootci: Tool, folder: Path, server: TorchServer) -> None:
    server.add("simple", "2.15.0", requires=FOR_CUDA)
    server.add("simple", "2.14.1", requires=FOR_CPU)
    ran = ootci("plan", cwd=folder, env={**server.variables, **server.pip_variables})
    assert (ran.code, ran.out) == (0, "dev: torch 2.14.1 (release)\n"), ran.err
    assert "torch: release 2.14.1 instead of nightly: " in ran.err
    (run,) = json.loads((folder / ".ootci" / "plan.json").read_text(encoding="utf-8"))["runs"]
    assert run["torch"]["url"] == f"{server.address}/packages/ab/cd/torch-2.14.1-py3-none-any.whl"


def test_another_torch_is_a_job_like_any_other(ootci: Tool, tmp_path: Path, server: TorchServer) -> None:
    register(tmp_path, extra="torch: {also: [release, previous_release]}\n")
    for version in ("2.15.0+cpu", "2.14.1+cpu"):
        server.add("release", version, requires=FOR_CPU)
    output, variables = tmp_path / "output", {**server.variables, **server.pip_variables}
    arguments = ("--device", "dev_previous_release", "--github-output", str(output))
    ran = ootci("plan", *arguments, cwd=tmp_path, env=variables)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "dev_previous_release: torch 2.14.1+cpu (release)"), ran.err
    found = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
    assert [job["device"] for job in json.loads(found["matrix"])["include"]] == ["dev_previous_release"]
    assert found["count"] == "1"


@pytest.mark.parametrize(
    ("wanted", "code", "what"),
    [
        ("9.9.9", 2, "error TORCH-001: there is no torch 9.9.9 for Python 3"),
        ("2.15.0", 2, "error TORCH-001: torch 2.15.0 has no wheel for the build `cpu`"),
        ("nightly@2031-01-01", 2, "error CLI-001: 2031-01-01 is in the future"),
        ("nightly@2026-11-19", 2, "error TORCH-001: the index has no torch nightly@2026-11-19"),
        ("2.16.0.dev20261119", 2, "error TORCH-001: the index has no torch 2.16.0.dev20261119"),
        ("nightly@2026-11-18", 3, "error TORCH-003: the file of 2026-11-18 cannot be used: "),
        ("2.12.1", 3, "error TORCH-003: torch 2.12.1 cannot be looked for: "),
        ("devices/dev.yaml", 2, "error TORCH-002: the file's name is not that of a wheel"),
        ("https://127.0.0.1/torch-2.13.0-py3-none-any.whl", 2, "error CLI-001: `https://127.0.0.1/torch-2.13.0-py3-n"),
        ("2.13,0", 2, "error CLI-001: `2.13,0` is not a torch"),
    ],
)
@pytest.mark.usefixtures("without_pip")
@pytest.mark.parametrize("command", ["plan", "nightly"])
def test_a_torch_that_cannot_be_had_is_one_error_and_nothing_is_planned(
    ootci: Tool, folder: Path, server: TorchServer, command: str, wanted: str, code: int, what: str
) -> None:
    server.add("nightly", "2.16.0.dev20261120+cpu")
    server.stays[server.add("nightly", "2.16.0.dev20261118+cpu")] = Fault.GARBAGE
    server.stays[server.add("simple", "2.12.1")] = Fault.GARBAGE
    server.add("simple", "2.15.0", requires=FOR_CUDA)
    ran = ootci(command, "--torch", wanted, cwd=folder, env=server.variables)
    assert (ran.code, ran.out) == (code, ""), ran.err
    assert what in ran.err
    assert [ran.err.count(part) for part in ("error ", "\n  where: ", "\n  what to do: ")] == [1, 1, 1]
    assert "Traceback" not in ran.err
    assert not (folder / ".ootci" / "plan.json").exists()
