"""The sample site, rendered once, and golden files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from unit.render.sample import Sample, sample

from ootci.stages.render import render

GOLDEN = Path(__file__).parents[2] / "golden" / "render"


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """What the sample site is made from."""
    return sample(tmp_path_factory.mktemp("sample") / "history")


@pytest.fixture(scope="session")
def site(sampled: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample site."""
    folder = tmp_path_factory.mktemp("rendered") / "site"
    render(sampled.registry, sampled.history, sampled.verdicts, folder)
    return folder


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a golden file, or write it with ``--update-golden``."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing; write it with --update-golden"
        assert text == path.read_text(encoding="utf-8"), f"{name} differs; look, then write it with --update-golden"

    return compare
