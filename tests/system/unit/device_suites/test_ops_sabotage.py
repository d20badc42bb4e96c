"""The suites ops and models find devices that are broken on purpose, and pass on the whole one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drawn import deep_but
from ops_sabotage import BROKEN, DEVICE, WHOLE
from small_suites import DevicePython, read_ends

pytestmark = pytest.mark.torch

DRAWN = {broken.noticed_by[0].partition("::")[0]: name for name, broken in reversed(BROKEN.items())}
"""By file of these suites, the first broken device that it notices: `make test` runs these."""


def _ends(python: DevicePython, log: Path, ids: tuple[str, ...], broken: str | None = None) -> dict[str, Any]:
    plugin = () if broken is None else ("-p", "ops_sabotage")
    environment = {"OPS_SABOTAGE": broken or "", "PYTHONPATH": str(Path(__file__).parent)}
    done = python("-m", "pytest", *plugin, *ids, "--device", DEVICE, f"--events={log}", "-q", env=environment)
    ends = read_ends(log)
    assert set(ends) == set(ids), done.stdout + done.stderr
    return ends


def test_the_whole_device_passes_them_all(forking_ops: DevicePython, tmp_path: Path) -> None:
    ids = tuple(dict.fromkeys(test_id for broken in BROKEN.values() for test_id in broken.noticed_by))
    ends = _ends(forking_ops, tmp_path / "events.jsonl", ids)
    assert {test_id: end["outcome"] for test_id, end in ends.items()} == dict.fromkeys(ids, "passed")


@pytest.mark.parametrize("name", WHOLE)
def test_rounding_is_no_failure(forking_ops: DevicePython, tmp_path: Path, name: str) -> None:
    ids = WHOLE[name].noticed_by
    ends = _ends(forking_ops, tmp_path / "events.jsonl", ids, name)
    assert {test_id: end["outcome"] for test_id, end in ends.items()} == dict.fromkeys(ids, "passed")


@pytest.mark.parametrize("name", deep_but(DRAWN.values(), BROKEN))
def test_a_broken_device_is_found_out(forking_ops: DevicePython, tmp_path: Path, name: str) -> None:
    broken = BROKEN[name]
    ends = _ends(forking_ops, tmp_path / "events.jsonl", broken.noticed_by, name)
    assert {test_id: end["outcome"] for test_id, end in ends.items()} == dict.fromkeys(broken.noticed_by, "failed")
    assert broken.seen in ends[broken.noticed_by[0]]["message"]
