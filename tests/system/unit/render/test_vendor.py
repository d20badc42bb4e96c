"""Files of others are what their makers published, each named with its licence and where it comes from."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from ootci.resources import dashboard_folder

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

VENDOR = dashboard_folder() / "vendor"
LIST = "VENDOR.toml"
FILES = tomllib.loads((VENDOR / LIST).read_text(encoding="utf-8"))["file"]


def test_every_file_is_listed_and_every_entry_is_a_file() -> None:
    assert {path.name for path in VENDOR.iterdir()} == {LIST, *(item["path"] for item in FILES)}


@pytest.mark.parametrize("item", FILES, ids=lambda item: item["path"])
def test_a_file_is_byte_for_byte_what_its_maker_published(item: dict[str, str]) -> None:
    assert hashlib.sha256((VENDOR / item["path"]).read_bytes()).hexdigest() == item["sha256"]
    assert set(item) == {"path", "name", "version", "licence", "licence_file", "origin", "sha256"}
    assert (VENDOR / item["licence_file"]).is_file()


def test_the_site_has_them_unchanged(site: Path) -> None:
    for item in FILES:
        if item["path"].endswith((".js", ".woff2")):
            assert (site / "static" / item["path"]).read_bytes() == (VENDOR / item["path"]).read_bytes()
