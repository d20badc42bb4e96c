"""What the tests with a real device share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import Nightly


@pytest.fixture(scope="session")
def device_python(request: pytest.FixtureRequest) -> Path:
    """The Python that ``make nightly`` made in a fresh checkout, or the one named in OOTCI_TEST_DEVICE_PYTHON."""
    named = os.environ.get("OOTCI_TEST_DEVICE_PYTHON")
    if named:
        return Path(named)
    nightly: Nightly = request.getfixturevalue("openreg_nightly")
    return nightly.device_python
