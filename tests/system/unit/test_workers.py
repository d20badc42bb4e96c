"""Several pytest workers share what is dear to prepare, and begin with what is long."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import Ran, run_command
from preparation import prepare_once

CONFTEST = """
import os
import pytest
from preparation import prepare_once
from worker_order import pytest_collection_modifyitems

def make():
    with open("made", "a") as log:
        log.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
    {make}

@pytest.fixture(scope="session")
def dear(tmp_path_factory):
    return prepare_once(tmp_path_factory.getbasetemp().parent, "dear", make)
"""
TESTS = """
import os, time

def test_one(dear):
    assert dear == "it"

def test_met(dear):
    open(os.environ["PYTEST_XDIST_WORKER"], "w").close()
    while len([name for name in os.listdir() if name.startswith("gw")]) < 2:
        time.sleep(0.01)
"""
OPTIONS = ("-p", "xdist.plugin", "-p", "no:cacheprovider", "--dist", "loadfile", "--no-loadscope-reorder")


def _run(folder: Path, *options: str) -> Ran:
    command = [sys.executable, "-m", "pytest", "--basetemp", "temporary", *OPTIONS, *options]
    env = {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return run_command(command, folder, env)


def _write(folder: Path, files: dict[str, str]) -> None:
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    torch\n    long\n", encoding="utf-8")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def test_what_one_worker_prepares_the_other_gets(tmp_path: Path) -> None:
    files = {"conftest.py": CONFTEST.format(make="return 'it'"), "test_a.py": TESTS, "test_b.py": TESTS}
    _write(tmp_path, files)
    ran = _run(tmp_path, "-n2")
    assert ran.code == 0, ran.out
    assert len((tmp_path / "made").read_text(encoding="utf-8").splitlines()) == 1


def test_what_one_worker_cannot_prepare_fails_in_the_other_with_the_reason(tmp_path: Path) -> None:
    tests = TESTS.partition("def test_met")[0]
    files = {"conftest.py": CONFTEST.format(make="raise OSError('disk full')"), "test_a.py": tests, "test_b.py": tests}
    _write(tmp_path, files)
    ran = _run(tmp_path, "-n2")
    assert ran.code == 1
    assert "2 errors" in ran.out
    assert "dear could not be made by another worker: OSError: disk full" in ran.out
    assert len((tmp_path / "made").read_text(encoding="utf-8").splitlines()) == 1


def test_what_a_worker_died_of_is_not_tried_again(tmp_path: Path) -> None:
    code = "import os, pathlib, preparation; preparation.prepare_once(pathlib.Path(), 'dear', lambda: os._exit(3))"
    ran = run_command([sys.executable, "-c", code], tmp_path, {"PYTHONPATH": str(Path(__file__).parents[1])})
    assert ran.code == 3, ran.err
    with pytest.raises(pytest.fail.Exception, match="another worker died of it"):
        prepare_once(tmp_path, "dear", lambda: None)


def test_workers_begin_with_what_others_wait_for_and_with_what_is_long(tmp_path: Path) -> None:
    plain = "import pytest\ndef test_first(): pass\n"
    with_torch = plain + "@pytest.mark.torch\ndef test_second(): pass\n"
    long = "@pytest.mark.long\ndef test_third(): pass\n"
    nightly = "import pytest\n@pytest.fixture\ndef openreg_nightly(): pass\ndef test_it(openreg_nightly): pass\n"
    deep = nightly.replace("def test_it", "@pytest.mark.deep\ndef test_it")
    files = {"a": with_torch, "b": with_torch + long, "c": plain, "d": plain + long, "e": nightly, "f": nightly + long}
    files["0"] = deep + long.replace("@", "@pytest.mark.deep\n@")
    _write(tmp_path, {f"test_{name}.py": text for name, text in files.items()})
    _write(tmp_path, {"conftest.py": CONFTEST.format(make="pass")})
    ran = _run(tmp_path, "-n1", "-v", "-m", "not deep")
    assert ran.code == 0, ran.out
    finished = [line.split("::")[0].removeprefix("test_") for line in _passed(ran.out)]
    assert list(dict.fromkeys(finished)) == [f"{name}.py" for name in "fdcbae"]


def _passed(out: str) -> list[str]:
    return [line.partition("PASSED ")[2] for line in out.splitlines() if "PASSED " in line]
