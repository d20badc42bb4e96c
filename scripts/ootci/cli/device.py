"""``ootci device``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ootci.cli.context import Folders, clock, folder_options, format_option, show_error
from ootci.cli.report import table
from ootci.errors import EXIT_FINE, EXIT_INPUT, OotciError
from ootci.model.device import load_device, load_registry
from ootci.model.schema import device_schema


@click.group()
def device() -> None:
    """The device files."""


@device.command("list")
@format_option
@folder_options("devices")
def list_(output_format: str, folders: Folders) -> None:
    """List every registered device."""
    rows = [
        (
            item.device.name,
            item.device.tier.value,
            f"paused: {item.device.paused.reason}" if item.device.paused else item.device.torch.channel.value,
            item.device.display_name,
            " ".join(item.device.maintainers),
        )
        for item in folders.registry()
    ]
    click.echo(table(("device", "tier", "channel", "name", "maintainers"), rows, output_format))


@device.command()
@click.argument("name")
@folder_options("devices")
def show(name: str, folders: Folders) -> None:
    """Print a device with every default filled in, as JSON."""
    click.echo(folders.device(name).device.model_dump_json(indent=2))


@device.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@folder_options("devices")
def check(files: tuple[Path, ...], folders: Folders) -> None:
    """Check device FILES, or every file in devices/: what is wrong, on which line, and what to do."""
    paths = files or tuple(sorted(folders.devices.glob("*.y*ml")))
    if not paths:
        load_registry(folders.devices)
    good = 0
    for path in paths:
        try:
            item = load_device(path)
        except OotciError as error:
            show_error(error)
        else:
            good += 1
            click.echo(f"{path}: fine, {item.device.display_name} ({item.device.tier.value})")
            for entry in item.device.known_failures:
                if entry.expired(clock().date()):
                    click.echo(f"{path}: expired on {entry.expires}, so a failure again: {entry.id}")
    click.echo(f"{good} of {len(paths)} device files are valid")
    sys.exit(EXIT_FINE if good == len(paths) else EXIT_INPUT)


@device.command()
def schema() -> None:
    """Print the JSON schema (draft-07) of a device file."""
    click.echo(device_schema(), nl=False)
