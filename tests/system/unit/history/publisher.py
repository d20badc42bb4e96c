"""A process that appends a night after the other and publishes each: ``publisher.py FOLDER REMOTE DEVICE FIRST COUNT``.

Says ``ready`` when it begins. A night that is there already is not appended again, so that it can
be started once more after it was killed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from unit.samples import plan, run

from ootci.adapters.data_branch import DataBranch
from ootci.adapters.folder_lock import held
from ootci.errors import Busy
from ootci.history.layout import UNFINISHED
from ootci.history.store import History
from ootci.model.run import Run

DEVICES = ("one", "two")


def run_of(number: int, device: str) -> Run:
    """The run that is appended: each has a test that no other has, and one that fails now and then."""
    return run(number, device, smoke={f"t{number}-{device}": "passed", "flaky": "failed" if number % 3 else "passed"})


def publish(folder: Path, remote: str) -> bool:
    """Publish, waiting for a git that outlived its tool."""
    branch = DataBranch(folder, remote, unfinished=UNFINISHED, wait=lambda _: time.sleep(0.1))
    while True:
        try:
            return branch.publish("A night")
        except Busy:
            time.sleep(0.05)


def main(folder: Path, remote: str, device: str, first: int, count: int) -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    publish(folder, remote)
    for number in range(first, first + count):
        with held(folder):
            history = History(folder)
            with history.batch():
                history.append_plan(plan(number, DEVICES))
                history.append_run(run_of(number, device))
        publish(folder, remote)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
