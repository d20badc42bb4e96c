"""Two torches: the one that the plugin was made for, and a newer one without some of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from unit.stages.compat.predicting import Predict, predicted
from unit.stages.compat.wheels import torch_wheel

from ootci.stages.compat import TorchWheel, read_torch


@pytest.fixture(scope="module")
def torches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TorchWheel, TorchWheel]]:
    folder = tmp_path_factory.mktemp("torches")
    old, new = (torch_wheel(folder, kind, version) for kind, version in (("old", "2.13.0"), ("new", "2.15.0")))
    both = read_torch(old), read_torch(new)
    yield both
    for torch in both:
        torch.wheel.close()


@pytest.fixture
def predict(tmp_path: Path, torches: tuple[TorchWheel, TorchWheel]) -> Predict:
    """What is predicted of a plugin's wheel with files, on the newer torch unless told otherwise."""
    return partial(predicted, tmp_path, torches)
