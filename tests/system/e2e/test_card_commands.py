"""The commands of a broken device's page, run as they are printed: they make the same torch and plugin fail again."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from commands import Ran, Tool, run_command, with_smoke_only
from e2e.packages import list_wheels, serve
from misbehaving import stub_torch_wheel, write_device, write_suites
from repositories import git, repository
from torch_wheels import torch_variables
from unit.render.pages import Element, read

pytestmark = [pytest.mark.deep, pytest.mark.long]

FAILED_ON, NEWER = (datetime.now(timezone.utc).date() - timedelta(days=days) for days in (2, 1))
"""The days of two nightlies."""


def _printed(page: Element) -> str:
    (card,) = page.find("section", class_="card")
    return card.find("pre", class_="command")[0].copied


def _paste(text: str, folder: Path, env: Mapping[str, str]) -> Ran:
    return run_command(["bash", "-c", text], folder, env, timeout=3000)


def _run(folder: Path, device: str) -> dict[str, Any]:
    found = json.loads((folder / ".ootci" / "runs" / device / "run.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def _version(day: date) -> str:
    return f"2.15.0.dev{day:%Y%m%d}+cpu"


def _commit(file: Path, text: str) -> str:
    """Change a file and commit what git knows, and nothing that runs left beside it; gives the commit."""
    file.write_text(text, encoding="utf-8")
    git(file.parent, "commit", "--quiet", "--all", "--message=a change")
    return git(file.parent, "rev-parse", "HEAD")


def _clone(origin: Path, folder: Path) -> Path:
    git(origin.parent, "clone", "--quiet", str(origin), str(folder))
    return folder


def test_in_the_vendor_s_repository(tmp_path: Path, ootci: Tool, tool_python: Path) -> None:
    vendor, suites = tmp_path / "vendor", write_suites(tmp_path / "suites")
    # Its folder has the name of our registry.
    file = write_device(vendor / "devices", "theirs", "passes")
    repository(vendor)
    torch = tmp_path / "index" / "nightly" / "cpu" / "torch"
    wheels = [stub_torch_wheel(torch, _version(FAILED_ON))]
    list_wheels(wheels)
    with serve(tmp_path / "index") as index:
        nightly = ("nightly", "devices/theirs.yaml", "--suites", str(suites))
        ootci(*nightly, cwd=vendor, env=index)
        # The plugin is not built again, and yet the commit is that of what is tested.
        broken = _commit(file, file.read_text(encoding="utf-8").replace("BEHAVIOUR: passes", "BEHAVIOUR: fails"))
        assert "nothing changed" in ootci(*nightly, cwd=vendor, env=index).err
        page = read(vendor / "site" / "d" / "theirs" / "index.html")
        assert "devices/theirs in the repository of devices/theirs.yaml" in page.text
        printed = _printed(page)
        assert printed == f"git checkout {broken} && ootci nightly devices/theirs.yaml --torch nightly@{FAILED_ON}"
        rows = page.find("details", class_="failure")
        assert rows
        assert {row.one("pre", class_="command").text for row in rows} == {printed}
        pages = [*vendor.glob("site/d/theirs/2*/index.html"), *vendor.glob("site/[cn]/*/index.html")]
        red = [read(file) for file in pages if 'class="card' in file.read_text(encoding="utf-8")]
        assert len(red) == 3
        assert {_printed(other) for other in red} == {printed}
        first = _run(vendor, "theirs")
        # The commit of the plugin does not have this change of its device file.
        file.write_text(f"{file.read_text(encoding='utf-8')}\n", encoding="utf-8")
        ootci(*nightly, cwd=vendor, env=index)
        note, _, command = _printed(read(vendor / "site" / "d" / "theirs" / "index.html")).partition("\n")
        assert note == "# Not exactly what was tested: its plugin or device file had uncommitted changes."
        assert command == f"ootci nightly devices/theirs.yaml --torch nightly@{FAILED_ON}"
        # Since then the plugin was mended, and there is another nightly.
        _commit(file, file.read_text(encoding="utf-8").replace("BEHAVIOUR: fails", "BEHAVIOUR: passes"))
        list_wheels([*wheels, stub_torch_wheel(torch, _version(NEWER))])
        programs = tmp_path / "bin"
        programs.mkdir()
        script = f'#!/bin/sh\nexec "{tool_python}" -m ootci "$@" --suites "{suites}"\n'
        (programs / "ootci").write_text(script, encoding="utf-8")
        (programs / "ootci").chmod(0o755)
        again = _clone(vendor, tmp_path / "again")
        _paste(printed, again, {**index, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"})
    second = _run(again, "theirs")
    assert second["torch"]["version"] == first["torch"]["version"] == _version(FAILED_ON)
    assert second["plugin"]["commit"] == first["plugin"]["commit"] == broken
    outcomes = [{item["id"]: item["outcome"] for item in run["outcomes"]} for run in (first, second)]
    assert outcomes[0] == outcomes[1]
    assert "failed" in outcomes[0].values()


@pytest.mark.torch
def test_in_a_fresh_checkout(checkout: Path, tmp_path: Path) -> None:
    ours = _clone(checkout, tmp_path / "ours")
    file = ours / "devices" / "openreg.yaml"
    sound = with_smoke_only(file.read_text(encoding="utf-8"))
    _commit(file, sound)
    # A night on another torch than the requested one is evidence of nothing, so that no nightly is requested.
    nightly = ["make", "nightly", "TORCH=release"]
    with torch_variables(tmp_path / "torch-index") as variables:
        env = {"PYTHON": sys.executable, **variables}
        run_command(nightly, ours, env, timeout=3000)
        fault = sound.replace("  OPENREG_DEVICE_COUNT", "  OPENREG_FAULT: wrong-result\n  OPENREG_DEVICE_COUNT")
        broken = _commit(file, fault)
        run_command(nightly, ours, env, timeout=3000)
        printed = _printed(read(ours / "site" / "d" / "openreg" / "index.html"))
        assert printed.startswith(f"git checkout {broken} && make nightly DEVICE=openreg TORCH=")
        _commit(file, sound)
        again = _clone(ours, tmp_path / "again")
        pasted = _paste(printed, again, env)
    first, second = _run(ours, "openreg"), _run(again, "openreg")
    assert second["torch"] == first["torch"]
    assert second["plugin"]["commit"] == first["plugin"]["commit"] == broken
    # The second line runs the first of the failing tests alone, with the fault that the device file switches on.
    assert "1 failed" in pasted.out, pasted.out + pasted.err
