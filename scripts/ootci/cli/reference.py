"""``ootci schema``, ``explain`` and ``completion``: the reference of the tool."""

from __future__ import annotations

import re

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from ootci import errors
from ootci.cli.options import format_option
from ootci.cli.show import show, show_table, show_text, table
from ootci.errors import BadOption, OotciError
from ootci.model.device.reference import device_keys
from ootci.model.schema import schemas
from ootci.model.words import did_you_mean

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(short_help="Print the JSON schema of a file.")
@click.argument("file", type=click.Choice(list(schemas()), case_sensitive=True), metavar="FILE")
def schema(file: str) -> None:
    """Print the JSON schema (draft-07) of FILE: of a device file, or of one that commands exchange in the work folder
    (`.ootci`).

    \b
    device           a device file: `ootci device new`
    plan.json        the devices and the torch of a nightly: `ootci plan`
    torch.json       the origin of a wheel of torch: `ootci torch`
    build.json       the torch and the plugin that are installed: `ootci build`
    handover.json    a built plugin for another machine: `ootci build --hand-over`
    events.jsonl     a line of the log of a test run: `ootci test`
    env.json         the machine and the device of a test run: `ootci test`
    run.json         all results of a device: `ootci collect`
    verdicts.json    every device's verdict, and the gate: `ootci judge`
    bisection.json   the tested nightlies, and the range that is left: `ootci bisect`
    compat.json      predicted breaks: `ootci compat`
    review.json      a check of changed device files: `ootci device review`

    \b
    Two schemas are of output that is no file:
    difference       what `ootci diff --format json` prints
    relay-report     what `ootci relay report` sends
    """
    show_text(schemas()[file])


def _kinds() -> dict[str, type[OotciError]]:
    """Every error by its id."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OotciError)]
    return {kind.id: kind for kind in sorted((kind for kind in found if "id" in vars(kind)), key=lambda kind: kind.id)}


@click.command(short_help="Explain an error, or a key of a device file.")
@click.argument("subject", metavar="ID|KEY")
@format_option
def explain(subject: str, output_format: str) -> None:
    """Explain an error and how to fix it, or a key of a device file.

    \b
    ootci explain DEV-003          an error by its ID
    ootci explain check.command    a key: what it is for, what it must be, an example
    ootci explain plugin           a group of keys, with its keys
    ootci explain keys             every key
    """
    kind = _kinds().get(subject.upper())
    if kind is None:
        _explain_key(subject, output_format)
        return
    facts = {"id": kind.id, "meaning": kind.meaning, "remedy": kind.remedy, "exit_code": kind.exit_code}
    markdown_text = f"### {kind.id}\n\n{kind.meaning}\n\n{kind.remedy}\n\nExit code {kind.exit_code}."
    text = f"{kind.id}: {kind.meaning}\n  what to do: {kind.remedy}\n  exit code: {kind.exit_code}"
    show(facts, output_format, lambda markdown: markdown_text if markdown else text)


def _explain_key(subject: str, output_format: str) -> None:
    keys = {key.path: key for key in device_keys()}
    path = re.sub(r"\[\d*\]", "[]", subject)
    mapping, _, name = path.rpartition(".")
    if path not in keys and mapping in keys and name and keys[mapping].kind.startswith("a mapping"):
        path = mapping  # a name that the file's author chose
    key = keys.get(path)
    below = [one for one in keys.values() if subject == "keys" or one.path.startswith((f"{path}.", f"{path}[]."))]
    if key is None and not below:
        suggestion = did_you_mean(path, [*keys, *_kinds()])
        fix = f"{suggestion}`ootci explain keys` lists the keys, docs/reference/errors.md the errors"
        raise BadOption("it is neither the id of an error nor a key of a device file", where=subject, fix=fix)
    lines = []
    if key is not None:
        absent = "required" if key.default is None else f"when absent: {key.default}"
        lines = [f"{key.path}: {key.sentence}", f"  must be: {key.kind}", f"  {absent}", f"  example: {key.example}"]
    if below:
        inner = table(("key", "must be"), [(one.path, one.kind) for one in below], markdown=False)
        lines += ["", inner] if lines else [inner]
    found = [key, *below] if key else below
    rows = [(one.path, one.kind, one.default or "required", one.example, one.sentence) for one in found]
    show_table(("key", "must be", "when absent", "example", "meaning"), rows, output_format, "\n".join(lines))


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes commands and options of ootci.

    \b
    bash   ootci completion bash > ~/.local/share/bash-completion/completions/ootci
    zsh    ootci completion zsh > "${fpath[1]}/_ootci"
    fish   ootci completion fish > ~/.config/fish/completions/ootci.fish
    """
    show_text(SHELLS[shell](context.find_root().command, {}, "ootci", "_OOTCI_COMPLETE").source())
