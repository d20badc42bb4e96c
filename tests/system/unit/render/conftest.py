"""Golden files, and sites of other verdicts than the sample's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from unit.render.rendering import Rendered
from unit.render.sample import Sample

from ootci.history.store import History
from ootci.model.device import RegisteredDevice
from ootci.stages.render import render

GOLDEN = Path(__file__).parents[2] / "golden" / "render"


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


@pytest.fixture
def rendered(sampled: Sample, tmp_path: Path) -> Rendered:
    """Render the sample with other verdicts, given as their fields, or other runs or devices; else without runs."""

    def make(
        history: History | None = None,
        registry: Sequence[RegisteredDevice] = sampled.registry,
        address: str | None = None,
        **fields: object,
    ) -> Path:
        verdicts = sampled.verdicts.model_copy(update=fields)
        render(tuple(registry), history or History(tmp_path / "none"), verdicts, tmp_path / "site", address)
        return tmp_path / "site"

    return make
