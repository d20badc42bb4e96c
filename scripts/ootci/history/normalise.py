"""A line of a failure without what differs from run to run, from machine to machine and from device to device.

The line comes from a device run and is hostile. It is cut first; no pattern here can be made to backtrack over more
than a word of it, because what each one repeats begins where a word begins and excludes what ends it.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_LINE = 500
"""Characters that are looked at: more than are ever shown. A longer line is cut."""

_ANSI = re.compile(r"[\x1b\ufffd]\[[0-9;?]{0,20}[A-Za-z]")
# The rest of a terminal code, after XML has removed the escape character, begins with U+FFFD.
_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]")
_QUOTES = re.compile('["`\u2018\u2019\u201c\u201d\u00b4]')
_URL = re.compile(r"(?<![A-Za-z])https?://[^\s'<>()]+")
_SLASHES = re.compile(r"(?<![\w.+@~>/\\-])(?:[A-Za-z]:(?=\\))?[\w.+@~-]*(?:[/\\][\w.+@~-]*)+")
_LOCATION = re.compile(r"(?:[/\\~]|[A-Za-z]:|\.{1,2}[/\\])|.*\.[A-Za-z]\w*\Z", re.DOTALL)

_BEFORE, _AFTER = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_UNITS = r"[kKMGT]i?B|bytes?|B|[num\u00b5]?s|secs?|seconds?|mins?|minutes?|hours?|[MG]?Hz"
_UNIT = rf"(?: ?(?:{_UNITS})(?![A-Za-z0-9_])|%)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"{_BEFORE}[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}{_AFTER}"), "<uuid>"),
    (re.compile(rf"{_BEFORE}\d{{4}}-\d\d-\d\d(?:[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?)?{_AFTER}"), "<time>"),
    (re.compile(rf"{_BEFORE}(?:[EWIF]\d{{4}} )?{_CLOCK}{_AFTER}"), "<time>"),
    (re.compile(rf"{_BEFORE}0x[0-9a-fA-F]+{_AFTER}"), "<address>"),
    (re.compile(rf"{_BEFORE}tmp(?=[a-z_]*[0-9_])[a-z0-9_]{{6,12}}{_AFTER}"), "<temp>"),
    (re.compile(rf"{_BEFORE}\d+(?:\.\d+)+(?:\.?(?:dev|rc|post|a|b)\d+)*\+[A-Za-z0-9.]+{_AFTER}"), "<n>"),
    (re.compile(rf"{_BEFORE}\d+(?:\.\d+)+\.?(?:dev|rc|post|a|b)\d+{_AFTER}"), "<n>"),
    (re.compile(rf"{_BEFORE}(?=[a-f0-9]{{0,63}}\d)(?=\d{{0,63}}[a-f])[0-9a-f]{{7,64}}{_AFTER}"), "<hash>"),
    (
        # Digits inside a word (float32, conv2d, 3D) are part of its name.
        re.compile(rf"{_BEFORE}[-+]?\.?\d+(?:[.,x_]\d+)*(?:[eE][-+]?\d+)?j?(?:{_UNIT}|{_AFTER})"),
        "<n>",
    ),
    (re.compile(rf"{_BEFORE}[-+]?(?:inf|nan)j?{_AFTER}"), "<n>"),
)
_ROW = re.compile(r"<n>(?:[ ,.:;x*/+-]*<n>)+,?")
_ONE_OF_A_ROW = re.compile(r"<n>,(?=[)\]])")

PRIVATE_NAMES = ("privateuse1", "privateuseone")
"""torch's name for a device that was not renamed, and the dispatch key of every one."""


def normalise(line: str, device: str) -> str:
    """A hostile line with `<n>`, `<device>`, `<address>` and so on for what differs; of paths the file's name is kept.

    Only its first characters are read. Doing it twice changes nothing. The device's name is
    replaced as a word of its own or between underscores, in upper and lower case, with an index behind it: of ``oak``
    in ``oak:0``, ``torch_oak`` and ``is_oak``, but not in ``soak``.
    """
    return _normalised(line[:MAX_LINE], device)


@lru_cache(maxsize=4096)
def _normalised(line: str, device: str) -> str:
    """Tests of a run fail with few different lines."""
    line = _INVISIBLE.sub("", _ANSI.sub("", line))
    line = " ".join(_QUOTES.sub("'", line).split())
    line = _SLASHES.sub(_file_name, _URL.sub("<url>", line))
    line = _device_pattern(device).sub("<device>", line)
    for pattern, replacement in _RULES:
        line = pattern.sub(replacement, line)
    return _ONE_OF_A_ROW.sub("<n>", _ROW.sub("<n>", line))


def _file_name(found: re.Match[str]) -> str:
    """The last part of what looks like a path; words with a slash between them are left alone."""
    text = found.group()
    if not _LOCATION.match(text):
        return text
    parts = [part for part in re.split(r"[/\\]", text) if part]
    return parts[-1] if parts else text


@lru_cache(maxsize=64)
def _device_pattern(device: str) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in (device, *PRIVATE_NAMES))
    return re.compile(rf"(?<![A-Za-z0-9<])(?:{names})(?![A-Za-z0-9>])(?::\d+)?", re.IGNORECASE)
