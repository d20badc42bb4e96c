"""Options that several commands have."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ootci.errors import BadOption
from ootci.flows.context import Folders
from ootci.model.device import DEFAULT_FOLDER
from ootci.resources import suites_folder as shipped_suites

CALLER = "caller"
"""Folder in which device.yml checks out the repository that calls it."""
F = TypeVar("F", bound=Callable[..., Any])

_FOLDERS = {
    "devices": (str(DEFAULT_FOLDER), "Folder of the device files, or one device file."),
    "work": (".ootci", "Work folder with the stages' files."),
    "history": ("data", "Folder of the history."),
    "site": ("site", "Folder of the rendered dashboard."),
}


def folder_options(*names: str) -> Callable[[F], F]:
    """Options for the folders that a command uses; it is called with ``folders`` instead."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            chosen = {name: Path(kwargs.pop(name, default)) for name, (default, _) in _FOLDERS.items()}
            if os.environ.get("GITHUB_ACTIONS") == "true" and chosen["devices"].parts[:1] == (CALLER,):
                _require_callers_file(chosen["devices"])
            # Device files keep the path as it was given, because errors name it; the rest must survive a change of cwd.
            resolved = {name: path if name == "devices" else path.resolve() for name, path in chosen.items()}
            return command(*args, folders=Folders(**resolved), **kwargs)

        result: Any = wrapped
        for name in reversed(names):
            default, text = _FOLDERS[name]
            # A workflow names the device once for all its steps.
            variable = "OOTCI_DEVICES" if name == "devices" else None
            option = click.option(
                f"--{name}", default=default, show_default=True, metavar="DIR", help=text, envvar=variable
            )
            result = option(result)
        return result  # type: ignore[no-any-return]

    return decorate


def _require_callers_file(path: Path) -> None:
    """Refuse a device file that the caller of device.yml does not have, in words of its inputs.

    Raises:
        BadOption: none is named, it is not there, or it is outside the caller's repository.

    """
    name = "/".join(path.parts[1:])
    fix = "give `device-file` the path of your device file, relative to your repository"
    if not name:
        what = "neither a device file nor a device is named"
        raise BadOption(what, where="the inputs `device-file` and `device`", fix=fix)
    if not path.resolve().is_relative_to(Path(CALLER).resolve()):
        raise BadOption("the device file is not in your repository", where=f"device-file: {name}", fix=fix)
    if not path.is_file():
        raise BadOption("there is no such file in your repository", where=f"device-file: {name}", fix=fix)


def path_option(*names: str, text: str, metavar: str = "FILE", **attributes: Any) -> Callable[[F], F]:
    """The option for a file or a folder that the command reads or writes, with further attributes of click's."""
    return click.option(*names, type=click.Path(path_type=Path), metavar=metavar, help=text, **attributes)


def output_folder_option(text: str, **attributes: Any) -> Callable[[F], F]:
    """The option for the folder that a command writes."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--output", type=kind, metavar="DIR", help=text, **attributes)


def github_output_option(text: str) -> Callable[[F], F]:
    """The option for the file in which GitHub Actions takes the outputs of a step."""
    return click.option("--github-output", type=click.Path(path_type=Path), help=text)


format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Output format on stdout.",
)
exit_zero_option = click.option(
    "--exit-zero", is_flag=True, help="Exit 0 even if the device failed; the written file has the result."
)
torch_option = click.option(
    "--torch",
    metavar="TORCH",
    help="nightly, nightly@2026-11-20, release, previous_release, a version such as 2.13.0, or the path of a wheel. "
    "Default: set by the device files.",
)
payload_option = path_option(
    "--payload", text="The relay's delivery (client_payload). Default: from GITHUB_EVENT_PATH."
)


def suites_folder(_: click.Context, __: click.Parameter, given: Path | None) -> Path:
    """The suites folder to use.

    Raises:
        BadOption: the folder given is not one.

    """
    folder = (given or shipped_suites()).resolve()
    if not (folder / "pytest.ini").is_file():
        raise BadOption(
            "the folder is not a suites folder: it has no pytest.ini",
            where=f"--suites {folder}",
            fix="leave --suites out, or name a copy of tests/device",
        )
    return folder


suites_option = path_option(
    "--suites",
    metavar="DIR",
    callback=suites_folder,
    text="Folder of the suites, for changing them. Default: those shipped with the tool.",
)
