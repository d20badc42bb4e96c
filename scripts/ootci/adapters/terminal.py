"""Printing, in which foreign text cannot speak to the terminal."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sys

import click

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
    click.echo(f"{head}{printed(text)}{end}", err=err, nl=False, color=colour)  # noqa: TID251


def printed(text: str) -> str:
    """Lines as they are printed: cleaned, and none is a command of GitHub's runner."""
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
