"""What fails alike: on the front page in a few words, in a list that is cut, and with everything on its own page."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

import pytest
from unit.render.pages import Element, read
from unit.render.rendering import Rendered
from unit.render.sample import Sample
from unit.render.sample_clusters import ALIKE, CLUSTERS, cluster, part

from ootci.model.cluster import Cause, Signature
from ootci.stages.render.pages.clusters import SHOWN
from ootci.stages.render.text import one_line


@pytest.fixture
def alike(site: Path) -> Element:
    return read(site / "c" / ALIKE.id / "index.html")


def test_pytorch_is_told_only_where_it_is_suspected_and_with_the_evidence(sampled: Sample, rendered: Rendered) -> None:
    seen = {"openreg", *(part.device for part in CLUSTERS[0].devices)}
    registry = tuple(item for item in sampled.registry if item.device.name in seen)
    for cause, asked in ((Cause.UPSTREAM, True), (Cause.SUSPECTED_UPSTREAM, True), (Cause.PLUGIN, False)):
        only = CLUSTERS[0].model_copy(update={"cause": cause})
        shown = rendered(registry=registry, address="https://example.org/x/", clusters=(only,))
        decision = read(shown / "index.html").one("section", class_="decision")
        links = [link.attributes["href"] for link in decision.find("a") if link.text == "Open PyTorch issue"]
        assert bool(links) is asked, cause
        for link in links:
            address, _, query = link.partition("?")
            assert address == "https://github.com/pytorch/pytorch/issues/new"
            asked_for = parse_qs(query)
            assert asked_for["title"] == [one_line(only.text, 120)]
            assert f"https://example.org/x/c/{ALIKE.id}/" in asked_for["body"][0]


def test_where_nothing_is_new_the_front_page_has_no_box(rendered: Rendered) -> None:
    page = read(rendered(clusters=CLUSTERS[-1:]) / "index.html")
    assert not page.find("section", aria_labelledby="also")
    assert not page.find("p", class_="error")


def test_a_cluster_of_several_names_says_that_there_are_others(rendered: Rendered) -> None:
    named = CLUSTERS[0].model_copy(update={"also": (Signature.of("ops/test_forward.py::test[sin]: values differ"),)})
    shown = rendered(clusters=(named, *CLUSTERS[1:]))
    said = f"{named.signature.text}, and others"
    assert read(shown / "c" / named.signature.id / "index.html").one("h1").text == said
    assert read(shown / "c" / "index.html").one("tbody").find("tr")[0].find("a")[0].text == said
    assert said in read(shown / "index.html").one("p", class_="error").text


def test_its_tests_lead_to_their_failures(site: Path, alike: Element) -> None:
    links = [item for item in alike.one("tbody").find("a") if item.find("code")]
    assert len(links) == 3
    for link in links:
        page, _, fragment = link.attributes["href"].removeprefix("../../").partition("#")
        assert read(site / page).one(id=fragment).one("summary").one("code").text == link.text


def test_one_device_s_text_stands_there(site: Path, alike: Element) -> None:
    assert "E Mismatched elements: 9 / 24" in alike.one("section", aria_labelledby="text").one("pre").text
    build = read(site / "c" / CLUSTERS[-1].signature.id / "index.html")
    assert "ninja: build stopped: subcommand failed." in build.one("section", aria_labelledby="text").one("pre").text
    assert build.one("tbody").find("a")[-1].attributes["href"] == "../../d/dune/index.html#stages"


def test_a_device_that_is_not_registered_is_no_link(site: Path) -> None:
    page = read(site / "c" / CLUSTERS[2].signature.id / "index.html")
    assert page.one("tbody").find("th")[0].text == "removed"
    assert not page.one("tbody").find("a")


def test_the_control_that_fails_too_is_said(rendered: Rendered) -> None:
    both = cluster("RuntimeError: both", Cause.UPSTREAM, "both", part("cobalt", "a"), part("openreg", "a"))
    shown = rendered(clusters=(both,))
    assert "same error" in read(shown / "index.html").one("dl", class_="evidence").text
    assert "OpenReg reference" in read(shown / "c" / both.signature.id / "index.html").one("tbody").text


def test_a_long_reason_says_how_much_of_it_is_left_out(rendered: Rendered) -> None:
    long = cluster("RuntimeError: long", Cause.UNKNOWN, 1_000 * "a", part("cobalt", "a"))
    page = read(rendered(clusters=(long,)) / "c" / long.signature.id / "index.html")
    assert page.one("section", aria_labelledby="cause").one("p", class_="reason").text.endswith("(600 more characters)")


def test_thousands_of_clusters_are_cut_and_counted(rendered: Rendered) -> None:
    many = tuple(
        cluster(f"test_{number}: values differ", Cause.UNKNOWN, "alone", part("cobalt", f"test_{number}"))
        for number in range(3_000)
    )
    shown = rendered(clusters=many)
    page = read(shown / "c" / "index.html")
    assert len(page.one("tbody").find("tr")) == SHOWN == len(list((shown / "c").glob("*/index.html")))
    assert "2,800 more clusters of 3,000 not shown here" in page.text
    assert (shown / "c" / "index.html").stat().st_size < 200 * 1024


@pytest.mark.parametrize("planned", [True, False])
def test_without_failures_the_list_says_so(rendered: Rendered, planned: bool) -> None:
    shown = rendered(clusters=(), **({} if planned else {"plan_id": None}))
    said = read(shown / "c" / "index.html").one("h2").text
    assert said == ("No failures reported" if planned else "No nightly yet")
