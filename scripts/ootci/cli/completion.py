"""``ootci completion``."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(short_help="Print what completes ootci in a shell.")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes commands and options of ootci.

    \b
    bash   ootci completion bash > ~/.local/share/bash-completion/completions/ootci
    zsh    ootci completion zsh > "${fpath[1]}/_ootci"
    fish   ootci completion fish > ~/.config/fish/completions/ootci.fish
    """
    click.echo(SHELLS[shell](context.find_root().command, {}, "ootci", "_OOTCI_COMPLETE").source())
