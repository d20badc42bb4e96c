"""The reference plugin's guided tour names what is there, and what is there is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

MAX_LINES = 300
"""A file of the plugin shows one interface; what is longer shows two."""


@pytest.fixture(scope="module")
def plugin(root: Path) -> Path:
    return root / "devices" / "openreg"


def _named(plugin: Path) -> set[str]:
    """Every file that the README names in back quotes, relative to the plugin's folder."""
    text = (plugin / "README.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([\w/.-]+\.(?:cpp|h|h\.in|py|txt|toml))`", text))
    headers = ("c10/", "ATen/", "torch/")
    found = set()
    for name in names:
        if not name.startswith(headers):
            found.add(name if "/" in name or (plugin / name).exists() else f"csrc/ops/{name}")
    return found


def _interfaces(plugin: Path) -> set[str]:
    """The files that fulfil an interface of torch: one translation unit or Python module each."""
    sources = [*plugin.glob("csrc/**/*.cpp"), *plugin.glob("torch_openreg/*.py")]
    return {path.relative_to(plugin).as_posix() for path in sources}


def test_every_file_that_the_tour_names_exists(plugin: Path) -> None:
    named = _named(plugin)
    assert len(named) > 30
    assert sorted(name for name in named if not (plugin / name).is_file()) == []


def test_every_interface_file_is_named_in_the_tour(plugin: Path) -> None:
    assert sorted(_interfaces(plugin) - _named(plugin)) == []


def test_every_source_file_begins_by_saying_what_it_fulfils(plugin: Path) -> None:
    sources = [path for kind in ("*.cpp", "*.h") for path in (plugin / "csrc").rglob(kind)]
    assert len(sources) > 40
    silent = [path.name for path in sources if not path.read_text(encoding="utf-8").lstrip().startswith("//")]
    assert silent == []


def test_no_file_is_too_long_to_be_read_at_once(plugin: Path) -> None:
    sources = [path for kind in ("*.cpp", "*.h", "*.py") for path in plugin.rglob(kind) if "build" not in path.parts]
    long = {path.name: lines for path in sources if (lines := len(path.read_text("utf-8").splitlines())) > MAX_LINES}
    assert long == {}
