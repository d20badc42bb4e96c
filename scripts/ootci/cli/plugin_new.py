"""``ootci plugin new``: a plugin that compiles, loads and passes the suite smoke, to write a back end from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import click
from pydantic import TypeAdapter, ValidationError

from ootci.cli.options import output_folder_option
from ootci.cli.show import note, show_text
from ootci.errors import BadOption
from ootci.model.device.values import MEANINGS, TorchName
from ootci.resources import plugin_folder, workflow_file
from ootci.stages.onboard.new_plugin import cpp_plugin, last_step, plugin_steps, python_plugin, write_plugin

_INCLUDE = re.compile(r'^#include "([\w./]+)"$', re.MULTILINE)


@click.command("new", short_help="Write a plugin for a new device.")
@click.argument("name")
@click.option(
    "--step",
    type=click.IntRange(min=1),
    metavar="N",
    help="Last step of the course to include. Default: 1.",
)
@click.option("--python-only", is_flag=True, help="Write a plugin in Python, without C++.")
@output_folder_option("Folder to write. Default: torch-NAME.")
def new(name: str, step: int | None, python_only: bool, output: Path | None) -> None:
    """Write a plugin for the device NAME, with its device file and workflow; prints its folder.

    In C++ it is the reference plugin under another name. Run the command again with a higher --step to add the
    files of more steps. Existing files are never changed, and files that you removed stay removed.

    \b
    Examples:
      ootci plugin new mydevice --python-only
      ootci plugin new mydevice --step 5
    """
    _check_name(name)
    if python_only and step is not None:
        raise BadOption("a plugin in Python has no steps", where="--step", fix="leave out --step or --python-only")
    folder = output or Path(f"torch-{name}")
    if python_only:
        texts, reached = python_plugin(plugin_folder("python_only"), name), None
    else:
        texts, reached = _in_cpp(name, step or 1, folder)
    written, kept = write_plugin(texts, workflow_file(), name, folder, reached)
    show_text(str(folder))
    note(f"{written} files written, {kept} existing files left as they are")
    for header, needing in _removed_headers(texts, folder, name).items():
        note(f"{header}, which you removed, is needed by {', '.join(needing)}: put calls of your driver there")
    note(f"next: ootci nightly {folder / name}.yaml")


def _in_cpp(name: str, step: int, folder: Path) -> tuple[dict[Path, str], int]:
    """The files to write, and the step that the plugin then has."""
    reference = plugin_folder("openreg")
    steps = len(plugin_steps(reference))
    if step > steps:
        raise BadOption(f"there is no step {step}", where="--step", fix=f"give a number from 1 to {steps}")
    before = last_step(folder)
    return cpp_plugin(reference, name, step, after=before), max(step, before)


def _removed_headers(texts: Mapping[Path, str], folder: Path, name: str) -> dict[str, list[str]]:
    """Headers of the plugin that it does not have any more, and the new files that include them or call the driver."""
    there = {path.name.removesuffix(".in") for path in folder.rglob("*.h*")}
    found: dict[str, list[str]] = {}
    for path, text in texts.items():
        needed = _INCLUDE.findall(text) if path.suffix == ".cpp" else []
        if re.search(r"\bsim_\w+\(", text):
            needed.append(f"{name}_sim.h")
        for header in needed:
            if header.rpartition("/")[2] not in there:
                found.setdefault(header, []).append(str(path))
    return found


def _check_name(name: str) -> None:
    try:
        TypeAdapter(TorchName).validate_python(name)
    except ValidationError as error:
        meant = MEANINGS[error.errors()[0]["ctx"]["pattern"]]
        raise BadOption(f"{name!r} cannot be the name of a device", where="NAME", fix=f"use {meant}") from None
    if name.startswith(("cpu", "cuda")) or name in ("openreg", "pythononly"):
        raise BadOption(
            f"{name!r} cannot be the name of a new device",
            where="NAME",
            fix="choose a name that begins with neither cpu nor cuda and that this repository does not use",
        )
