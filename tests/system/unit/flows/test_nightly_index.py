"""The nightlies of a package index."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from packaging.version import Version
from torch_server import serve_torch_index
from unit.samples import device

from ootci.flows.nightly_index import NightlyIndex


def test_a_version_in_several_builds_is_searched_in_one() -> None:
    texts = tuple(f"2.15.0.dev2026110{end}" for end in ("1+cpu", "2", "2+cpu", "2+xpu", "3+cpu"))
    index = NightlyIndex("index", tuple(Version(text) for text in texts))
    assert index.between(Version(texts[0]), Version(texts[4])) == (texts[0], texts[2], texts[4])
    assert index.find("2.15.0.dev20261103", "--bad") == Version(texts[4])


def test_the_nightlies_are_those_for_the_python_of_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_torch_index(tmp_path) as server:
        for name, value in server.variables.items():
            monkeypatch.setenv(name, value)
        server.add("nightly", "2.15.0.dev20261101+cpu", tag=f"cp398-cp398-linux_{platform.machine()}")
        server.add("nightly", "2.15.0.dev20261102+cpu", tag=f"cp399-cp399-linux_{platform.machine()}")
        index = NightlyIndex.of(device(python="3.98").device)
    assert [str(version) for version in index.versions] == ["2.15.0.dev20261101+cpu"]
