"""What no XML may hold, replaced in the bytes of a report before they are parsed: one wrong byte must not cost a suite.

Producers that copy a test's output into their report copy its escape sequences and its broken UTF-8, too.
"""

from __future__ import annotations

import codecs
import re

_CONTROLS = bytes(ord("?") if byte < 0x20 and byte not in b"\t\n\r" else byte for byte in range(256))
_REFERENCE = re.compile(rb"&#(x[0-9a-fA-F]{1,8}|[0-9]{1,10});")
_LONGEST = 14
"""Bytes of the longest reference that is looked at."""
_DECLARED = re.compile(rb"""^(?:\xef\xbb\xbf)?\s*<\?xml[^>]{0,100}?\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_UTF_8 = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii"})


class Mender:
    """Mends a report that is UTF-8, piece by piece; one in another encoding passes as it is."""

    def __init__(self) -> None:
        self._decoder: codecs.IncrementalDecoder | None = None
        self._held = b""
        self._begun = False

    def feed(self, chunk: bytes, *, last: bool = False) -> bytes:
        """The next bytes; of their end a little is held back until what follows is known."""
        if not self._begun:
            self._begun = True
            if _is_utf_8(chunk):
                self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        if self._decoder is None:
            return chunk
        text = self._held + self._decoder.decode(chunk.translate(_CONTROLS), last).encode()
        # A reference may lie across the border of two pieces.
        begin = text.rfind(b"&", max(len(text) - _LONGEST, 0)) if not last else -1
        text, self._held = (text, b"") if begin < 0 else (text[:begin], text[begin:])
        return _REFERENCE.sub(_allowed, text) if b"&#" in text else text


def _is_utf_8(begin: bytes) -> bool:
    declared = _DECLARED.match(begin[:400])
    return b"\x00" not in begin[:4] and (declared is None or declared[1].lower() in _UTF_8)


def _allowed(found: re.Match[bytes]) -> bytes:
    digits = found[1]
    number = int(digits[1:], 16) if digits[:1] == b"x" else int(digits)
    fine = (
        number in (9, 10, 13) or 0x20 <= number <= 0xD7FF or 0xE000 <= number <= 0xFFFD or 0x10000 <= number <= 0x10FFFF
    )
    return found[0] if fine else b"?"
