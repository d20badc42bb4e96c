"""Broken devices are found out: every variant by the tests that claim it, and the table of proofs says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from sabotage import DEVICE, VARIANTS
from small_suites import SUITES, DevicePython, run_ids

PROOFS = SUITES / "PROOFS.md"

HEADER = """# Which test finds which defect

Each line is a device that is broken on purpose (`tests/system/unit/device_suites/sabotage.py`), and tests that pass on
the whole reference device and fail on this one. Generated: `pytest tests/system/unit/device_suites --update-golden`.

| a device with | is found out by |
| --- | --- |
"""


def _outcomes(python: DevicePython, ids: tuple[str, ...], folder: Path, variant: str | None = None) -> dict[str, str]:
    return {test_id: end["outcome"] for test_id, end in run_ids(python, DEVICE, ids, folder, variant).items()}


@pytest.mark.torch
def test_whole_device_passes_them_all(reference: DevicePython, tmp_path: Path) -> None:
    ids = tuple(dict.fromkeys(test_id for variant in VARIANTS.values() for test_id in variant.caught_by))
    assert _outcomes(reference, ids, tmp_path) == dict.fromkeys(ids, "passed")


@pytest.mark.torch
@pytest.mark.parametrize("name", VARIANTS)
def test_broken_device_is_found_out(reference: DevicePython, tmp_path: Path, name: str) -> None:
    ids = VARIANTS[name].caught_by
    assert _outcomes(reference, ids, tmp_path, name) == dict.fromkeys(ids, "failed")


def test_table_of_proofs_is_right(request: pytest.FixtureRequest) -> None:
    rows = [f"| {v.what} | {'<br>'.join(f'`{test_id}`' for test_id in v.caught_by)} |" for v in VARIANTS.values()]
    expected = HEADER + "\n".join(rows) + "\n"
    if request.config.getoption("--update-golden", default=False):
        PROOFS.write_text(expected, encoding="utf-8")
    assert PROOFS.read_text(encoding="utf-8") == expected
