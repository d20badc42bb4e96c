"""The console script ``ootci``."""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping
from types import FrameType

import click

from ootci import __version__
from ootci.adapters.annotation import show_error
from ootci.adapters.terminal import DebugLog, echo
from ootci.errors import EXIT_INFRASTRUCTURE, EXIT_INPUT, HostFailure, OotciError

GC_THRESHOLD = 100_000
"""Objects between two looks of Python's collector. A command makes records by the hundred thousand, which are no
garbage and in no cycle, and is over soon: looking through them again and again took up to half of its time."""


class LazyGroup(click.Group):
    """Imports only the command that is called: importing all of them takes longer than most of them run."""

    def __init__(self, *, lazy: Mapping[str, str | click.Command], **attributes: object) -> None:
        """Make the group.

        Args:
            lazy: ``module:function`` in this package by command name, or a group, in the order of ``--help``.
            attributes: those of :class:`click.Group`.

        """
        super().__init__(**attributes)  # type: ignore[arg-type]
        self.lazy = lazy

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


TORCH = {"build": "torch_build:torch_build"}
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
    "schema": "reference:device_schema_command",
    "new": "device_new:new",
    "check": "device:check",
    "preview": "device_review:preview",
    "review": "device_review:review",
    "answer": "device_review:answer",
}
PLUGIN = {"new": "plugin_new:new"}
COMMANDS = {
    "nightly": "nightly:nightly",
    "demo": "nightly:demo",
    "plan": "plan:plan_command",
    "torch": LazyGroup(name="torch", lazy=TORCH, help="Build torch from source."),
    "build": "build:build_command",
    "test": "test:test_command",
    "collect": "collect:collect_command",
    "external": "nightly:external",
    "dispatch": "device_runs:dispatch",
    "receive": "device_runs:receive_command",
    "history": LazyGroup(name="history", lazy=HISTORY, help="Store and query past nightlies and runs."),
    "judge": "judge:judge_command",
    "render": "render:render_command",
    "gate": "judge:gate",
    "relay": LazyGroup(name="relay", lazy=RELAY, help="Report to PyTorch's cross-repository CI relay."),
    "alert": "alert:alert",
    "watch": "alert:watch",
    "home": "setup:home_command",
    "setup": "setup:setup_command",
    "compat": "compat:compat_command",
    "diff": "diff:diff",
    "bisect": "bisect:bisect",
    "device": LazyGroup(name="device", lazy=DEVICE, help="Create, check and review device files."),
    "plugin": LazyGroup(name="plugin", lazy=PLUGIN, help="Write a plugin for a new device."),
    "schema": "reference:schema",
    "explain": "reference:explain",
    "doctor": "doctor:doctor",
    "completion": "reference:completion",
}
"""The commands in the order in which they are listed: in which module of this package each is, and its name there."""


@click.group(
    cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="ootci")
@click.option("--debug", is_flag=True, help="Print each command run, with folder, exit code and time.")
def cli(debug: bool) -> None:
    """Test out-of-tree PyTorch devices every night, and show what is broken, since when, and the likely cause.

    `ootci nightly` runs everything on this machine. The other commands are its stages. They exchange files, so
    each can be repeated by hand.

    Exit codes: 0 fine, 1 the device failed or the gate says no, 2 the input is wrong, 3 infrastructure failed.
    """
    if debug:
        logging.basicConfig(level=logging.INFO, handlers=[DebugLog()])
        logging.getLogger("ootci").setLevel(logging.DEBUG)


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Let other signals that ask for an end do what Ctrl-C does, so that what was started is ended too."""
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


def main() -> None:
    """Run the command line and exit with the code that the errors module defines.

    Whoever interrupts it gets 128 and the signal's number, as from a shell.
    """
    gc.set_threshold(GC_THRESHOLD)
    try:
        with _signals_interrupt():
            # https://no-color.org; click itself looks only whether there is a terminal.
            code = cli.main(standalone_mode=False, color=False if os.environ.get("NO_COLOR") else None)
    except OotciError as error:
        show_error(error)
        code = error.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        echo("interrupted", err=True)
        cause = error if isinstance(error, KeyboardInterrupt) else error.__cause__
        code = 128 + (cause.args[0] if isinstance(cause, KeyboardInterrupt) and cause.args else signal.SIGINT)
    except click.ClickException as error:
        error.show()
        code = EXIT_INPUT
    except BrokenPipeError:
        code = EXIT_INFRASTRUCTURE
    except OSError as error:
        where = str(error.filename or "this machine")
        show_error(HostFailure(f"the machine refused: {error.strerror or error}", where=where, fix="see what is there"))
        code = EXIT_INFRASTRUCTURE
    except Exception:  # the last line of defence: exit code 1 would say that the device failed
        echo(f"a defect of ootci itself, please report it:\n{traceback.format_exc()}", err=True)
        code = EXIT_INFRASTRUCTURE
    sys.exit(code if isinstance(code, int) else 0)
