"""``ootci device``: what a vendor sees first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML

from ootci.model.schema import device_schema

from commands import Tool  # isort: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "devices").mkdir()
    for name in ("one", "two"):
        (tmp_path / "devices" / f"{name}.yaml").write_text(DEVICE_YAML.format(name=name), encoding="utf-8")
    return tmp_path


def test_the_list_is_aligned_for_people_and_typed_for_machines(ootci: Tool, folder: Path) -> None:
    text = ootci("device", "list", cwd=folder)
    assert text.code == 0
    assert text.out.splitlines() == [
        "device  tier      channel  name      maintainers",
        "one     advisory  nightly  A device  @somebody",
        "two     advisory  nightly  A device  @somebody",
    ]
    machine = ootci("device", "list", "--format", "json", cwd=folder)
    assert [row["device"] for row in json.loads(machine.out)] == ["one", "two"]
    markdown = ootci("device", "list", "--format", "markdown", cwd=folder)
    assert markdown.out.splitlines()[1] == "| --- | --- | --- | --- | --- |"


def test_a_device_is_shown_with_its_defaults(ootci: Tool, folder: Path) -> None:
    shown = ootci("device", "show", "one", cwd=folder)
    found = json.loads(shown.out)
    assert (shown.code, found["name"], found["torch"]["channel"]) == (0, "one", "nightly")


def test_an_unknown_device_is_an_input_error_in_three_parts(ootci: Tool, folder: Path) -> None:
    shown = ootci("device", "show", "on", cwd=folder)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.splitlines() == [
        "error DEV-008: there is no device `on`",
        "  where: devices",
        "  what to do: did you mean `one`? known: one, two",
    ]


def test_one_device_file_is_checked_alone(ootci: Tool, folder: Path) -> None:
    (folder / "devices" / "config.yaml").write_text("no: device\n", encoding="utf-8")
    checked = ootci("device", "check", cwd=folder, env={"OOTCI_DEVICES": "devices/two.yaml"})
    assert (checked.code, checked.out.splitlines()) == (
        0,
        ["devices/two.yaml: fine, A device (advisory)", "1 of 1 device files are valid"],
    )


def test_every_file_is_checked_even_after_a_bad_one(ootci: Tool, folder: Path) -> None:
    bad = folder / "devices" / "bad.yaml"
    bad.write_text(DEVICE_YAML.format(name="bad") + "teir: gating\n", encoding="utf-8")
    checked = ootci("device", "check", cwd=folder)
    assert checked.code == 2
    assert checked.out.splitlines() == [
        "devices/one.yaml: fine, A device (advisory)",
        "devices/two.yaml: fine, A device (advisory)",
        "2 of 3 device files are valid",
    ]
    assert checked.err.splitlines()[:2] == [
        "error DEV-006: unknown key `teir`; did you mean `tier`?",
        "  where: devices/bad.yaml:8",
    ]
    bad.unlink()
    assert ootci("device", "check", cwd=folder).code == 0
    assert ootci("device", "check", "devices/two.yaml", cwd=folder).out.startswith("devices/two.yaml: fine")


def test_the_nights_that_say_nothing_of_any_device_are_checked_too(ootci: Tool, folder: Path) -> None:
    gone = ootci("device", "check", "devices/_all/bad_ranges.yaml", cwd=folder)
    assert (gone.code, "error DEV-001: no such file" in gone.err) == (2, True)
    (folder / "devices" / "_all").mkdir()
    listed = folder / "devices" / "_all" / "bad_ranges.yaml"
    listed.write_text("bad_ranges: []\n", encoding="utf-8")
    checked = ootci("device", "check", cwd=folder)
    assert checked.code == 0
    assert checked.out.splitlines()[2:] == [
        "devices/_all/bad_ranges.yaml: fine, 0 for all devices",
        "3 of 3 device files are valid",
    ]
    listed.write_text("bad_ranges: [{first: 2026-11-03}]\n", encoding="utf-8")
    checked = ootci("device", "check", cwd=folder)
    assert checked.code == 2
    assert "the key `bad_ranges.0.last` is missing" in checked.err
    assert "where: devices/_all/bad_ranges.yaml:1" in checked.err


def test_a_file_that_is_not_there_and_a_folder_that_is_empty_are_input_errors(ootci: Tool, tmp_path: Path) -> None:
    gone = ootci("device", "check", "devices/gone.yaml", cwd=tmp_path)
    assert gone.code == 2
    assert "error DEV-001: no such file" in gone.err
    for command in (("device", "check"), ("device", "list")):
        empty = ootci(*command, cwd=tmp_path)
        assert empty.code == 2
        assert "error DEV-009: no device files found" in empty.err
        assert "--devices" in empty.err


def test_the_schema_is_printed_as_it_is(ootci: Tool, tmp_path: Path) -> None:
    assert ootci("device", "schema", cwd=tmp_path).out == device_schema()
