"""``ootci device``."""

from __future__ import annotations

import click

from ootci.cli.context import Folders, folder_options, format_option
from ootci.cli.lazy_group import LazyGroup
from ootci.cli.report import table

LAZY = {
    "schema": "device_schema:schema",
    "new": "device_new:new",
    "check": "device_check:check",
    "preview": "device_preview:preview",
    "run": "device_run:run",
    "review": "device_review:review",
    "answer": "device_answer:answer",
}


@click.group(cls=LazyGroup, lazy=LAZY)
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
