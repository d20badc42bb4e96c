"""Where in torch a failure came from, read from the text of a traceback or of a dead process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

MAX_TEXT = 20_000
"""Characters of a text that are looked at."""
MAX_LINE = 400

_NATIVE = re.compile(r'\s*File "([^"]+)", line \d+,? in (\S+)')
_SHORT = re.compile(r"(\S[^:]*\.py):\d+: in (\S+)")
_LONG = re.compile(r"(\S[^:]*\.py):\d+: ?\S*\s*\Z")
_DEF = re.compile(r">?\s*(?:async )?def (\w+)")
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_CURRENT = "Current thread"
_DEAD = "(most recent call first)"

_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")

_PASSED_THROUGH = frozenset(
    {
        *("__call__", "_call_impl", "_wrapped_call_impl", "_fn", "wrapper", "__torch_function__"),
        *("apply", "grad", "backward", "_engine_run_backward"),
    }
)
"""Functions of torch that everything goes through, so a crash in them is no evidence."""
_NOT_THE_CAUSE = frozenset({"harness", "ootci", "_pytest", "pluggy", "pytest", "unittest"})


@dataclass(frozen=True)
class Frame:
    """A function that was running."""

    path: str
    function: str

    @property
    def _parts(self) -> list[str]:
        """The parts of the path, without the folder that packages are installed in and what is above it."""
        return re.split(r"[/\\]", _INSTALLED.split(self.path)[-1])

    @property
    def is_test(self) -> bool:
        """Whether it is part of a suite or of what runs it."""
        parts = self._parts
        ours = parts[-1].startswith("test_") or parts[-1] == "conftest.py" or not _NOT_THE_CAUSE.isdisjoint(parts)
        return ours or any(pair == ("torch", "testing") for pair in pairwise(parts))

    @property
    def in_torch(self) -> str | None:
        """The file inside the package torch and the function; None where the file is not torch's."""
        parts = self._parts[:-1]
        if "torch" not in parts:
            return None
        at = len(parts) - 1 - parts[::-1].index("torch")
        return f"{'/'.join(self._parts[at:])}:{self.function}"


def place_in_torch(text: str) -> str | None:
    """The innermost function of torch that is more than a way through, outside of which is no test.

    Only torch is the same under every device, so a plugin's own functions cannot tell that two devices have the same
    trouble; they are passed over, and the function of torch that called them is named. Where a test called the plugin
    itself, or asserted something by itself, there is no such place.
    """
    for frame in _innermost_first(text) if "torch" in text else ():
        if frame.is_test:
            return None
        if frame.in_torch is not None and frame.function not in _PASSED_THROUGH:
            return frame.in_torch
    return None


def source_line(text: str) -> str | None:
    """The line of source that pytest marks as the one which failed, of the last exception in the text."""
    found = None
    for line in _lines(text):
        if line.startswith(">"):
            found = line[1:].strip() or found
    return found


def _innermost_first(text: str) -> Sequence[Frame]:
    lines = list(_lines(text))
    if _CURRENT in text or _DEAD in text:
        current = next((number for number, line in enumerate(lines) if line.startswith(_CURRENT)), None)
        if current is not None or any(_DEAD in line for line in lines):
            return _first_block(lines[current or 0 :])
    return list(_frames(lines))[::-1]


def _first_block(lines: Sequence[str]) -> list[Frame]:
    """The frames that follow each other in the stacks of a dead process, whose first is the innermost."""
    frames: list[Frame] = []
    for line in lines:
        found = _NATIVE.match(line)
        if found is not None:
            frames.append(Frame(found[1], found[2]))
        elif frames:
            break
    return frames


def _frames(lines: Sequence[str]) -> Iterator[Frame]:
    """The frames of the last exception of a traceback, outermost first."""
    begin = max((number for number, line in enumerate(lines) if line.startswith(_CHAINED)), default=0)
    function: str | None = None
    for line in lines[begin:]:
        if ".py" not in line and "def " not in line and not line.startswith("_ _ "):
            continue
        # A literal part of the pattern is searched first, which is far quicker.
        short = _NATIVE.match(line) if 'File "' in line else None
        if short is None and ".py:" in line:
            short = _SHORT.match(line)
        if short is not None:
            yield Frame(short[1], short[2])
            function = None
        elif ".py:" in line and (long := _LONG.match(line)) is not None:
            yield Frame(long[1], function or "<unknown>")
            function = None
        elif line.startswith("_ _ "):
            function = None
        elif function is None and (definition := _DEF.match(line)) is not None:
            function = definition[1]


def _lines(text: str) -> Iterator[str]:
    half = MAX_TEXT // 2
    looked_at = text if len(text) <= MAX_TEXT else f"{text[:half]}\n{text[-half:]}"
    return (line[:MAX_LINE] for line in looked_at.splitlines())
