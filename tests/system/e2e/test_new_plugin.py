"""What ``ootci plugin new`` writes is built, loads with torch, and passes the suite smoke."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
import subjects
from contract.openreg_steps import read_steps
from drawn import deep

from commands import Tool, build_wheel, run_command  # isort: skip

pytestmark = pytest.mark.torch

UNMAPPED = Path(__file__).with_name("unmapped")


@pytest.mark.parametrize("options", [("--python-only",), deep(("--step", "1")), deep(("--step", "17"))], ids=" ".join)
def test_a_new_plugin_is_ok_on_smoke(
    ootci: Tool, device_python: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    assert ootci("plugin", "new", "mydevice", *options, cwd=tmp_path).code == 0
    page = _is_ok(ootci, device_python, tmp_path)
    if "--python-only" in options:
        for lacking in ("a generator", "memory statistics", "pinned memory"):
            assert f"the device does not have: {lacking}<" in page


ONE_MEMORY_AND_A_FORK = """
import os, threading, torch
from torch.utils.dlpack import from_dlpack, to_dlpack

here = torch.zeros(4, device="mydevice")
torch._foreach_add_([here, from_dlpack(to_dlpack(here[1:3]))], 1)
assert here.tolist() == [1, 2, 2, 1], here

much = torch.ones(200_000, device="mydevice")
done = threading.Event()
threading.Thread(target=lambda: [much.add_(1) for _ in iter(done.is_set, True)]).start()
for _ in range(5):
    child = os.fork()
    if not child:
        for call in (much.cpu, torch.accelerator.memory_allocated):
            try:
                call()
            except RuntimeError:
                continue
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done.set()
"""
"""Storages of one memory in one operator, and a fork while another thread computes."""


@pytest.mark.deep
@pytest.mark.long
@pytest.mark.parametrize("step", [1, 4])
def test_a_plugin_whose_memory_the_host_cannot_address_is_ok_on_smoke(
    ootci: Tool, device_python: Path, tmp_path: Path, root: Path, step: int
) -> None:
    """The course shows these files. Nothing of the simulated driver is left, and each step's capabilities are whole."""
    assert ootci("plugin", "new", "mydevice", "--step", str(step), cwd=tmp_path).code == 0
    plugin = tmp_path / "torch-mydevice"
    shutil.rmtree(plugin / "runtime")
    for file in (plugin / "csrc").glob("Streams.*"):
        file.unlink()
    shutil.copytree(UNMAPPED, plugin, dirs_exist_ok=True)
    file = plugin / "mydevice.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("devices: 2", "devices: 1"), encoding="utf-8")
    _is_ok(ootci, device_python, tmp_path)
    steps = read_steps(root / "devices" / "openreg")[:step]
    asked = [argument for item in steps for name in item.capabilities for argument in ("--capability", name)]
    command = (tmp_path / "env" / "bin" / "python", "-m", "pytest", "integration", "--device", "mydevice", *asked)
    ran = run_command([*map(str, command), "-q", "-p", "no:cacheprovider"], root / "tests" / "device", timeout=900)
    assert ran.code == 0, ran.out
    assert " passed" in ran.out
    by_hand = (command[0], "-c", ONE_MEMORY_AND_A_FORK)
    ran = run_command([*map(str, by_hand)], tmp_path, timeout=300)
    assert ran.code == 0, ran.out + ran.err


def _is_ok(ootci: Tool, device_python: Path, tmp_path: Path) -> str:
    """Build the plugin and run the nightly; the device's page on the dashboard."""
    plugin = tmp_path / "torch-mydevice"
    python, site = subjects.environment(device_python, tmp_path / "env")
    zipfile.ZipFile(build_wheel(device_python, plugin, tmp_path / "wheel")).extractall(site)
    file = plugin / "mydevice.yaml"
    run = ootci("nightly", str(file), "--python", str(python), cwd=tmp_path, timeout=1800)
    (found,) = json.loads((tmp_path / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))["devices"]
    assert (found["verdict"], run.code) == ("OK", 0), run.out + run.err
    page = (tmp_path / "site" / "d" / "mydevice" / "index.html").read_text(encoding="utf-8")
    tested = re.search(r"mydevice: OK: (\d+ of \d+) tests passed", run.out + run.err)
    assert tested is not None, run.out + run.err
    assert f"{tested[1]} tests passed" in page
    return page
