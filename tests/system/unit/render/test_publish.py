"""A reader never sees a half-written site, and nothing that is not a site is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ootci.errors import HostFailure
from ootci.stages.render.publish import publish

SITE = {"index.html": b"new", "d/x/index.html": b"page", "verdicts.json": b"{}"}


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_site_is_written_with_its_folders(tmp_path: Path) -> None:
    publish(SITE.items(), tmp_path / "deep" / "site")
    assert files(tmp_path / "deep" / "site") == SITE


def test_what_is_no_longer_part_of_the_site_is_gone_and_nothing_else_is_left(tmp_path: Path) -> None:
    publish({**SITE, "d/gone/index.html": b"old"}.items(), tmp_path / "site")
    publish(SITE.items(), tmp_path / "site")
    assert files(tmp_path) == {f"site/{name}": content for name, content in SITE.items()}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_folder_with_something_else_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(HostFailure, match="holds something else"):
        publish(SITE.items(), tmp_path)
    assert files(tmp_path) == {"notes.txt": b"mine"}


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "site").symlink_to(tmp_path / "real")
    with pytest.raises(HostFailure):
        publish(SITE.items(), tmp_path / "site")


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    publish(SITE.items(), tmp_path / "site")
    assert files(tmp_path / "site") == SITE


def test_when_writing_fails_half_way_the_old_site_stays(tmp_path: Path) -> None:
    publish(SITE.items(), tmp_path / "site")
    broken = {"index.html": b"half", "index.html/impossible": b"a file is no folder"}
    with pytest.raises(HostFailure, match="cannot be written"):
        publish(broken.items(), tmp_path / "site")
    assert files(tmp_path) == {f"site/{name}": content for name, content in SITE.items()}
