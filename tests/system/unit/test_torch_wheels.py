"""Torch wheels come from where OOTCI_TORCH_WHEELS says, and one that is not there fails the test that asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from misbehaving import stub_torch_wheel
from torch_server import serve_torch_index
from torch_wheels import VARIABLE, torch_variables, torch_wheel

from ootci.adapters import torch_index


def test_a_folder_gives_the_wheel_of_that_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    wheels = {version: stub_torch_wheel(tmp_path, version) for version in ("2.12.1", "2.13.0+cpu")}
    assert torch_wheel("2.12.1", tmp_path / "none") == wheels["2.12.1"]
    assert torch_wheel("2.13.0", tmp_path / "none") == wheels["2.13.0+cpu"]


def test_an_index_gives_the_wheel_of_that_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_torch_index(tmp_path / "index") as server:
        name = server.add("release", "2.13.0+cpu")
        monkeypatch.setenv(VARIABLE, f"{server.address}/release/")
        wheel = torch_wheel("2.13.0", tmp_path)
        assert (wheel.name, wheel.read_bytes()) == (name, server.files[f"/release/cpu/torch/{name}"])
        with pytest.raises(pytest.fail.Exception, match=r"no torch 2\.15\.0"):
            torch_wheel("2.15.0", tmp_path)


@pytest.mark.parametrize("named", ["", "empty"])
def test_a_wheel_that_is_missing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv(VARIABLE, named and str(tmp_path / named))
    with pytest.raises(pytest.fail.Exception, match=rf"no torch 2\.13\.0.*{VARIABLE}"):
        torch_wheel("2.13.0", tmp_path)


def test_the_nightly_takes_torch_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "wheels"))
    wheel = stub_torch_wheel(tmp_path / "wheels", "2.13.0+cpu")
    with torch_variables(tmp_path / "index") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        found = torch_index.exact(torch_index.release_index("cpu"), "2.13.0")
        assert found.url.rpartition("/")[2].replace("%2B", "+") == wheel.name
        with pytest.raises(torch_index.IndexProblem):
            torch_index.newest(torch_index.nightly_index("cpu"))


def test_the_nightly_takes_torch_from_an_index_or_from_where_it_always_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "https://example.invalid/whl/")
    with torch_variables(tmp_path) as variables:
        assert variables == {
            "OOTCI_NIGHTLY_INDEX": "https://example.invalid/whl/nightly",
            "OOTCI_RELEASE_INDEX": "https://example.invalid/whl",
        }
    monkeypatch.delenv(VARIABLE)
    with torch_variables(tmp_path) as variables:
        assert variables == {}
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="no torch in"), torch_variables(tmp_path / "index"):
        pass
