"""``ootci plan`` asks PyTorch's repository what a nightly was made of, and counts from the one before."""

from __future__ import annotations

import os
from pathlib import Path

from misbehaving import write_device
from pytorch_branches import pytorch_branches
from torch_server import serve_torch_index
from unit.samples import night

from ootci.history.store import History
from ootci.model.commits import NewCommits
from ootci.model.plan import Plan
from ootci.model.record import read

from commands import Tool  # isort: skip

NIGHTLY = "2.15.0.dev20261102+cpu"


def test_the_plan_says_what_its_nightly_was_made_of(tmp_path: Path, ootci: Tool) -> None:
    pytorch = pytorch_branches(tmp_path)
    write_device(tmp_path / "devices", "dev", "passes")
    with serve_torch_index(tmp_path / "index") as server:
        server.add("nightly", NIGHTLY, commit=pytorch.nightlies[1])
        env = {**server.variables, "OOTCI_PYTORCH_GIT": pytorch.address, "GIT_CONFIG_GLOBAL": os.devnull}

        def planned() -> Plan:
            ran = ootci("plan", "--torch", NIGHTLY, cwd=tmp_path, env=env)
            assert ran.code == 0, ran.err
            return read(Plan, tmp_path / ".ootci" / "plan.json")

        first = planned()
        assert (first.source, first.new_commits) == (pytorch.main[2], None)
        before = first.runs[0].torch.model_copy(update={"commit": pytorch.nightlies[0], "made_of": pytorch.main[0]})
        runs = tuple(run.model_copy(update={"torch": before}) for run in first.runs)
        earlier = first.model_copy(update={"id": "20261101-before", "created_at": night(0), "runs": runs})
        History(tmp_path / "data").append_plan(earlier)
        assert planned().new_commits == NewCommits(since=pytorch.main[0], until=pytorch.main[2], count=2)
