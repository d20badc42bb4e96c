"""The registry: every device file of a folder, in an order that does not depend on the file system."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML

from ootci.errors import DeviceFileInvalid, NoDevices, NoSuchDevice
from ootci.model.device import find_device, load_registry


def _write(folder: Path, name: str, tier: str) -> None:
    (folder / f"{name}.yaml").write_text(f"{DEVICE_YAML.format(name=name)}tier: {tier}\n", encoding="utf-8")


def test_the_reference_comes_first_then_what_gates_then_the_rest_each_by_name(tmp_path: Path) -> None:
    for name, tier in (("a", "advisory"), ("z", "gating"), ("b", "gating"), ("y", "reference"), ("c", "advisory")):
        _write(tmp_path, name, tier)
    assert [item.device.name for item in load_registry(tmp_path)] == ["y", "b", "z", "a", "c"]


def test_a_folder_without_device_files_is_an_error_and_not_an_empty_nightly(tmp_path: Path) -> None:
    (tmp_path / "device.schema.json").write_text("{}", encoding="utf-8")
    for folder in (tmp_path, tmp_path / "gone", tmp_path / "device.schema.json"):
        with pytest.raises(NoDevices):
            load_registry(folder)


def test_one_file_is_a_registry_of_one_device_whatever_lies_beside_it(tmp_path: Path) -> None:
    _write(tmp_path, "a", "advisory")
    (tmp_path / "b.yaml").write_text("no: device", encoding="utf-8")
    assert [item.device.name for item in load_registry(tmp_path / "a.yaml")] == ["a"]


def test_one_bad_file_is_not_passed_over(tmp_path: Path) -> None:
    _write(tmp_path, "a", "advisory")
    _write(tmp_path, "b", "enormous")
    with pytest.raises(DeviceFileInvalid, match="enormous"):
        load_registry(tmp_path)


def test_a_file_with_the_other_suffix_is_not_passed_over(tmp_path: Path) -> None:
    _write(tmp_path, "a", "advisory")
    (tmp_path / "b.yml").write_text(DEVICE_YAML.format(name="b"), encoding="utf-8")
    with pytest.raises(Exception, match=r"b\.yml"):
        load_registry(tmp_path)


def test_the_checksum_follows_the_file_and_the_lists_beside_it(tmp_path: Path) -> None:
    found = []
    _write(tmp_path, "a", "advisory")
    found.append(load_registry(tmp_path)[0].sha256)
    assert found[0] == hashlib.sha256((tmp_path / "a.yaml").read_bytes()).hexdigest()
    _write(tmp_path, "a", "gating")
    found.append(load_registry(tmp_path)[0].sha256)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "known_failures.yaml").write_text("known_failures: []\n", encoding="utf-8")
    found.append(load_registry(tmp_path)[0].sha256)
    (tmp_path / "a" / "notes.md").write_text("nothing that decides", encoding="utf-8")
    assert load_registry(tmp_path)[0].sha256 == found[-1]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("asked", "fix"), [("openrge", "did you mean `openreg`? known: openreg, other"), ("qq", "known: openreg, other")]
)
def test_an_unknown_name_is_answered_with_the_nearest_one(tmp_path: Path, asked: str, fix: str) -> None:
    _write(tmp_path, "openreg", "reference")
    _write(tmp_path, "other", "advisory")
    registry = load_registry(tmp_path)
    assert find_device(registry, "other").device.name == "other"
    with pytest.raises(NoSuchDevice) as caught:
        find_device(registry, asked)
    assert caught.value.fix == fix
