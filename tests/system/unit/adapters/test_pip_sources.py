"""Where pip looks, as the pip of this environment says of its own settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from torch_server import TorchServer, serve_torch_index

from ootci.adapters import pip_sources, torch_index
from ootci.adapters.pip_sources import pip_pages


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's own settings of pip."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("HOME", str(tmp_path))


def _configured(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (folder / "pip.conf").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(folder / "pip.conf"))


def test_without_settings_it_is_the_one_index_that_pip_asks_by_default() -> None:
    (page,) = pip_pages("torch")
    assert page.startswith("https://")
    assert page.endswith("/simple/torch/")


def test_every_index_folder_and_page_of_the_settings_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "index" / "torch").mkdir(parents=True)
    _configured(
        tmp_path,
        monkeypatch,
        "[global]\n"
        "index-url = http://127.0.0.1:9/first/simple/\n"
        f"extra-index-url = {(tmp_path / 'index').as_uri()}\n"
        "  http://127.0.0.1:9/second\n"
        f"find-links = {tmp_path / 'wheels'} {tmp_path / 'gone'} http://127.0.0.1:9/page.html\n"
        "[install]\n"
        "index-url = http://127.0.0.1:9/install\n",
    )
    assert pip_pages("torch") == (
        "http://127.0.0.1:9/install/torch/",
        f"{(tmp_path / 'index').as_uri()}/torch/",
        "http://127.0.0.1:9/second/torch/",
        (tmp_path / "wheels").as_uri(),
        "http://127.0.0.1:9/page.html",
    )
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/variable")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert pip_pages("torch") == ("http://127.0.0.1:9/variable/torch/",)


def test_an_index_that_is_switched_off_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert pip_pages("torch") == (tmp_path.as_uri(),)


def test_an_address_with_a_password_is_left_to_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:secret@packages.example.com/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://token@packages.example.com/more http://127.0.0.1:9/simple")
    assert pip_pages("torch") == ("http://127.0.0.1:9/simple/torch/",)


def test_without_pip_there_is_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip_sources.sys, "executable", "/nowhere/python")
    assert pip_pages("torch") == ()


def test_what_pip_is_set_up_for_lists_its_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server: TorchServer
    with serve_torch_index(tmp_path) as server:
        name = server.add("simple", "2.14.1")
        for key, value in server.pip_variables.items():
            monkeypatch.setenv(key, value)
        (page,) = pip_pages("torch")
        (wheel,) = torch_index.linked(page)
    assert (wheel.name, str(wheel.version), wheel.index_url) == (name, "2.14.1", None)
    assert wheel.url == f"{server.address}/packages/ab/cd/{name}"
