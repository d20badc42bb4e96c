"""Foreign text made safe to look at: no terminal codes, nothing invisible, never longer than a page can bear.

Escaping for HTML is Jinja's work and comes after this; what is done here is needed in every output format.
"""

from __future__ import annotations

from dataclasses import dataclass

from ootci.adapters.terminal import clean

LINE_LIMIT = 400
"""Characters of a one-line text: a name, a reason, a message."""


def one_line(text: str, limit: int = LINE_LIMIT) -> str:
    """The text on one line, with a note of how much was cut where it was too long."""
    # Ten times the limit is enough to look at, and keeps a text of megabytes from being worked over in full.
    flat = " ".join(clean(text[: 10 * limit]).split())
    if len(flat) <= limit and len(text) <= 10 * limit:
        return flat
    shown = flat[:limit].rstrip()
    return f"{shown} … ({len(text) - len(shown):,} more characters)"


@dataclass(frozen=True)
class Excerpt:
    """The beginning and the end of a long text.

    Attributes:
        head: the beginning; all of it when nothing was cut.
        cut: characters left out after the head; 0 when nothing was.
        tail: the end; empty when nothing was cut.

    """

    head: str
    cut: int = 0
    tail: str = ""


def excerpt(text: str, limit: int) -> Excerpt:
    """At most about ``limit`` characters: the first two thirds and the last third, broken at line ends if possible."""
    if len(text) <= limit:
        return Excerpt(clean(text).rstrip())
    first, last = text[: limit * 2 // 3], text[-(limit // 3) :]
    if "\n" in first[len(first) // 2 :]:
        first = first[: first.rindex("\n")]
    if "\n" in last[: len(last) // 2]:
        last = last[last.index("\n") + 1 :]
    return Excerpt(clean(first).rstrip(), len(text) - len(first) - len(last), clean(last).strip("\n"))
