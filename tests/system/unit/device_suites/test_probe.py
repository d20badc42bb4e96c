"""The probe, with a Python that has no torch or a broken one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_suites import STUB_TORCH, SUITES

MODULE = """
import types
version = types.SimpleNamespace(git_version="0" * 40, debug=False, cuda=None, hip=None)
__config__ = types.SimpleNamespace(show=lambda: "nothing")
def compiled_with_cxx11_abi():
    return True
def get_device_module(name):
    return types.SimpleNamespace(is_available=lambda: AVAILABLE, device_count=lambda: 2)
"""


def _probe(tmp_path: Path, torch: str | None, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    stub = tmp_path / "stub"
    stub.mkdir(exist_ok=True)
    (stub / "torch.py").write_text("raise ImportError('no torch')" if torch is None else torch, encoding="utf-8")
    out = tmp_path / "env.json"
    done = subprocess.run(
        [sys.executable, str(SUITES / "probe.py"), "--out", str(out), *arguments],
        env={"PYTHONPATH": str(stub)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr, json.loads(out.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("torch", "arguments", "code", "reached", "error"),
    [
        (None, ("--device", "cpu"), 10, "python", "`import torch` failed: ImportError: no torch"),
        ("import os\nos._exit(134)", ("--device", "cpu"), 134, "python", None),
        (STUB_TORCH + MODULE + "AVAILABLE = True", ("--device", "cpu"), 0, "described", None),
        (STUB_TORCH + MODULE + "AVAILABLE = True", ("--device", "x"), 11, "import", "does not know the device x"),
        (STUB_TORCH + MODULE + "AVAILABLE = False", ("--device", "cpu"), 12, "device", "not available"),
        (
            STUB_TORCH + MODULE + "AVAILABLE = True",
            ("--device", "cpu", "--expect-devices", "3"),
            12,
            "device",
            "counts 2 device(s) of cpu, expected at least 3",
        ),
        (STUB_TORCH + MODULE, ("--device", "cpu"), 12, "device", "NameError"),
    ],
    ids=["no_torch", "torch_ends_the_process", "fine", "unknown", "unavailable", "too_few", "module_raises"],
)
def test_every_end(
    tmp_path: Path, torch: str | None, arguments: tuple[str, ...], code: int, reached: str, error: str | None
) -> None:
    actual, complaint, facts = _probe(tmp_path, torch, *arguments)
    assert actual == code, complaint
    assert facts["reached"] == reached
    if error is None:
        assert facts["error"] is None
    else:
        assert error in facts["error"]
        assert error in complaint
    assert facts["python"]["version"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert facts["os"]["cpus"] >= 1


@pytest.mark.parametrize(
    ("entry_points", "what_to_do"),
    [
        (
            None,
            'declare one where the plugin is packaged: [project.entry-points."torch.backends"] x = "MODULE:FUNCTION"',
        ),
        ("[torch.backends]\ny = y:load", 'are torch-y; theirs has to call torch.utils.rename_privateuse1_backend("x")'),
    ],
    ids=["no_entry_point", "another_name"],
)
def test_a_device_that_is_not_known_says_what_to_do(tmp_path: Path, entry_points: str | None, what_to_do: str) -> None:
    if entry_points is not None:
        about = tmp_path / "stub" / "torch_y-1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-y\nVersion: 1\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    _, complaint, facts = _probe(tmp_path, STUB_TORCH + MODULE + "AVAILABLE = True", "--device", "x")
    assert what_to_do in facts["error"], complaint


PROPERTIES = """
class Properties:
    name, total_memory, shared, ratio = "Dev 100\\ud800", 1 << 30, True, 0.5
    uuid, _hidden, limits = object(), "no", [1]
Properties.long = "x" * 1000
def get_device_module(name):
    return types.SimpleNamespace(
        is_available=lambda: True, device_count=lambda: 2, get_device_properties=lambda card: PROPERTIES
    )
"""


@pytest.mark.parametrize(
    ("given", "code", "reached"),
    [
        ("PROPERTIES = Properties()", 0, "described"),
        ("PROPERTIES = None", 0, "described"),
        ("del get_device_module\ndef get_device_module(name):\n    return types.SimpleNamespace("
         "is_available=lambda: True, device_count=lambda: 2)", 0, "described"),
        ("Properties.bad = property(lambda self: 1 / 0)\nPROPERTIES = Properties()", 0, "described"),
        ("import os\nProperties.bad = property(lambda self: os._exit(9))\nPROPERTIES = Properties()", 9, "available"),
    ],
    ids=["some", "none", "no_function", "raises", "ends_the_process"],
)  # fmt: skip
def test_what_the_card_says_of_itself(tmp_path: Path, given: str, code: int, reached: str) -> None:
    actual, _, facts = _probe(tmp_path, STUB_TORCH + MODULE + PROPERTIES + given, "--device", "cpu")
    assert (actual, facts["reached"], facts["device"]["available"]) == (code, reached, True)
    if given == "PROPERTIES = Properties()":
        expected = {
            "name": "Dev 100?",
            "total_memory": str(1 << 30),
            "shared": "True",
            "ratio": "0.5",
            "long": "x" * 200,
        }
        assert facts["device"]["card"] == expected
    else:
        assert not facts["device"].get("card")


OPTIONAL = """
import os
Stream = lambda device: None
class Event:
    def __init__(self, device):
        pass
    def record(self):
        raise RuntimeError("no events here")
class Generator:
    def __init__(self, device):
        os._exit(7)
"""


def test_what_the_device_lacks_is_told_also_when_asking_ends_the_process(tmp_path: Path) -> None:
    code, _, facts = _probe(tmp_path, STUB_TORCH + MODULE + "AVAILABLE = True\n" + OPTIONAL, "--device", "cpu")
    lacks = facts["device"]["lacks"]
    assert (code, facts["reached"]) == (7, "described")
    assert "streams" not in lacks
    assert lacks["events"] == "RuntimeError: no events here"
    assert lacks["a generator"] == "the process ended when it was requested"


NO_HOOKS = """
class Generator:
    def __init__(self, device):
        raise RuntimeError("Please register PrivateUse1HooksInterface by `Register` first.")
class Leaf:
    def pin_memory(self):
        Generator("cpu")
    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: 1)
    def requires_grad_(self):
        return self
    def view(self, size):
        return self
    def backward(self, gradient):
        raise NotImplementedError("for inference only")
def empty(size, device=None):
    return Leaf()
class Event:
    def __init__(self, device):
        pass
    def record(self):
        pass
class accelerator:
    synchronize = current_device_index = memory_stats = lambda *_: 0
"""


def test_what_is_a_part_of_missing_hooks_is_not_told_besides(tmp_path: Path) -> None:
    torch = STUB_TORCH + MODULE + "AVAILABLE = True\nStream = lambda device: None\n" + NO_HOOKS
    _, _, facts = _probe(tmp_path, torch, "--device", "cpu")
    assert facts["device"]["lacks"] == {
        "hooks": "RuntimeError: Please register PrivateUse1HooksInterface by `Register` first.",
        "gradients": "NotImplementedError: for inference only",
        "fork detection": "AttributeError: 'types.SimpleNamespace' object has no attribute '_is_in_bad_fork'",
    }
    assert facts["device"]["missing_functions"][:4] == ["current_device", "set_device", "device", "synchronize"]
