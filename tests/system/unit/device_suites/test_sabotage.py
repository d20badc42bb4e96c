"""Broken devices are found out: every variant by the tests that claim it, and the table of proofs says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from sabotage import DEVICE, VARIANTS
from small_suites import SUITES, DevicePython, read_events

PROOFS = SUITES / "PROOFS.md"

HEADER = """# Which test finds which defect

Each line is a device that is broken on purpose (`tests/system/unit/device_suites/sabotage.py`), and tests that pass on
the whole reference device and fail on this one. Generated: `pytest tests/system/unit/device_suites --update-golden`.

| a device with | is found out by |
| --- | --- |
"""


@pytest.fixture(scope="session")
def reference(device_python: DevicePython) -> DevicePython:
    """The Python with torch, if the reference device is installed there."""
    done = device_python("-c", f"import torch; torch.ones(1, device={DEVICE!r})")
    if done.returncode != 0:
        pytest.skip(f"the Python with torch has no device {DEVICE}")
    return device_python


def _outcomes(python: DevicePython, ids: tuple[str, ...], folder: Path, variant: str | None = None) -> dict[str, str]:
    (folder / "ids").write_text("\n".join(ids), encoding="utf-8")
    log = folder / "events.jsonl"
    plugin = () if variant is None else ("-p", "sabotage")
    files = sorted({test_id.partition("::")[0] for test_id in ids})  # collecting the others takes longer than the tests
    done = python(
        *("-m", "pytest", *plugin, *files, "--device", DEVICE, f"--ids-from={folder / 'ids'}", f"--events={log}", "-q"),
        env={"SABOTAGE": variant or "", "PYTHONPATH": str(Path(__file__).parent)},
    )
    ends = {event["id"]: event["outcome"] for event in read_events(log) if event["event"] == "test_end"}
    assert ends, done.stdout + done.stderr
    return ends


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
