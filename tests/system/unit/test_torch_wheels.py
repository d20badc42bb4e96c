"""In tests, `make nightly` takes torch from where OOTCI_TORCH_WHEELS says."""

from __future__ import annotations

from pathlib import Path

import pytest
from misbehaving import stub_torch_wheel
from torch_wheels import VARIABLE, torch_variables

from ootci.adapters import torch_index


@pytest.mark.parametrize("version", ["2.13.0+cpu", "2.15.0.dev20261121+cpu"])
def test_a_folder_is_served_as_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "wheels"))
    wheel = stub_torch_wheel(tmp_path / "wheels", version)
    with torch_variables(tmp_path / "index") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        has, lacks = torch_index.release_index("cpu"), torch_index.nightly_index("cpu")
        if "dev" in version:
            has, lacks = lacks, has
        assert [found.url.rpartition("/")[2].replace("%2B", "+") for found in torch_index.listed(has)] == [wheel.name]
        with pytest.raises(torch_index.IndexProblem):
            torch_index.listed(lacks)


def test_an_index_is_asked_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "https://example.invalid/whl/cpu/")
    with torch_variables(tmp_path) as variables:
        assert variables == {
            "OOTCI_NIGHTLY_INDEX": "https://example.invalid/whl/nightly",
            "OOTCI_RELEASE_INDEX": "https://example.invalid/whl",
        }


def test_a_folder_without_torch_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match=f"no torch in .*{VARIABLE}"), torch_variables(tmp_path / "index"):
        pass


def test_nothing_is_changed_where_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with torch_variables(tmp_path) as variables:
        assert variables == {}
