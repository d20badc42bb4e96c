"""Plugins that come as packages and are broken, in one nightly with one that is well and that they must not hurt."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from misbehaving import plugin_wheel, stub_torch_wheel, write_suites

from commands import Ran, Tool  # isort: skip

pytestmark = pytest.mark.long

TORCH = "0.1.0+stub"
EXPECTED = {
    "missing": (
        "IMPORT_BROKEN",
        "OSError: libnosuchruntime.so.3: cannot open shared object file: No such file or directory). What to do: ",
    ),
    "over": ("BUILD_BROKEN", "build: torch-over was installed over files of torch: torch/version.py"),
    "other": (
        "BUILD_BROKEN",
        f"the plugin's package cannot be installed beside torch {TORCH}: torch-other 1.0 depends on torch==9.9",
    ),
    "cardless": (
        "INFRA",
        "fetch: the machine is not ready: `no-such-smi` cannot be started: No such file or directory",
    ),
    "newer": ("INFRA", "fetch: Python 3.99 is not on this machine (`python` in the device file)"),
    "well": ("OK", "5 of 5 tests passed"),
    "well_ours": ("OK", "5 of 5 tests passed"),
}
OURS = f"{sys.version_info.major}.{sys.version_info.minor}"
DEVICE = """name: {name}
display_name: {name}
vendor: Tests
maintainers: ["@tests"]
tier: {tier}
plugin:
  distribution: torch_{name}
  package: torch-{name}==1.0
environment:
  # As a vendor's own index would be.
  PIP_FIND_LINKS: {index}
  FAKE_BEHAVIOUR: {behaviour}
"""


MORE = {
    "cardless": "check:\n  command: [no-such-smi]\n",
    "newer": 'python: "3.99"\n',
    "well": f'python: "3.98"\nvariants: [{{name: ours, python: "{OURS}", tier: gating, environment: {{MORE: x}}}}]\n',
}
"""What more a device file says."""


@dataclass(frozen=True)
class Night:
    """A nightly of all of them, and what was said of each."""

    folder: Path
    ran: Ran
    verdicts: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, ootci: Tool, tool_python: Path) -> Night:
    folder = tmp_path_factory.mktemp("packages")
    index, devices = folder / "index", folder / "devices"
    devices.mkdir()
    plugin_wheel(index, "missing")
    plugin_wheel(index, "over", files={"torch/version.py": "__version__ = git_version = 'mine'\n"})
    plugin_wheel(index, "other", requires="torch==9.9")
    plugin_wheel(index, "well", requires="torch>=0.1")
    for name in EXPECTED.keys() - {"well_ours"}:
        behaviour = "library-missing" if name == "missing" else "passes"
        tier = "reference" if name == "well" else "gating"
        text = DEVICE.format(name=name, index=index, behaviour=behaviour, tier=tier)
        text += MORE.get(name, "")
        (devices / f"{name}.yaml").write_text(text, encoding="utf-8")
    write_suites(folder / "suites")
    torch = stub_torch_wheel(folder, TORCH)
    # There is one Python on every machine; this one says that it was asked, under another version's name.
    other = folder / "bin" / "python3.98"
    other.parent.mkdir()
    other.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\nexec {tool_python.resolve()} "$@"\n', encoding="utf-8")
    other.chmod(0o755)
    path = f"{other.parent}{os.pathsep}{os.environ['PATH']}"
    command = ("nightly", "--torch", torch.name, "--suites", "suites")
    ran = ootci(*command, cwd=folder, env={"PATH": path}, timeout=1800)
    verdicts = json.loads((folder / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))
    return Night(folder, ran, {item["device"]: item for item in verdicts["devices"]})


@pytest.mark.parametrize("name", EXPECTED)
def test_each_ends_in_its_true_row(night: Night, name: str) -> None:
    verdict, reason = EXPECTED[name]
    found = night.verdicts[name]
    assert found["verdict"] == verdict, found["reason"]
    assert reason in found["reason"]
    assert f"{name}: {verdict}: " in night.ran.out
    assert f"d/{name}/index.html" in (night.folder / "site" / "index.html").read_text(encoding="utf-8")


def test_the_row_says_what_was_installed(night: Night) -> None:
    said = night.ran.out.split("\nmissing: IMPORT_BROKEN")[1].splitlines()[1:3]
    assert said == ["  torch 0.1.0+stub (git 0123456789abcdef0123456789abcdef01234567)", "  plugin torch_missing 1.0"]


def test_nothing_is_fetched_for_a_card_that_is_not_there(night: Night) -> None:
    assert not (night.folder / ".ootci" / "envs" / "cardless").exists()
    assert "install the device's driver and tools here, or run it on a machine that has the card" in night.ran.out


def test_an_environment_whose_torch_was_written_over_is_not_used_again(night: Night) -> None:
    stamp = json.loads((night.folder / ".ootci" / "envs" / "over" / "ootci-stamp.json").read_text(encoding="utf-8"))
    assert stamp["fetch"] is None


def test_no_broken_plugin_is_in_the_environment_of_another(night: Night) -> None:
    version = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    installed = {path.name for path in (night.folder / ".ootci" / "envs" / "well" / version).glob("torch_*")}
    assert installed == {"torch_well", "torch_well-1.0.dist-info"}
    assert "Traceback" not in night.ran.err


def test_a_variant_is_a_device_of_its_own_and_the_same_to_torch(night: Night) -> None:
    reports = {
        name: json.loads((night.folder / ".ootci" / "runs" / name / "run.json").read_text(encoding="utf-8"))
        for name in ("well", "well_ours")
    }
    assert {name: report["device"] for name, report in reports.items()} == {"well": "well", "well_ours": "well_ours"}
    assert reports["well"]["plugin"]["sha256"] == reports["well_ours"]["plugin"]["sha256"]
    page = (night.folder / "site" / "d" / "well_ours" / "index.html").read_text(encoding="utf-8")
    assert "torch.device(&#34;well&#34;)" in page or 'torch.device("well")' in page
    assert "well, ours" in page


def test_an_environment_is_made_from_the_python_that_the_device_file_asks_for(night: Night) -> None:
    asked = (night.folder / "asked").read_text(encoding="utf-8").splitlines()
    assert [line.split() for line in asked] == [["-m", "venv", str(night.folder / ".ootci" / "envs" / "well")]]
