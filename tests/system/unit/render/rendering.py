"""Sites of other verdicts, devices or runs than the sample's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from unit.samples import device
from unit.stages.judging import judged

from ootci.history.store import History
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.stages.render import render

Rendered = Callable[..., Path]
"""What the fixture ``rendered`` is."""


def judged_pages(folder: Path, *records: Plan | Run, registry: Sequence[RegisteredDevice] = (device(),)) -> Path:
    """Judge plans and runs and render them; gives the site's folder."""
    verdicts = judged(folder, *records, registry=registry)
    render(tuple(registry), History(folder / "data"), verdicts, folder / "site")
    return folder / "site"
