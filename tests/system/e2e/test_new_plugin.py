"""What ``ootci plugin new`` writes is built, loads with torch, and passes the suite smoke."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import subjects
from drawn import deep

from commands import Tool, build_wheel  # isort: skip

pytestmark = pytest.mark.torch

STAGED = Path(__file__).with_name("staged_launch.cpp")


@pytest.mark.parametrize("options", [("--python-only",), deep(("--step", "1")), deep(("--step", "17"))], ids=" ".join)
def test_a_new_plugin_is_ok_on_smoke(
    ootci: Tool, device_python: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    assert ootci("plugin", "new", "mydevice", *options, cwd=tmp_path).code == 0
    _is_ok(ootci, device_python, tmp_path)


@pytest.mark.deep
@pytest.mark.long
def test_a_plugin_that_copies_its_memory_to_the_host_is_ok_on_smoke(
    ootci: Tool, device_python: Path, tmp_path: Path
) -> None:
    """The course's page about operators shows this file."""
    assert ootci("plugin", "new", "mydevice", cwd=tmp_path).code == 0
    launch = STAGED.read_text(encoding="utf-8").replace("openreg", "mydevice")
    (tmp_path / "torch-mydevice" / "csrc" / "ops" / "Launch.cpp").write_text(launch, encoding="utf-8")
    _is_ok(ootci, device_python, tmp_path)


def _is_ok(ootci: Tool, device_python: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "torch-mydevice"
    python, site = subjects.environment(device_python, tmp_path / "env")
    zipfile.ZipFile(build_wheel(device_python, plugin, tmp_path / "wheel")).extractall(site)
    file = plugin / "mydevice.yaml"
    run = ootci("nightly", str(file), "--python", str(python), cwd=tmp_path, timeout=1800)
    (found,) = json.loads((tmp_path / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))["devices"]
    assert (found["verdict"], run.code) == ("OK", 0), run.out + run.err
