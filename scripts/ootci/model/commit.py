"""What a git commit looks like, in texts that a device run said."""

from __future__ import annotations

import re

_HASH = re.compile("[0-9a-f]{40}")


def full_commit(said: str | None) -> str | None:
    """The text if it is the whole hash of a commit and nothing else, or None."""
    return said if said is not None and _HASH.fullmatch(said) else None
