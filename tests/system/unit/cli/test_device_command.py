"""``ootci device``: what a vendor sees first."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from every_command import every_command
from unit.samples import plan, register, run, stored

from ootci.model.schema import device_schema

from commands import Tool  # isort: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        register(tmp_path, name)
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


def test_a_file_that_is_not_there_and_a_folder_that_is_empty_are_input_errors(ootci: Tool, tmp_path: Path) -> None:
    gone = ootci("device", "check", "devices/gone.yaml", cwd=tmp_path)
    assert gone.code == 2
    assert "file (DEV-001): no such file" in gone.out
    for command in (("device", "check"), ("device", "list")):
        empty = ootci(*command, cwd=tmp_path)
        assert empty.code == 2
        assert "error DEV-009: no device files found" in empty.err
        assert "--devices" in empty.err


COMMANDS = (
    *("build {}", "test {}", "collect {}", "device show {}", "device check {}", "device preview {}"),
    *("diff {}@latest {}@latest", "gate --device {}", "gate --override {}=reason"),
    *("history query {} smoke/*", "history export tables.db --device {}"),
)
OTHERS = {"nightly", "plan", "bisect", "compat", "relay readiness", "relay report"}
"""These need torch or the relay, and have tests of their own."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_device_is_named_by_its_name_or_its_file(ootci: Tool, folder: Path, command: str) -> None:
    stored(folder / "data", plan(0, ("one",)), run(0, "one", smoke={"a": "passed"}))
    by_name, by_file = (
        ootci(*command.format(device, device).split(), cwd=folder) for device in ("one", "devices/one.yaml")
    )
    assert by_name == by_file
    assert "DEV-" not in by_name.err


def test_every_command_that_takes_a_device_takes_its_file() -> None:
    takes = {
        context.command_path.removeprefix("ootci ")
        for context in every_command()
        for one in context.command.params
        if "DEVICE" in (one.make_metavar(context) if isinstance(one, click.Argument) else one.metavar or "")
    }
    takes.add("diff")  # in A and B
    given = {next(name for name in takes if f"{command} ".startswith(f"{name} ")) for command in COMMANDS}
    assert given | OTHERS == takes


def test_the_schema_is_printed_as_it_is(ootci: Tool, tmp_path: Path) -> None:
    assert ootci("schema", "device", cwd=tmp_path).out == device_schema()
