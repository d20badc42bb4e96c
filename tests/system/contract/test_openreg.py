"""The README of the reference plugin names every file, in the steps in which the plugin can be built."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest
from contract.openreg_steps import Step, read_steps

MAX_LINES = 300
"""A file of the plugin shows one interface; what is longer shows two."""


@pytest.fixture(scope="module")
def plugin(root: Path) -> Path:
    return root / "devices" / "openreg"


@pytest.fixture(scope="module")
def steps(plugin: Path) -> tuple[Step, ...]:
    return read_steps(plugin)


@pytest.fixture(scope="module")
def sections(plugin: Path) -> dict[str, str]:
    """The README's sections about steps, by heading, in order."""
    text = (plugin / "README.md").read_text(encoding="utf-8")
    parts = re.split(r"^### (Step \d+: .*)$", text, flags=re.MULTILINE)
    return {
        heading: re.split(r"^#", body, flags=re.MULTILINE)[0]
        for heading, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def _named(text: str) -> set[str]:
    """The plugin's files that a text names in back quotes, relative to the plugin's folder."""
    names = re.findall(r"`([\w/.-]+\.(?:cpp|h|h\.in|py|txt|toml|cmake))`", text)
    return {name for name in names if not name.startswith(("c10/", "ATen/", "torch/"))}


def _sources(plugin: Path) -> set[str]:
    """Every file that is built or installed: translation units and Python modules."""
    found = [*plugin.glob("csrc/**/*.cpp"), *plugin.glob("torch_openreg/**/*.py")]
    return {path.relative_to(plugin).as_posix() for path in found}


def test_every_source_file_belongs_to_one_step(plugin: Path, steps: tuple[Step, ...]) -> None:
    files = list(chain.from_iterable(step.files for step in steps))
    assert len(files) == len(set(files))
    assert set(files) == _sources(plugin)


def test_every_capability_belongs_to_one_step(root: Path, steps: tuple[Step, ...]) -> None:
    text = (root / "tests" / "device" / "harness" / "capabilities.py").read_text(encoding="utf-8")
    known = re.findall(r'^        "(\w+)": ', text, flags=re.MULTILINE)
    assert len(known) > 20
    assert sorted(chain.from_iterable(step.capabilities for step in steps)) == sorted(known)


def test_the_tour_has_the_same_steps(steps: tuple[Step, ...], sections: dict[str, str]) -> None:
    assert list(sections) == [f"Step {number}: {step.title}" for number, step in enumerate(steps, 1)]


def test_each_step_of_the_tour_names_its_files_and_capabilities(
    steps: tuple[Step, ...], sections: dict[str, str]
) -> None:
    for step, (heading, text) in zip(steps, sections.items(), strict=True):
        sources = {name for name in _named(text) if name.endswith((".cpp", ".py"))}
        assert sources == set(step.files), heading
        for capability in step.capabilities:
            assert f"`{capability}`" in text, heading


def test_each_row_of_the_tour_says_what_breaks(sections: dict[str, str]) -> None:
    for heading, text in sections.items():
        rows = [line for line in text.splitlines() if line.startswith("|") and "`" in line]
        assert rows, heading
        for row in rows:
            cells = [cell.strip() for cell in row.strip("|").split(" | ")]
            assert len(cells) == 3, row
            assert all(cells), row


def test_every_file_that_the_readme_names_exists(plugin: Path) -> None:
    named = _named((plugin / "README.md").read_text(encoding="utf-8"))
    assert len(named) > 60
    assert sorted(name for name in named if not (plugin / name).is_file()) == []


def test_every_source_file_begins_by_naming_the_interface_that_it_fulfils(plugin: Path) -> None:
    sources = [path for kind in ("*.cpp", "*.h") for path in (plugin / "csrc").rglob(kind)]
    assert len(sources) > 40
    first = {path.name: path.read_text(encoding="utf-8").partition("\n")[0] for path in sources}
    assert {name: line for name, line in first.items() if not re.match(r"// [\w/]+(\.h|\.hpp|_inductor)\b", line)} == {}


def test_no_file_is_too_long_to_be_read_at_once(plugin: Path) -> None:
    sources = [path for kind in ("*.cpp", "*.h", "*.py") for path in plugin.rglob(kind) if "build" not in path.parts]
    long = {path.name: lines for path in sources if (lines := len(path.read_text("utf-8").splitlines())) > MAX_LINES}
    assert long == {}
