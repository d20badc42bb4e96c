"""A fork of a Python that has imported torch does what a fresh Python does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_suites import DevicePython

pytestmark = pytest.mark.torch

TELL = """
import json, os, sys
import a_neighbour
print(json.dumps([sys.argv, os.getcwd(), os.environ.get("ASKED"), sys.stdin.read(), a_neighbour.NAME, __name__]))
print("a complaint", file=sys.stderr)
sys.path.append("left behind")
sys.exit(7)
"""


@pytest.mark.parametrize("kind", ["device_python", "forking_python"])
def test_a_command_gets_what_it_is_given(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    python: DevicePython = request.getfixturevalue(kind)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "a_neighbour.py").write_text("NAME = 'here'\n", encoding="utf-8")
    done = python("-c", TELL, "one", cwd=tmp_path, env={"ASKED": "yes", "PYTHONPATH": str(folder)}, given="a word")
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout) == [["-c", "one"], str(tmp_path), "yes", "a word", "here", "__main__"]
    assert done.stderr == "a complaint\n"


def test_nothing_is_left_for_the_next_command(forking_python: DevicePython, tmp_path: Path) -> None:
    spoil = "import builtins, os, sys, torch; torch.ones = builtins.spoilt = None; os.environ['SPOILT'] = ''"
    assert forking_python("-c", spoil, env={"ASKED": "yes"}, cwd=tmp_path).returncode == 0
    look = "import builtins, os, torch; print(torch.ones is None, hasattr(builtins, 'spoilt'), os.environ.get('ASKED'))"
    done = forking_python("-c", look + "; print('SPOILT' in os.environ)")
    assert done.stdout.split() == ["False", "False", "None", "False"], done.stderr


def test_a_command_may_die_or_raise(forking_python: DevicePython) -> None:
    assert forking_python("-c", "import os; os.abort()").returncode == -6
    raised = forking_python("-c", "1 / 0")
    assert raised.returncode == 1
    assert "ZeroDivisionError" in raised.stderr


def test_a_module_is_run_as_the_main_program(forking_python: DevicePython, tmp_path: Path) -> None:
    (tmp_path / "a_program.py").write_text("import sys; print(__name__, sys.argv[1:])", encoding="utf-8")
    done = forking_python("-m", "a_program", "one", cwd=tmp_path)
    assert done.stdout == "__main__ ['one']\n", done.stderr
