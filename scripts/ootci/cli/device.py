"""``ootci device``."""

from __future__ import annotations

import click

from ootci.cli import device_answer, device_check, device_new, device_preview, device_review, device_run
from ootci.cli.context import Folders, InOrder, folder_options, format_option
from ootci.cli.report import table
from ootci.model.schema import device_schema


@click.group(cls=InOrder)
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
def schema() -> None:
    """Print the JSON schema (draft-07) of a device file."""
    click.echo(device_schema(), nl=False)


device.add_command(device_new.new)
device.add_command(device_check.check)
device.add_command(device_preview.preview)
device.add_command(device_run.run)
device.add_command(device_review.review)
device.add_command(device_answer.answer)
