"""The command line does not look for garbage again and again among records that are none."""

from __future__ import annotations

import subprocess
import sys

from ootci.cli.main import GC_THRESHOLD

_SAY = """
import gc
from ootci.cli import main
main.cli.main = lambda **_: print(gc.get_threshold()[0])
main.main()
"""


def test_the_collector_waits_for_many_objects() -> None:
    done = subprocess.run([sys.executable, "-c", _SAY], capture_output=True, text=True, check=True)
    assert int(done.stdout) == GC_THRESHOLD > 10_000
