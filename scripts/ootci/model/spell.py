"""Since when something fails: the night it failed first, and the last one on which it passed."""

from __future__ import annotations

from ootci.model.record import Record, Time


class Mark(Record):
    """A night of one device, with what was under test."""

    plan_id: str
    """The nightly."""
    date: Time
    """When the nightly was planned."""
    torch_version: str | None = None
    """``torch.__version__``; null where no torch was installed."""
    torch_commit: str | None = None
    """The commit of PyTorch that it was built from, as it says itself. Hostile until escaped."""
    plugin_version: str | None = None
    """Version of the plugin's distribution; null where no plugin was installed."""
    plugin_commit: str | None = None
    """Commit of the plugin's source, where there is one; ``-dirty`` is appended for uncommitted changes."""
    plugin_sources: str | None = None
    """Checksum of its source files, where it was built from them."""


class Spell(Record):
    """An unbroken row of failures, and what changed when it began."""

    first_failed: Mark
    """Where it began."""
    last_passed: Mark | None = None
    """The last night before on which it passed; null when no such night is known."""
    torch_changed: bool | None = None
    """Whether PyTorch changed in between; null where that cannot be told."""
    plugin_changed: bool | None = None
    """Whether the plugin changed in between; null where that cannot be told."""
    commits: str | None = None
    """PyTorch's commits in between, as ``abc1234...def5678``; null where they are the same or unknown."""
    commits_url: str | None = None
    """The page that lists them."""
