"""Two runs of the tool never work in one folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ootci.adapters.folder_lock import locked
from ootci.errors import EXIT_INFRASTRUCTURE, Busy, HostFailure

HOLD = """
import sys, time
from pathlib import Path
from ootci.adapters.folder_lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_folder_that_another_process_holds_is_busy_until_that_dies(tmp_path: Path) -> None:
    source = str(Path(__file__).parents[4] / "scripts")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "work")], env={"PYTHONPATH": source}, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Busy) as caught, locked(tmp_path / "work"):
            pass
        holder.kill()
        holder.wait()
    assert caught.value.exit_code == EXIT_INFRASTRUCTURE
    assert str(tmp_path / "work") in caught.value.where
    with locked(tmp_path / "work"):
        pass


def test_the_lock_ends_with_the_block_also_when_it_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    with locked(tmp_path), pytest.raises(Busy), locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_says_which_option_to_use(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(HostFailure) as caught, locked(tmp_path / "file" / "work"):
        pass
    assert "--work" in caught.value.fix
