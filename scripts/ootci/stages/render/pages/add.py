"""The page for a new device: every key that a device file can have, read out of its schema."""

from __future__ import annotations

from ootci.model.device.reference import device_keys

from ..page_maker import PageMaker
from ..publish import File

SHORTEST = """\
name: mydevice
display_name: My Device
vendor: My Company
maintainers: ["@me"]
plugin:
  distribution: torch-mydevice
  git: {url: "https://github.com/my-company/torch-mydevice.git"}
"""
"""A device file with nothing but what must be there."""


def add_page(maker: PageMaker) -> File:
    """What a new device file needs and can have."""
    keys = device_keys()
    missing = tuple(key.path for key in keys if key.top and key.default is None)
    return maker.show("devices/add/index.html", "add.html", shortest=SHORTEST, keys=keys, missing=missing)
