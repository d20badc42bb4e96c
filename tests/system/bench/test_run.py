"""Every measurement of `make bench` runs to its end: what it compares agrees, and what it measures is kept."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from commands import Nightly, run_command

pytestmark = [pytest.mark.deep, pytest.mark.torch, pytest.mark.long]

RUN = Path(__file__).with_name("run.py")
NAMES = re.findall(r'^    "(\w+)": \(', RUN.read_text(encoding="utf-8"), re.M)
WHEN_ASKED = ("site_large",)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WHEN_ASKED])
def test_a_measurement_runs_to_its_end_and_is_kept(openreg_nightly: Nightly, name: str) -> None:
    """In the nightly's checkout, where the reference device's environment is."""
    folder = openreg_nightly.folder
    ran = run_command([sys.executable, "tests/system/bench/run.py", name], folder, timeout=3600)
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.splitlines()[0] == f"-- {name}"
    assert len(ran.out.splitlines()) > 1
    assert json.loads((folder / ".ootci" / "bench.json").read_text(encoding="utf-8"))[name]
