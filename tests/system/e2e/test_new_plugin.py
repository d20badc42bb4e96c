"""What ``ootci plugin new`` writes is built, loads with torch, and passes the suite smoke."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import subjects
from drawn import deep

from commands import Tool, build_wheel  # isort: skip

pytestmark = [pytest.mark.torch, pytest.mark.long]


@pytest.mark.parametrize("options", [("--python-only",), deep(("--step", "1")), deep(("--step", "17"))], ids=" ".join)
def test_a_new_plugin_is_ok_on_smoke(
    ootci: Tool, device_python: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    plugin = tmp_path / "torch-mydevice"
    assert ootci("plugin", "new", "mydevice", *options, cwd=tmp_path).code == 0
    python, site = subjects.environment(device_python, tmp_path / "env")
    zipfile.ZipFile(build_wheel(device_python, plugin, tmp_path / "wheel")).extractall(site)
    file = plugin / "mydevice.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{text}\nsuites:\n  - name: smoke\n", encoding="utf-8")
    run = ootci("nightly", str(file), "--python", str(python), cwd=tmp_path, timeout=1800)
    (found,) = json.loads((tmp_path / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))["devices"]
    assert (found["verdict"], run.code) == ("OK", 0), run.out + run.err
