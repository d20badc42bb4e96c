"""The hidden line by which an issue is found again, and which keeps what must be known on the next night."""

from __future__ import annotations

import re

from pydantic import ValidationError

from ootci.model.alert import Remembered

VERSION = 1
MAX_CHARACTERS = 20_000
"""A marker that names hundreds of devices is shorter."""
_MARKER = re.compile(rf"<!-- ootci-alert:{VERSION} (\{{[^\n]*\}}) -->(?:\n|$)")


def marked_body(remembered: Remembered, text: str) -> str:
    """The body of an issue: the marker and the text."""
    # In a comment of HTML nothing but its end has a meaning.
    kept = remembered.model_dump_json(exclude_defaults=True).replace(">", "\\u003e")
    return f"<!-- ootci-alert:{VERSION} {kept} -->\n{text}".rstrip("\n")


def remembered_in(body: str) -> Remembered | None:
    """What an issue's body remembers; None where its first line is no marker of ours."""
    found = _MARKER.match(body[:MAX_CHARACTERS])
    if found is None:
        return None
    try:
        return Remembered.model_validate_json(found[1])
    except ValidationError:
        return None
