"""Plugins that break what they are loaded into: each ends in its true row, and nothing of it is left behind.

All of them run in one environment that is there (``ootci nightly --python``), so that none has to be made.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from drawn import deep_but
from e2e.test_misbehaving_devices import DRAWN as BUILT_DRAWN
from e2e.test_misbehaving_devices import EXPECTED as BUILT
from misbehaving import install, write_device, write_suites
from processes import runs

from ootci.adapters.process import MAX_LOG_BYTES
from ootci.model.record import read
from ootci.model.run import Run
from ootci.stages.render.pages.findings import findings

from commands import Ran, Tool  # isort: skip

pytestmark = pytest.mark.long

EXPECTED = {
    "library-missing": (
        "IMPORT_BROKEN",
        "import",
        "OSError: libnosuchruntime.so.3: cannot open shared object file: No such file or directory). What to do: "
        "install what libnosuchruntime.so.3 belongs to, the device's driver or runtime, or say where it is with",
    ),
    "import-raises": ("IMPORT_BROKEN", "import", "Failed to load the backend extension: dev (because of OSError: libf"),
    "import-exits": ("IMPORT_BROKEN", "import", "`import torch` did not survive: exit code 0; goodbye"),
    "import-quits": ("IMPORT_BROKEN", "import", "`import torch` did not survive: exit code 1; no licence found"),
    "import-crashes": ("IMPORT_BROKEN", "import", "`import torch` did not survive: killed by SIGSEGV"),
    "import-throws": ("IMPORT_BROKEN", "import", "runtime 8.1 is too old: this plugin needs 9.0 or newer"),
    "aborts-at-exit": ("FAILING", "smoke", "killed by SIGABRT"),
    "exits-at-once": ("SMOKE_BROKEN", "smoke", "pytest ended before it had collected any test: exit code 0; goodbye"),
    "prints-megabytes": ("OK", None, "5 of 5 tests passed"),
    "leaves-daemons": ("OK", None, "5 of 5 tests passed"),
    "leaves-a-lock": (
        "NO_DATA",
        "smoke",
        "zero tests were collected: pytest ended with exit status 4; ERROR: `import torch` failed: RuntimeError: "
        "Failed to load the backend extension: dev (because of OSError: the card is in use: card.lock is there",
    ),
    "changes-folder": ("OK", None, "5 of 5 tests passed"),
}

DRAWN = ("aborts-at-exit", "leaves-daemons")
"""Run by `make test`: what they do comes after the tests. The verdicts of the others are drawn of built devices."""


CELLS: dict[str, dict[str, str]] = {
    "import-throws": {},
    "aborts-at-exit": dict.fromkeys(("autograd", "registration", "views"), "works"),
}
"""What the cells of some say, by capability: none where nothing was imported."""
LACKING = ("a generator", "events", "fork detection", "memory statistics", "pinned memory", "streams")
"""What the plugin does not have: the findings of a device that was imported, as no test of it was refused."""


@dataclass(frozen=True)
class Place:
    """An environment with a torch without weight and the plugin, and the suites."""

    folder: Path

    def run(self, ootci: Tool, folder: Path) -> Ran:
        """Run the device file of a folder in it."""
        asked = ("nightly", "dev.yaml", "--python", sys.executable, "--suites", str(self.folder / "suites"))
        return ootci(*asked, cwd=folder, env={"PYTHONPATH": str(self.folder / "site-packages")})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("place")
    install(folder / "site-packages", "dev")
    write_suites(folder / "suites")
    return Place(folder)


def _verdict(folder: Path) -> dict[str, Any]:
    (found,) = json.loads((folder / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))["devices"]
    assert isinstance(found, dict)
    return found


def test_one_is_drawn_for_each_verdict_here_or_of_built_devices() -> None:
    drawn = {EXPECTED[behaviour][0] for behaviour in DRAWN} | {BUILT[behaviour][0] for behaviour in BUILT_DRAWN}
    assert {verdict for verdict, *_ in EXPECTED.values()} <= drawn


@pytest.mark.parametrize("behaviour", deep_but(DRAWN, EXPECTED))
def test_it_ends_in_its_true_row(ootci: Tool, place: Place, tmp_path: Path, behaviour: str) -> None:
    write_device(tmp_path, "dev", behaviour)
    ran = place.run(ootci, tmp_path)
    verdict, broke_at, reason = EXPECTED[behaviour]
    found = _verdict(tmp_path)
    assert (found["verdict"], found["broke_at"]) == (verdict, broke_at), found["reason"]
    assert reason in found["reason"]
    assert ran.code == (0 if verdict == "OK" else 1), ran.err
    assert "Traceback" not in ran.err
    assert f"dev: {verdict}: " in ran.out
    assert "  torch 0.1.0+stub (git 0123456789abcdef0123456789abcdef01234567)\n  plugin torch-dev 1.0\n" in ran.out
    assert "d/dev/index.html" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    if (cells := CELLS.get(behaviour)) is not None:
        run = read(Run, tmp_path / ".ootci" / "runs" / "dev" / "run.json")
        assert {row.capability: row.state.value for row in run.capabilities} == cells
        lacks = [item.text for item in findings(run, run.counts.total, frozenset())]
        assert lacks == [f"the device does not have: {part}" for part in LACKING if cells]
    daemons = [int(path.name.partition("-")[2]) for path in tmp_path.glob("daemon-*")]
    assert bool(daemons) == (behaviour == "leaves-daemons")
    assert [pid for pid in daemons if runs(pid)] == []
    logs = [path.stat().st_size for path in (tmp_path / ".ootci" / "runs" / "dev" / "logs").iterdir()]
    assert max(logs) < MAX_LOG_BYTES + 100_000
    assert (max(logs) >= MAX_LOG_BYTES) == (behaviour == "prints-megabytes")
