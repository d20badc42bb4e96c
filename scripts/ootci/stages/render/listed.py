"""Devices and tests as lists name them, each with the addresses from the top that it leads to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedDevice:
    """A device in a list; ``page`` is its folder's address from the top, None where it is not registered."""

    name: str
    display_name: str
    page: str | None


@dataclass(frozen=True)
class ListedTest:
    """A test or a stage, with the addresses from the top where its failure and its nights are shown."""

    id: str
    href: str | None
    nights: str | None
