"""``ootci device new``: a first device file, from a few answers and the metadata of an installed plugin."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from pydantic import TypeAdapter, ValidationError

from ootci.adapters.python_env import program
from ootci.cli.options import path_option
from ootci.cli.show import note, show_text
from ootci.errors import BadOption
from ootci.model.device import DEFAULT_FOLDER, read_device
from ootci.model.device.values import MEANINGS, GitAddress, Handle, OutOfTreeName, Requirement, SourcePath, Text
from ootci.resources import device_schema_file
from ootci.stages.onboard.first_file import Answers, FoundPlugin, Source, device_text, look_for_plugin


@dataclass
class _Interview:
    """Takes answers from options, prompts for the others on a terminal, and collects the options that are missing.

    Attributes:
        asks: whether there is a terminal.
        missing: options without a value.
        answers: options that have the same effect as the answers at the prompts.

    """

    asks: bool
    missing: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def ask(self, flag: str, given: str | None, question: str, check: Callable[[str], str], offer: str | None) -> str:
        """One answer: from the option, else from the prompt, else the detected value."""
        if given is not None:
            return given
        if self.asks:
            answer = str(click.prompt(question, default=offer, value_proc=check, err=True))
            self.answers += [flag, answer]
            return answer
        if offer is None:
            self.missing.append(flag)
        return offer or ""

    @contextlib.contextmanager
    def keeping_answers(self) -> Iterator[None]:
        """Print the command that continues with the answers, if they end in a refusal or an interruption."""
        try:
            yield
        except BaseException:
            if self.answers:
                note("")
                note(f"continue with: {shlex.join(['ootci', *sys.argv[1:], *self.answers])}")
            raise


def _is_a(kind: Any) -> Callable[[str], str]:
    def check(text: str) -> str:
        try:
            return str(TypeAdapter(kind).validate_python(text.strip()))
        except ValidationError as error:
            told = error.errors()[0].get("ctx", {})
            meant = f"should be {MEANINGS.get(told.get('pattern', ''), 'a short text')}"
            raise click.UsageError(f"{text!r}: {told['error']}" if "error" in told else f"{text!r} {meant}") from None

    return check


def _handles(text: str) -> str:
    return " ".join(_is_a(Handle)(handle) for handle in text.replace(",", " ").split() or [""])


def _count(text: str) -> str:
    if not text.strip().isdecimal() or not 1 <= int(text) <= 1024:
        raise click.UsageError(f"{text!r} should be a number of devices from 1 to 1024")
    return text.strip()


# The types refuse a wrong option before anything is asked.
@click.command("new", short_help="Write a first device file.")
@click.option("--name", type=_is_a(OutOfTreeName), metavar="TEXT", help="Name of the device, as in torch.device(NAME).")
@click.option("--display-name", type=_is_a(Text), metavar="TEXT", help="Name shown on the dashboard.")
@click.option("--vendor", type=_is_a(Text), metavar="TEXT", help="Company that makes the device.")
@click.option(
    "--maintainer",
    "maintainers",
    multiple=True,
    type=_handles,
    metavar="@HANDLE",
    help="GitHub handle; repeatable.",
)
@click.option(
    "--distribution", type=_is_a(Requirement), metavar="NAME", help="Name of the plugin's package in `pip show`."
)
@click.option("--git", type=_is_a(GitAddress), metavar="URL", help="Build the plugin from this repository.")
@click.option(
    "--path",
    type=_is_a(SourcePath),
    metavar="DIR",
    help="Build the plugin from this folder, relative to the device file.",
)
@click.option(
    "--package",
    type=_is_a(Requirement),
    metavar="REQUIREMENT",
    help="Install the plugin with pip, by this requirement.",
)
@click.option("--devices", "count", type=_count, metavar="N", help="Number of devices in the machine.")
@click.option(
    "--python",
    metavar="PYTHON",
    help="Python with the plugin installed; names and device count are read from it.",
)
@path_option(
    "--output", text="File to write. Default: NAME.yaml in devices/, or in this folder if there is no devices/."
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def new(
    name: str | None,
    display_name: str | None,
    vendor: str | None,
    maintainers: tuple[str, ...],
    distribution: str | None,
    git: str | None,
    path: str | None,
    package: str | None,
    count: str | None,
    python: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write a first device file, with further keys as comments; prints its path.

    `device.schema.json` is put beside it, with which editors complete the keys.

    On a terminal it prompts for missing options. If this is interrupted, it prints the command that continues.

    \b
    Examples:
      ootci device new
      ootci device new --name mydevice --python /opt/vendor/bin/python
    """
    interview = _Interview(asks=sys.stdin.isatty())
    source = _given_source({"git": git, "path": path, "package": package})
    found = FoundPlugin() if python is None else look_for_plugin(program(python))
    for line in found.told:
        note(line)
    with interview.keeping_answers():
        ask = interview.ask
        name = ask("--name", name, "name of the device, as in torch.device(...)", _is_a(OutOfTreeName), found.device)
        file = output or (DEFAULT_FOLDER if DEFAULT_FOLDER.is_dir() else Path()) / f"{name}.yaml"
        if name and file.name != f"{name}.yaml":
            fitting = file.with_name(f"{name}.yaml")
            raise BadOption("a device file has the name of its device", where=f"--output {file}", fix=f"use {fitting}")
        if file.exists() and not force and not (interview.asks and click.confirm(f"overwrite {file}?", err=True)):
            raise BadOption("the file is there already", where=str(file), fix="give another --output, or --force")
        display_name = ask(
            "--display-name", display_name, "its name for people", _is_a(Text), name.capitalize() or None
        )
        vendor = ask("--vendor", vendor, "who makes it", _is_a(Text), None)
        given = " ".join(maintainers) or None
        handles = ask("--maintainer", given, "GitHub handles of who answers for it, such as @me", _handles, None)
        of_pip = _is_a(Requirement)
        distribution = ask(
            "--distribution", distribution, "its package, as `pip show` knows it", of_pip, found.distribution
        )
        source = source or _asked_source(interview)
        count = ask("--devices", count, "devices on the machine", _count, str(found.count or 1))
        if interview.missing:
            raise BadOption(
                f"nobody is there to ask for {', '.join(interview.missing)}",
                where="ootci device new",
                fix="give the options, or run it on a terminal",
            )
        answers = Answers(name, display_name, vendor, tuple(handles.split()), distribution, source, int(count))
        _write(file, device_text(answers, found))
        _say_what_is_next(file, answers)


_SOURCES = {"git": GitAddress, "path": SourcePath, "package": Requirement}


def _given_source(given: dict[str, str | None]) -> Source | None:
    named = [(kind, text) for kind, text in given.items() if text is not None]
    if len(named) > 1:
        raise BadOption(
            "the plugin comes from one place",
            where=" ".join(f"--{kind}" for kind, _ in named),
            fix="give one of --git, --path and --package",
        )
    return Source(*named[0]) if named else None


def _asked_source(interview: _Interview) -> Source:
    text = interview.ask(
        "--git, --path or --package",
        None,
        "where it comes from: a git address, a folder, or a requirement of pip",
        lambda text: _is_a(_SOURCES[_kind_of_source(text)])(text),
        None,
    )
    kind = _kind_of_source(text)
    if interview.asks:
        interview.answers[-2] = f"--{kind}"
    return Source(kind, text)


def _kind_of_source(text: str) -> str:
    if "://" in text or text.startswith("git@"):
        return "git"
    return "path" if Path(text).is_dir() else "package"


def _write(file: Path, text: str) -> None:
    """Write the file if it is a valid one, and the schema that it names."""
    file.parent.mkdir(parents=True, exist_ok=True)
    trial = file.with_name(f".{file.name}")
    trial.write_text(text, encoding="utf-8")
    try:
        read_device(trial)
        trial.replace(file)
    finally:
        trial.unlink(missing_ok=True)
    schema = file.parent / device_schema_file().name  # the first line names it, for editors
    if not schema.exists():
        schema.write_bytes(device_schema_file().read_bytes())


def _say_what_is_next(file: Path, answers: Answers) -> None:
    show_text(str(file))
    if answers.source.kind == "path" and not (file.parent / answers.source.text).is_dir():
        note(f"note: there is no folder {file.parent / answers.source.text} yet")
    note(f"next: ootci device check {file} && ootci nightly {file}")
