"""The inputs that an environment was made from, to reuse it when they have not changed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from ootci.model.build import PluginBuild
from ootci.model.record import Record, write_atomic


class Stamp(Record):
    """A file in the environment that it describes. A missing or unreadable stamp causes a rebuild."""

    fetch: str | None = None
    """Digest of everything that fetching depended on."""
    build: str | None = None
    """Digest of everything that building depended on."""
    plugin: PluginBuild | None = None
    """What was built."""

    @classmethod
    def of(cls, environment: Path) -> Stamp:
        """The stamp of an environment; empty when there is none."""
        try:
            return cls.model_validate_json(_file(environment).read_bytes())
        except (OSError, ValidationError):
            return cls()

    def save(self, environment: Path) -> None:
        """Put the stamp into its environment."""
        write_atomic(_file(environment), self.model_dump_json().encode())


def _file(environment: Path) -> Path:
    return environment / "ootci-stamp.json"


def digest(*parts: object) -> str:
    """SHA-256 over plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
