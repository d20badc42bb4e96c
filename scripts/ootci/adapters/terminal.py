"""Printing, and progress for people: a live line on a terminal, plain lines and a heartbeat elsewhere."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator

import click
from rich.console import Console  # noqa: TID251
from rich.text import Text

HEARTBEAT_SECONDS = 20.0
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Text of a foreign process without ANSI sequences and control characters; tabs and newlines stay."""
    return _CONTROL.sub("", _ANSI.sub("", text))


_CONTROLS_OF_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = "\u00ad\u180e\u200b-\u200d\u2028\u2029\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
_NO_CHARACTERS = "\ufffe\uffff"
"""XML can hold these in no way, not even escaped."""
_DECEIVING = re.compile(f"[{_CONTROLS_OF_DIRECTION}{_INVISIBLE}{_NO_CHARACTERS}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Text without terminal codes and control characters, in which characters that deceive the eye are spelled out.

    A right-to-left override becomes the visible ``<U+202E>``: it can reorder nothing, and a reader sees that it was
    there. Tabs and newlines stay.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _SURROGATE.sub("\ufffd", plain(text.replace("\r\n", "\n")))
    return _DECEIVING.sub(lambda match: f"<U+{ord(match.group()):04X}>", text)


def one_line(text: str) -> str:
    """Foreign text on one line, in which nothing is hidden."""
    return " ".join(clean(text).split())


_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|##(?=\[)", re.MULTILINE)
"""How a line begins that a runner of GitHub Actions takes for a command, and what it looks for within a line
(GitHub's runner, ``ActionCommand``)."""


def echo(text: str, *, err: bool = False, head: str = "", end: str = "\n") -> None:
    """Print lines of ours. Foreign text in them has been made one line before, by :func:`one_line`.

    Nothing in them speaks to a terminal, turns or hides other text, or is a command of GitHub's runner.

    Args:
        err: print on stderr.
        head: printed before them as it is: our own colours, or our own command for a runner.
        end: printed after them.

    """
    colour = False if os.environ.get("NO_COLOR") else None
    click.echo(f"{head}{_printed(text)}{end}", err=err, nl=False, color=colour)  # noqa: TID251


def _printed(text: str) -> str:
    return _COMMAND.sub(r"\g<0> ", clean(text))


def terminal_width() -> int | None:
    """Columns of the terminal that shows what is printed; None where none does."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None  # noqa: TID251


def json_text(text: str) -> str:
    """Equal JSON, in which the characters that :func:`echo` would replace are escaped."""
    return _NOT_IN_JSON.sub(lambda match: json.dumps(match.group())[1:-1], text)


_NOT_IN_JSON = re.compile(f"{_DECEIVING.pattern}|[\x7f-\x9f]")


class DebugLog(logging.Handler):
    """Prints what is logged, with the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        echo(f"{self.formatter.formatTime(record) if self.formatter else ''} {one_line(record.getMessage())}", err=True)


class Progress:
    """Shows progress, unless it is quiet. Everything that takes over two seconds is shown."""

    def __init__(self, *, quiet: bool = False) -> None:
        # A live line only on a real terminal: rich also takes variables of CI systems for one.
        live = sys.stderr.isatty() and "CI" not in os.environ  # noqa: TID251
        self.console = Console(stderr=True, highlight=False, quiet=quiet, soft_wrap=True, force_terminal=live)
        self._detail = ""

    def say(self, text: str) -> None:
        """One line that stays."""
        self.console.print(Text(_printed(text.replace("\n", " "))))

    def update(self, detail: str) -> None:
        """Show a detail of the current step, such as the last line of a build. May be called from any thread."""
        if line := plain(detail).strip():
            self._detail = line

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """A step that may take long: a live line on a terminal, else a first line and a heartbeat."""
        self._detail = ""
        started, done = time.monotonic(), threading.Event()
        with contextlib.ExitStack() as opened:
            if self.console.is_terminal:
                status = opened.enter_context(self.console.status(Text(_printed(title))))
                pause = 0.2
            else:
                status, pause = None, HEARTBEAT_SECONDS
                self.say(f"{title} ...")

            def show() -> None:
                while not done.wait(pause):
                    line = self._line(title, started)
                    if status is None:
                        self.say(f"  {line}")
                    else:
                        status.update(Text(_printed(line)[: max(20, self.console.width - 4)]))

            thread = threading.Thread(target=show, daemon=True)
            thread.start()
            try:
                yield
            finally:
                done.set()
                thread.join()

    def _line(self, title: str, started: float) -> str:
        seconds = int(time.monotonic() - started)
        return f"{title}  {seconds // 60}:{seconds % 60:02d}  {self._detail[:160]}".rstrip()
