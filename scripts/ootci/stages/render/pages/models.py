"""Small models on every device: which of their tests pass, how fast they are trained, and the memory that it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from ootci.history.reader import HistoryReader
from ootci.model.outcome import FAILURES, Outcome, OutcomeName
from ootci.model.record import Record
from ootci.model.training import Training

from ..links import models_path
from ..page_maker import PageMaker
from ..publish import File
from .parity import ParityNights
from .published import Compact, WithPage, api_file

SUITE = "models"
LIMIT = 50
"""More models of a device than this are not shown; the suite has seven."""
_TEST = re.compile(r"models/test_models\.py::test_\w{1,80}\[(?P<model>\w{1,40})\]", re.A)
_TOP = "../../"


class ModelOnDevice(Record):
    """A model on a device."""

    model: str
    """Its name in the suite."""
    passed: int
    """Its tests that passed."""
    failed: int
    """Those that failed."""
    other: int
    """Those that are unsupported, do not apply or did not run."""
    training: Training | None
    """Throughput and memory; null where they were not measured, or are not kept any more."""


class DeviceModels(Record):
    """The models of a device, on the newest night on which the suite ran."""

    device: str
    """Name of the device."""
    night: date
    """That night, in UTC."""
    run_page: str | None
    """Address of the permanent page of its run; null where there is none."""
    models: tuple[ModelOnDevice, ...]
    """By name."""


class ModelsFile(WithPage, Compact):
    """models.json: small models on every device."""

    devices: tuple[DeviceModels, ...]
    """In the order of the front page; those that never ran the suite are left out."""


def device_models(
    history: HistoryReader, device: str, nights: ParityNights, pages: Mapping[str, str]
) -> DeviceModels | None:
    """The models of a device; None where it never ran the suite.

    Args:
        nights: its nights, oldest first.
        pages: by nightly, the page of its run.

    """
    for plan, run, _ in reversed(nights):
        rows = run.of_suites((SUITE,)).rows()
        if rows:
            found: dict[str, list[Outcome]] = {}
            for item in history.whole(run, rows).outcomes:
                if named := _TEST.fullmatch(item.id):
                    found.setdefault(named["model"], []).append(item)
            page = pages.get(plan.id)
            return DeviceModels(
                device=device,
                night=plan.created_at.date(),
                run_page=f"{_TOP}{page}" if page else None,
                models=tuple(_model(name, found[name]) for name in sorted(found)[:LIMIT]),
            )
    return None


def _model(name: str, tests: Sequence[Outcome]) -> ModelOnDevice:
    passed = sum(item.outcome is OutcomeName.PASSED for item in tests)
    failed = sum(item.outcome in FAILURES for item in tests)
    training = next((item.training for item in tests if item.training is not None), None)
    return ModelOnDevice(
        model=name, passed=passed, failed=failed, other=len(tests) - passed - failed, training=training
    )


def models_page(maker: PageMaker, devices: Sequence[DeviceModels]) -> Iterator[File]:
    """The page of the models on all devices, and its file; the devices are in the order of the front page."""
    file = ModelsFile(page=f"{_TOP}{models_path()}", devices=tuple(devices))
    yield maker.show(models_path(), "models.html", page=file)
    yield api_file("models.json", file)
