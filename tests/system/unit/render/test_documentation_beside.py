"""The documentation site lies beside the pages where one is given, and no page links to one that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from unit.render.pages import read
from unit.render.sample import Sample

from ootci.errors import BadOption
from ootci.stages.render import render


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
