"""The pictures beside links to the site: there where its address is known, the same each time, and of tonight."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image
from unit.render.sample import Sample

from ootci.model.verdict import Gate
from ootci.stages.render import render

ADDRESS = "https://devices.example.org/nightly/"


def _pictures(site: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in (site / "static" / "link").glob("*.png")}


def test_the_site_and_every_device_have_a_picture_that_is_the_same_each_time(sampled: Sample, tmp_path: Path) -> None:
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "a", ADDRESS)
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "b", ADDRESS)
    found = _pictures(tmp_path / "a")
    assert found == _pictures(tmp_path / "b")
    assert set(found) == {"site", *(item.device.name for item in sampled.registry)}
    assert {Image.open(io.BytesIO(content)).size for content in found.values()} == {(1200, 630)}
    assert len(set(found.values())) == len(found)


def test_pages_name_the_picture_but_for_those_of_past_runs_which_it_does_not_show(
    sampled: Sample, tmp_path: Path
) -> None:
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "site", ADDRESS)
    pages = {path.relative_to(tmp_path / "site").as_posix(): path for path in (tmp_path / "site").rglob("index.html")}
    assert f'content="{ADDRESS}static/link/site.png"' in pages["index.html"].read_text(encoding="utf-8")
    assert f'content="{ADDRESS}static/link/openreg.png"' in pages["d/openreg/index.html"].read_text(encoding="utf-8")
    runs = [path for name, path in pages.items() if name.startswith("d/openreg/2026")]
    assert runs
    assert not any("og:image" in path.read_text(encoding="utf-8") for path in runs)


def test_the_picture_shows_tonight_s_answer(sampled: Sample, tmp_path: Path) -> None:
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "a", ADDRESS)
    other = sampled.verdicts.model_copy(update={"gate": Gate(answer="cannot_say", reason="")})
    render(sampled.registry, sampled.history, other, tmp_path / "b", ADDRESS)
    before, after = _pictures(tmp_path / "a"), _pictures(tmp_path / "b")
    assert {name for name in before if before[name] != after[name]} == {"site"}


def test_without_an_address_there_is_none(site: Path) -> None:
    assert _pictures(site) == {}
    assert "og:" not in (site / "index.html").read_text(encoding="utf-8")
