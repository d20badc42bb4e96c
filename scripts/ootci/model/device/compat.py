"""The key of a device file that names what is public of its plugin."""

from __future__ import annotations

from pydantic import model_validator

from ootci.model.record import Record

from .values import Requirement, Text, Url


class CompatSource(Record):
    """What `ootci compat` reads to predict breaks without the hardware: a public wheel, or that there is none."""

    package: Requirement | None = None
    """Requirement whose newest public wheel is read, such as `torch-vendor`; it is never installed."""
    index_url: Url | None = None
    """Additional package index for it."""
    nothing_public: Text | None = None
    """In place of `package`: what was looked for, where there is no public wheel."""

    @model_validator(mode="after")
    def _one(self) -> CompatSource:
        if (self.package is None) == (self.nothing_public is None):
            raise ValueError("either `package` names a public wheel, or `nothing_public` says what was looked for")
        return self
