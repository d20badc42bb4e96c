"""``ootci plugin new``: a plugin under another name, that grows by steps and whose device file is valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from ootci.model.device import load_device
from ootci.resources import device_schema_file

from commands import Tool  # isort: skip


def _files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("options", [(), ("--python-only",)], ids=["cpp", "python"])
def test_the_plugin_has_the_new_name_everywhere(ootci: Tool, tmp_path: Path, options: tuple[str, ...]) -> None:
    made = ootci("plugin", "new", "mydevice", *options, cwd=tmp_path)
    assert (made.code, made.out) == (0, "torch-mydevice\n"), made.err
    files = _files(tmp_path / "torch-mydevice")
    for name, text in files.items():
        for old in ("openreg", "pythononly", "python_only", "python-only"):
            assert old not in name
            lines = [line for line in text.splitlines() if old in line.lower()]
            assert lines == [] or name == "mydevice.yaml"  # names the worked example
    assert 'name = "torch-mydevice"' in files["pyproject.toml"]
    assert "$schema=device.schema.json" in files["mydevice.yaml"]
    assert files["device.schema.json"] == device_schema_file().read_text(encoding="utf-8")
    assert "torch_mydevice/__init__.py" in files
    device = load_device(tmp_path / "torch-mydevice" / "mydevice.yaml").device
    assert (device.name, device.plugin.path, device.plugin.distribution) == ("mydevice", ".", "torch-mydevice")
    assert device.build.requirements
    assert [suite.name for suite in device.suites] == ["smoke"]  # the others fail until more steps are added
    assert "device-file: mydevice.yaml" in files[".github/workflows/pytorch.yml"]


def test_a_higher_step_adds_files_and_changes_none(ootci: Tool, tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    assert ootci("plugin", "new", "mydevice", "--output", str(folder), cwd=tmp_path).code == 0
    edited = folder / "csrc" / "Hooks.cpp"
    edited.write_text("// mine\n", encoding="utf-8")
    first = _files(folder)
    assert "csrc/ops/Factories.cpp" not in first
    assert ootci("plugin", "new", "mydevice", "--output", str(folder), "--step", "2", cwd=tmp_path).code == 0
    second = _files(folder)
    assert second.keys() - first.keys() == {"csrc/ops/Factories.cpp"}
    assert second.pop(".course-step") == "2\n"
    assert first.pop(".course-step") == "1\n"
    assert {name: text for name, text in second.items() if name in first} == first


def test_a_higher_step_does_not_restore_the_simulated_driver(ootci: Tool, tmp_path: Path) -> None:
    assert ootci("plugin", "new", "mydevice", cwd=tmp_path).code == 0
    folder = tmp_path / "torch-mydevice"
    for removed in ("csrc/Streams.cpp", "csrc/Streams.h", "runtime/pool.cpp", ".github/workflows/pytorch.yml"):
        (folder / removed).unlink()
    first = _files(folder)
    grown = ootci("plugin", "new", "mydevice", "--step", "3", cwd=tmp_path)
    assert (grown.code, "which you removed" in grown.err) == (0, False)
    assert _files(folder).keys() - first.keys() == {"csrc/ops/Factories.cpp", "csrc/ops/DeviceCheck.cpp"}
    grown = ootci("plugin", "new", "mydevice", "--step", "6", cwd=tmp_path)
    for removed in ("csrc/ops/RecordStream.cpp", "torch_mydevice/mydevice/streams.py"):  # all files of step 6
        (folder / removed).unlink()
    assert "csrc/ops/RecordStream.cpp" not in _grown_to(7, ootci, tmp_path)
    including = ("csrc/HostAllocator.cpp", "csrc/ops/RecordStream.cpp")
    assert grown.err.count("which you removed") == len(including)
    for header, file in zip(("Streams.h", "../Streams.h"), including, strict=True):
        assert f"{header}, which you removed, is needed by {file}: put calls of your driver there" in grown.err


def test_a_higher_step_names_the_files_that_call_the_removed_driver(ootci: Tool, tmp_path: Path) -> None:
    assert ootci("plugin", "new", "mydevice", "--step", "5", cwd=tmp_path).code == 0
    (tmp_path / "torch-mydevice" / "runtime" / "include" / "mydevice_sim.h").unlink()
    grown = ootci("plugin", "new", "mydevice", "--step", "6", cwd=tmp_path)
    (line,) = (line for line in grown.err.splitlines() if "mydevice_sim.h, which you removed, is needed by" in line)
    assert "csrc/ops/RecordStream.cpp: put calls of your driver there" in line


def _grown_to(step: int, ootci: Tool, folder: Path) -> dict[str, str]:
    assert ootci("plugin", "new", "mydevice", "--step", str(step), cwd=folder).code == 0
    return _files(folder / "torch-mydevice")


def test_the_last_step_has_every_source_of_the_reference_plugin(ootci: Tool, root: Path, tmp_path: Path) -> None:
    assert ootci("plugin", "new", "mydevice", "--step", "17", "--output", str(tmp_path / "all"), cwd=tmp_path).code == 0
    reference = root / "devices" / "openreg"
    wanted = [*reference.glob("csrc/**/*.*"), *reference.glob("torch_openreg/**/*.py")]
    names = {path.relative_to(reference).as_posix().replace("openreg", "mydevice") for path in wanted if path.is_file()}
    assert names - _files(tmp_path / "all").keys() == set()


def test_a_step_that_is_no_number_is_refused_and_nothing_is_written(ootci: Tool, tmp_path: Path) -> None:
    assert ootci("plugin", "new", "mydevice", cwd=tmp_path).code == 0
    (tmp_path / "torch-mydevice" / ".course-step").write_text("two\n", encoding="utf-8")
    before = _files(tmp_path / "torch-mydevice")
    refused = ootci("plugin", "new", "mydevice", "--step", "3", cwd=tmp_path)
    assert refused.code == 2
    assert "torch-mydevice/.course-step" in refused.err
    assert _files(tmp_path / "torch-mydevice") == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("MyDevice",), "lower-case letters"),
        (("cudax",), "cannot be the name of a new device"),
        (("crypt2",), "torch.device takes no digits"),
        (("openreg",), "cannot be the name of a new device"),
        (("mydevice", "--step", "99"), "there is no step 99"),
        (("mydevice", "--step", "2", "--python-only"), "a plugin in Python has no steps"),
        (("mydevice", "--output", "taken"), "holds no plugin for mydevice"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_input_is_refused(ootci: Tool, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").touch()
    refused = ootci("plugin", "new", *arguments, cwd=tmp_path)
    assert refused.code == 2
    assert said in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]
