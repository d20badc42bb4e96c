"""``ootci device``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ootci.cli.context import Folders, clock, folder_options, format_option, show_error
from ootci.cli.report import table
from ootci.errors import EXIT_FINE, EXIT_INPUT, OotciError
from ootci.model.device import BAD_RANGES, load_bad_ranges, load_device, load_registry
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
    of_all = folders.devices / BAD_RANGES
    listed = [folders.devices] if folders.devices.is_file() else sorted(folders.devices.glob("*.y*ml"))
    if not files and not listed:
        load_registry(folders.devices)
    paths = files or (*listed, *([of_all] if of_all.exists() else []))
    good = 0
    for path in paths:
        try:
            found = list(_findings(path))
        except OotciError as error:
            show_error(error)
        else:
            good += 1
            click.echo("\n".join(found))
    click.echo(f"{good} of {len(paths)} device files are valid")
    sys.exit(EXIT_FINE if good == len(paths) else EXIT_INPUT)


def _findings(path: Path) -> Iterator[str]:
    if path.parts[-2:] == BAD_RANGES.parts:
        yield f"{path}: fine, {len(load_bad_ranges(path))} for all devices"
        return
    item = load_device(path)
    yield f"{path}: fine, {item.device.display_name} ({item.device.tier.value})"
    for entry in item.device.known_failures:
        if entry.expired(clock().date()):
            yield f"{path}: expired on {entry.expires}, so a failure again: {entry.id}"


@device.command()
def schema() -> None:
    """Print the JSON schema (draft-07) of a device file."""
    click.echo(device_schema(), nl=False)
