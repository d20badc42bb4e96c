"""Addresses that stay: a device's newest report at one of its own, and absolute ones where the site's is known."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from unit.render.pages import read
from unit.render.sample import ADDRESS
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.errors import BadOption
from ootci.stages.render.links import folder_name, site_address


def canonical(page: Path) -> list[str]:
    return [link.attributes["href"] for link in read(page).find("link", rel="canonical")]


@pytest.mark.parametrize(("device", "night"), [("borealis", NIGHTS - 1), ("fjord", NIGHTS - 4)])
def test_latest_is_the_newest_report_and_names_its_permanent_page(site: Path, device: str, night: int) -> None:
    latest = site / "d" / device / "latest" / "index.html"
    assert canonical(latest) == [f"../{plan_id(night)}/index.html"]
    permanent = latest.parent / canonical(latest)[0]
    assert read(latest).one("h1").text == read(permanent).one("h1").text
    assert "Permalink of this run" in read(latest).one("main").text
    assert canonical(permanent) == []


def test_a_device_that_never_reported_has_none(site: Path) -> None:
    assert not (site / "d" / "indigo" / "latest").exists()


def test_only_the_newest_attempt_is_latest(site: Path) -> None:
    assert "Attempt 2" in read(site / "d" / "borealis" / "latest" / "index.html").text


def test_no_nightly_takes_the_name() -> None:
    assert folder_name("latest").startswith("night-")


def test_pages_name_their_own_address_where_it_is_known(addressed_site: Path) -> None:
    night = plan_id(NIGHTS - 1)
    assert canonical(addressed_site / "index.html") == [ADDRESS]
    assert canonical(addressed_site / "d" / "borealis" / "index.html") == [f"{ADDRESS}d/borealis/"]
    assert canonical(addressed_site / "d" / "borealis" / "latest" / "index.html") == [f"{ADDRESS}d/borealis/{night}/"]
    assert canonical(addressed_site / "404.html") == []
    linked = [link.attributes["href"] for link in read(addressed_site / "404.html").one("main").find("a")]
    assert linked[0] == ADDRESS
    for href in linked:
        assert (addressed_site / href.removeprefix(ADDRESS) / ("" if href.endswith("html") else "index.html")).is_file()


@pytest.mark.parametrize("name", ["feed.xml", "d/borealis/feed.xml"])
def test_links_and_ids_of_a_feed_are_the_site_s_where_its_address_is_known(addressed_site: Path, name: str) -> None:
    atom = "{http://www.w3.org/2005/Atom}"
    root = ElementTree.parse(addressed_site / name).getroot()  # noqa: S314 - written by the code under test
    links, ids = (
        [link.get("href", "") for link in root.iter(f"{atom}link")],
        [item.text or "" for item in root.iter(f"{atom}id")],
    )
    assert links[0] == ADDRESS + name
    assert len(links) > 3
    for href in links:
        assert href.startswith(ADDRESS)
        assert (addressed_site / href.removeprefix(ADDRESS)).is_file()
    assert all(item.startswith("tag:example.github.io,2026:tests/") for item in ids)


@pytest.mark.parametrize(
    "value",
    ["example.com", "javascript:alert(1)", "https://", "https://a b", "https://a/?q", "https://a/#f", "file:///x"],
)
def test_what_is_no_address_is_refused(value: str) -> None:
    with pytest.raises(BadOption, match="address of a site"):
        site_address(value)
