"""The pictures beside links to the site: there where its address is known, the same each time, and of tonight."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image
from unit.render.sample import ADDRESS, Sample

from ootci.model.device import RegisteredDevice
from ootci.model.verdict import Gate, Verdicts
from ootci.stages.render.link_pictures import link_pictures
from ootci.stages.render.nights import NightsOf
from ootci.stages.render.pages.front import Group, by_urgency, devices_file, front_grid, groups_of, nights_of_each
from ootci.stages.render.status import verdict_of_each


def _in_site(site: Path) -> dict[str, bytes]:
    found = sorted((site / "static").glob("**/*.png"))
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in found}


def _drawn(verdicts: Verdicts, registry: Sequence[RegisteredDevice]) -> dict[str, bytes]:
    rows = by_urgency(devices_file(registry, verdicts).devices)
    nights = nights_of_each(registry, verdict_of_each(registry, verdicts), front_grid(verdicts, {}))
    return dict(link_pictures(verdicts, rows, groups_of(rows), nights))


def test_the_site_and_every_device_have_a_picture_that_is_the_same_each_time(
    sampled: Sample, addressed_site: Path
) -> None:
    found = _drawn(sampled.verdicts, sampled.registry)
    assert found == _in_site(addressed_site)
    assert set(found) == {
        "static/link.png",
        *(f"static/link/{item.device.name}.png" for item in sampled.registry),
    }
    assert {Image.open(io.BytesIO(content)).size for content in found.values()} == {(1200, 630)}
    assert len(set(found.values())) == len(found)


def test_pages_name_the_picture_but_for_those_of_past_runs_which_it_does_not_show(
    sampled: Sample, addressed_site: Path
) -> None:
    pages = {path.relative_to(addressed_site).as_posix(): path for path in addressed_site.rglob("index.html")}
    assert f'content="{ADDRESS}static/link.png?{sampled.verdicts.plan_id}"' in pages["index.html"].read_text(
        encoding="utf-8"
    )
    assert f'content="{ADDRESS}static/link/openreg.png?' in pages["d/openreg/index.html"].read_text(encoding="utf-8")
    runs = [path for name, path in pages.items() if name.startswith("d/openreg/2026")]
    assert runs
    assert not any("og:image" in path.read_text(encoding="utf-8") for path in runs)


def test_the_picture_shows_tonight_s_answer(sampled: Sample) -> None:
    other = sampled.verdicts.model_copy(update={"gate": Gate(answer="cannot_say", reason="")})
    before, after = (_drawn(verdicts, sampled.registry[:2]) for verdicts in (sampled.verdicts, other))
    assert {name for name in before if before[name] != after[name]} == {"static/link.png"}


def test_without_an_address_there_is_none(site: Path) -> None:
    assert _in_site(site) == {}
    assert "og:" not in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["two\nlines\r", "\u202eright to left", "升腾", "x" * 5_000])
def test_no_text_ends_the_rendering(sampled: Sample, text: str) -> None:
    devices = (item.model_copy(update={"reason": text}) for item in sampled.verdicts.devices)
    named = tuple(
        item.model_copy(update={"device": item.device.model_copy(update={"display_name": text[:60]})})
        for item in sampled.registry[:2]
    )
    verdicts = sampled.verdicts.model_copy(update={"devices": tuple(devices)})
    assert len(_drawn(verdicts, named)) == len(named) + 1


def test_a_group_of_one_among_hundreds_has_a_bar(sampled: Sample) -> None:
    row = devices_file(sampled.registry, sampled.verdicts).devices[0]
    nights = {row.device: NightsOf(0, (), "")}
    groups = [Group(title, "ok", False, ((row,) * size,)) for title, size in (("many", 299), ("one", 1))]
    assert len(list(link_pictures(sampled.verdicts, [row], groups, nights))) == 2
