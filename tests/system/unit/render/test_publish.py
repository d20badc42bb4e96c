"""A reader never sees a half-written site, and nothing that is not a site is deleted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.render.pages import read
from unit.render.sample import Sample

from ootci.adapters.folder_lock import held
from ootci.errors import BadOption, HostFailure
from ootci.stages.render import render
from ootci.stages.render.publish import publish

SITE = {"index.html": b"new", "d/x/index.html": b"page", "api/v1/index.json": b"{}"}


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


@pytest.mark.parametrize("end", range(len(SITE)))
def test_one_that_is_broken_off_at_any_file_leaves_the_old_site_and_nothing_else(tmp_path: Path, end: int) -> None:
    def broken() -> Iterator[tuple[str, bytes]]:
        yield from list(SITE.items())[:end]
        raise KeyboardInterrupt

    publish({**SITE, "index.html": b"old"}.items(), tmp_path / "site")
    before = files(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        publish(broken(), tmp_path / "site")
    assert files(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_one_that_is_killed_leaves_the_old_site_and_the_next_one_is_whole(tmp_path: Path) -> None:
    """Nobody can tidy up then: the next one does."""
    site = tmp_path / "site"
    publish(SITE.items(), site)
    program = (
        "import os, sys; from pathlib import Path; from ootci.stages.render.publish import publish\n"
        "def files():\n"
        "    yield ('d/x/index.html', b'half')\n"
        "    os.kill(os.getpid(), 9)\n"
        "publish(files(), Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program, str(site)], env=environment, check=False)
    assert done.returncode == -9
    assert files(site) == SITE
    assert len(list(tmp_path.iterdir())) == 2
    changed = {**SITE, "index.html": b"newer"}
    publish(changed.items(), site)
    assert files(site) == changed
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_nothing_is_left_of_one_that_was_killed_between_two_renames(tmp_path: Path) -> None:
    publish(SITE.items(), tmp_path / "site")
    (tmp_path / "site").rename(tmp_path / ".site.0123abcd.old")
    (tmp_path / ".site.0123abcd.new").mkdir()
    publish(SITE.items(), tmp_path / "site")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_what_another_rendering_writes_or_somebody_else_has_there_stays(tmp_path: Path) -> None:
    kept = [".site.0123abcd.new", ".site.notes.old", ".other.0123abcd.new", "site.0123abcd.new"]
    for name in kept:
        (tmp_path / name).mkdir()
    with held(tmp_path / kept[0]):
        publish(SITE.items(), tmp_path / "site")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "site"])


def test_it_is_put_beside_the_pages_which_link_to_it(sampled: Sample, site: Path, tmp_path: Path) -> None:
    (tmp_path / "built" / "tutorial").mkdir(parents=True)
    for name in ("index.html", "tutorial/add-your-device.html"):
        (tmp_path / "built" / name).write_text("<!doctype html>", encoding="utf-8")
    (tmp_path / "built" / "link").symlink_to("/etc/hostname")
    whole = tmp_path / "site"
    render(sampled.registry, sampled.history, sampled.verdicts, whole, docs=tmp_path / "built")
    found = {path.relative_to(whole / "docs").as_posix() for path in (whole / "docs").rglob("*") if path.is_file()}
    assert found == {"index.html", "tutorial/add-your-device.html"}
    for path in whole.rglob("index.html"):
        if "docs" not in path.relative_to(whole).parts:
            assert _to_the_documentation(site / path.relative_to(whole)) == []
    assert _to_the_documentation(whole / "index.html") == ["docs/index.html"]
    assert "../../docs/tutorial/add-your-device.html" in _to_the_documentation(whole / "devices/add/index.html")


def _to_the_documentation(page: Path) -> list[str]:
    links = [item.attributes["href"] for item in read(page).find("a")]
    return [link for link in links if re.match(r"(\.\./)*docs/", link)]


def test_a_folder_without_one_is_told(sampled: Sample, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="no documentation site"):
        render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "site", docs=tmp_path)
    assert not (tmp_path / "site").exists()
