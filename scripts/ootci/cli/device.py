"""``ootci device list`` and ``ootci device show``: the device files as they are registered."""

from __future__ import annotations

import click

from ootci.adapters.terminal import json_text
from ootci.cli.options import folder_options, format_option
from ootci.cli.show import show_table, show_text
from ootci.flows.context import Folders


@click.command("list")
@format_option
@folder_options("devices")
def list_command(output_format: str, folders: Folders) -> None:
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
    show_table(("device", "tier", "channel", "name", "maintainers"), rows, output_format)


@click.command("show")
@click.argument("name")
@folder_options("devices")
def show_command(name: str, folders: Folders) -> None:
    """Print a device with every default filled in, as JSON."""
    show_text(json_text(folders.device(name).device.model_dump_json(indent=2)))
