"""Device files that are written for a test, and the errors of those that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML

from ootci.errors import EXIT_INPUT, InputError
from ootci.model.device import Device, load_device

GOOD = DEVICE_YAML.format(name="dev")
NEXT = GOOD.count("\n") + 1
"""The line of what is appended to ``GOOD``."""


def loaded(folder: Path, text: str, name: str = "dev.yaml") -> Device:
    """The device of a file with this text."""
    (folder / name).write_text(text, encoding="utf-8")
    return load_device(folder / name).device


def refused(folder: Path, text: str | bytes, kind: type[InputError], name: str = "dev.yaml") -> InputError:
    """Load the text, which must fail in the usual way, and return the error."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(kind) as caught:
        load_device(path)
    error = caught.value
    assert type(error) is kind
    assert error.exit_code == EXIT_INPUT
    assert error.where.startswith(path.as_posix())
    assert error.fix
    assert "\n" not in error.what
    return error


def line_of(error: InputError) -> int:
    """The line that an error names."""
    return int(error.where.rpartition(":")[2])
