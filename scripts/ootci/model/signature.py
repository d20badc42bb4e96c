"""What a failure is called, so that the same failure of two devices has the same name."""

from __future__ import annotations

import hashlib

from ootci.model.record import Record

MAX_TEXT = 200


class Signature(Record):
    """The name of a failure: two failures with the same one count as the same. Hostile until escaped."""

    id: str
    """Twelve hexadecimal digits, made of the text alone, so that it is the same on every night and every machine."""
    text: str
    """One line for people: what failed, without what differs from run to run and from device to device."""

    @classmethod
    def of(cls, text: str) -> Signature:
        """The signature with that text, which is cut to its greatest length first: who reads the same has the same."""
        shown = text[:MAX_TEXT].strip()
        return cls(id=hashlib.sha256(shown.encode("utf-8", "replace")).hexdigest()[:12], text=shown)
