"""``ootci device list``, ``show`` and ``owners``: the device files as they are registered."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ootci.adapters.github_rest import GithubRest
from ootci.adapters.terminal import json_text
from ootci.cli.options import folder_options, format_option
from ootci.cli.show import show, show_table, show_text
from ootci.errors import EXIT_FINE, EXIT_INPUT
from ootci.flows.check import checked
from ootci.flows.context import Folders
from ootci.model.device import BAD_RANGES, is_device_file, load_registry
from ootci.model.review import Review
from ootci.stages.onboard.online import PATIENCE_SECONDS
from ootci.stages.render import review_answer, review_lines


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
@click.argument("device")
@folder_options("devices")
def show_command(device: str, folders: Folders) -> None:
    """Print a device with every default filled in, as JSON."""
    show_text(json_text(folders.device(device).device.model_dump_json(indent=2)))


@click.command(short_help="Check device files.")
@click.argument("chosen", nargs=-1, metavar="[DEVICE]...")
@click.option(
    "--online",
    is_flag=True,
    help="Also check links, the plugin's repository, and maintainers on GitHub. Network failures are warnings.",
)
@format_option
@folder_options("devices")
def check(chosen: tuple[str, ...], online: bool, output_format: str, folders: Folders) -> None:
    """Check device files, by default all in devices/; print each problem with its line and the fix.

    DEVICE is a file, or the name of a device in devices/.

    Exit code 2 if a check failed; warnings do not count. With --online, a token in GITHUB_TOKEN raises GitHub's rate
    limit; it needs no permissions.

    \b
    Examples:
      ootci device check
      ootci device check devices/mydevice.yaml --online
    """
    of_all = folders.devices / BAD_RANGES
    listed = [folders.devices] if folders.devices.is_file() else sorted(folders.devices.glob("*.y*ml"))
    if not chosen and not listed:
        load_registry(folders.devices)
    named = [Path(one) if is_device_file(one) else folders.devices / f"{one}.yaml" for one in chosen]
    paths = named or (*listed, *([of_all] if of_all.exists() else []))
    rest = GithubRest(os.environ.get("GITHUB_TOKEN") or None, patience=PATIENCE_SECONDS) if online else None
    review = Review(files=tuple(checked(path, rest)[0] for path in paths))
    show(review, output_format, lambda markdown: review_answer(review) if markdown else "\n".join(review_lines(review)))
    sys.exit(EXIT_FINE if review.is_good else EXIT_INPUT)


@click.command("owners", short_help="Print CODEOWNERS, made from the device files.")
@folder_options("devices")
def owners_command(folders: Folders) -> None:
    """Print GitHub's file CODEOWNERS: the maintainers of each device own its file and its folder.

    `make owners` writes it to .github/CODEOWNERS. GitHub ignores an owner who may not write to the repository.
    """
    lines = ["# Made from the device files by `make owners`."]
    owned: dict[str, str] = {}
    for item in folders.registry():
        place, owners = item.path.as_posix(), " ".join(item.device.maintainers)
        owned |= {f"/{place}": owners, f"/{place.removesuffix(item.path.suffix)}/": owners}
    show_text("\n".join([*lines, *(f"{place} {owners}" for place, owners in owned.items())]))
