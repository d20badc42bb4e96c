"""The console script ``ootci``."""

from __future__ import annotations

import contextlib
import difflib
import gc
import importlib
import logging
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

import click

from ootci import __version__
from ootci.adapters.annotation import show_error
from ootci.adapters.terminal import DebugLog, echo  # noqa: TID251
from ootci.errors import EXIT_INFRASTRUCTURE, BadUsage, HostFailure, OotciError

GC_THRESHOLD = 100_000
"""Objects between two runs of Python's garbage collector. A command makes hundreds of thousands of records without
cycles and ends soon; with the default threshold the collector took up to half of its time."""


class LazyGroup(click.Group):
    """Imports only the command that is called: importing all of them takes longer than most of them run."""

    def __init__(
        self,
        *,
        lazy: Mapping[str, str | click.Command],
        sections: Mapping[str, Sequence[str]] | None = None,
        **attributes: object,
    ) -> None:
        """Make the group.

        Args:
            lazy: ``module:function`` in this package by command name, or a group, in the order of ``--help``.
            sections: the commands of ``--help`` under headings; every command is in one. None: under one heading.
            attributes: those of :class:`click.Group`.

        """
        super().__init__(**attributes)  # type: ignore[arg-type]
        self.lazy = lazy
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported."""
        found = self.lazy.get(cmd_name)
        if not isinstance(found, str):
            return found
        module, _, name = found.partition(":")
        command: click.Command = getattr(importlib.import_module(f"ootci.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with.

        Raises:
            BadUsage: there is none of that name; the message suggests the nearest of all commands.

        """
        name = args[0]
        if name in self.lazy or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        calls = _CALLS | {one: f"{ctx.command_path} {one}" for one in self.lazy}
        near = difflib.get_close_matches(name, calls, n=1)
        suggestion = f"did you mean `{calls[near[0]]}`? " if near else ""
        raise BadUsage(
            f"there is no command `{name}`",
            where=_command_line(),
            fix=f"{suggestion}`{ctx.command_path} --help` lists the commands",
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, under the headings of the sections where there are some."""
        if self.sections is None:
            super().format_commands(ctx, formatter)
            return
        width = max(map(len, self.lazy))
        for heading, names in self.sections.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), one.get_short_help_str(200)) for name, one in found if one])


TORCH = {"build": "torch_build:torch_build", "fetch": "torch_fetch:torch_fetch"}
HISTORY = {
    "append": "history:append",
    "fetch": "history:fetch",
    "publish": "history:publish",
    "query": "history_query:query",
    "export": "history_query:export",
    "verify": "history:verify",
    "gc": "history:gc",
    "withdraw": "history:withdraw",
}
RELAY = {"readiness": "relay:readiness_command", "report": "relay:report"}
DEVICE = {
    "list": "device:list_command",
    "show": "device:show_command",
    "owners": "device:owners_command",
    "new": "device_new:new",
    "check": "device:check",
    "preview": "device_review:preview",
    "review": "device_review:review",
    "answer": "device_review:answer",
}
PLUGIN = {"new": "plugin_new:new"}
GROUPS = {
    "torch": LazyGroup(name="torch", lazy=TORCH, help="Build torch from source, or take it from PyTorch's CI."),
    "history": LazyGroup(name="history", lazy=HISTORY, help="Store and query past nightlies and runs."),
    "relay": LazyGroup(name="relay", lazy=RELAY, help="Report to PyTorch's cross-repository CI relay."),
    "device": LazyGroup(name="device", lazy=DEVICE, help="Create, check and review device files."),
    "plugin": LazyGroup(name="plugin", lazy=PLUGIN, help="Write a plugin for a new device."),
}
SECTIONS: dict[str, dict[str, str | click.Command]] = {
    "Run it here": {
        "nightly": "nightly:nightly",
        "demo": "nightly:demo",
        "doctor": "doctor:doctor",
    },
    "Bring a device": {
        "plugin": GROUPS["plugin"],
        "device": GROUPS["device"],
        "compat": "compat:compat_command",
    },
    "Find what broke": {
        "gate": "judge:gate",
        "diff": "diff:diff",
        "bisect": "bisect:bisect",
        "history": GROUPS["history"],
    },
    "Operate the nightly": {
        "setup": "setup:setup_command",
        "dispatch": "device_runs:dispatch",
        "receive": "device_runs:receive_command",
        "external": "nightly:external",
        "relay": GROUPS["relay"],
        "alert": "alert:alert",
        "watch": "alert:watch",
        "home": "setup:home_command",
    },
    "Stages": {
        "plan": "plan:plan_command",
        "torch": GROUPS["torch"],
        "build": "build:build_command",
        "test": "test:test_command",
        "collect": "collect:collect_command",
        "judge": "judge:judge_command",
        "render": "render:render_command",
    },
    "Reference": {
        "schema": "reference:schema",
        "explain": "reference:explain",
        "completion": "reference:completion",
    },
}
"""The commands by who uses them, as ``--help`` lists them: the module of this package that has each, and its name."""
COMMANDS: Mapping[str, str | click.Command] = {
    name: where for section in SECTIONS.values() for name, where in section.items()
}
_CALLS = {name: f"ootci {name}" for name in COMMANDS} | {
    name: f"ootci {group} {name}" for group, inner in GROUPS.items() for name in inner.lazy if name not in COMMANDS
}
"""The call of each command by its last word."""


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="ootci")
@click.option("--debug", is_flag=True, help="Print each command run, with folder, exit code and time.")
def cli(debug: bool) -> None:
    """Test out-of-tree PyTorch devices every night, and show what is broken, since when, and the likely cause.

    `ootci nightly` runs everything on this machine. The other commands are its stages. They exchange files, so
    each can be repeated by hand.

    Exit codes: 0 fine, 1 the device failed or the gate answers no, 2 the input is wrong, 3 infrastructure failed.
    """
    if debug:
        logging.basicConfig(level=logging.INFO, handlers=[DebugLog()])  # noqa: TID251
        logging.getLogger("ootci").setLevel(logging.DEBUG)


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that child processes are ended, too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


def _command_line() -> str:
    return shlex.join(["ootci", *sys.argv[1:]])[:300]


def _command() -> str:
    """The command that was called, without its arguments."""
    words, group = ["ootci"], COMMANDS
    for word in sys.argv[1:]:
        if word in group:
            words.append(word)
            group = GROUPS[word].lazy if word in GROUPS else {}
    return " ".join(words)


def _refused(error: click.UsageError) -> BadUsage:
    """A refusal of click in the form of every other error."""
    what, near = error.format_message().removesuffix("."), ""
    if isinstance(error, click.NoSuchOption):
        what = f"there is no option `{error.option_name}`"
        near = f"did you mean `{error.possibilities[0]}`? " if error.possibilities else ""
    elif isinstance(error, click.MissingParameter) and error.param and error.ctx:
        option = isinstance(error.param, click.Option)
        name = error.param.opts[0] if option else error.param.make_metavar(error.ctx)
        what = f"the {error.param.param_type_name} `{name}` is missing"
    return BadUsage(f"{what[0].lower()}{what[1:]}", where=_command_line(), fix=f"{near}see `{_command()} --help`")


def main() -> None:
    """Run the command line and exit with the code that the errors module defines.

    After a signal the exit code is 128 and the signal's number, as in a shell.
    """
    gc.set_threshold(GC_THRESHOLD)
    try:
        with _signals_interrupt():
            # https://no-color.org; click itself looks only whether there is a terminal.
            color = False if os.environ.get("NO_COLOR") else None
            code = cli.main(prog_name="ootci", standalone_mode=False, color=color)
    except OotciError as error:
        show_error(error)
        code = error.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        echo("interrupted", err=True)
        # A prompt of click raises Abort `from None`.
        cause = error if isinstance(error, KeyboardInterrupt) else error.__context__
        code = 128 + (cause.args[0] if isinstance(cause, KeyboardInterrupt) and cause.args else signal.SIGINT)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = error.exit_code
    except click.UsageError as error:
        refused = _refused(error)
        show_error(refused)
        code = refused.exit_code
    except BrokenPipeError:
        code = EXIT_INFRASTRUCTURE
    except OSError as error:
        where = str(error.filename or "this machine")
        show_error(HostFailure(f"the machine refused: {error.strerror or error}", where=where, fix="see what is there"))
        code = EXIT_INFRASTRUCTURE
    except Exception:  # exit code 1 would mean that the device failed
        echo(f"a defect of ootci itself, please report it:\n{traceback.format_exc()}", err=True)
        code = EXIT_INFRASTRUCTURE
    sys.exit(code if isinstance(code, int) else 0)
