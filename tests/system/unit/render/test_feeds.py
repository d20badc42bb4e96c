"""Atom feeds by the rules of RFC 4287, with ids that rendering again does not change."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree

import pytest
from unit.render.hostile import EVIL, LONG
from unit.render.pages import parse, read
from unit.render.sample import NOW, Sample
from unit.render.sample_clusters import cluster as a_cluster
from unit.render.sample_clusters import mark, part
from unit.render.sample_predicted import COMPILE_ERROR
from unit.render.sample_runs import FIRST_NIGHT

from ootci.model.cluster import Cause, Cluster
from ootci.model.verdict import Night, VerdictName
from ootci.stages.judge import judge
from ootci.stages.render import render
from ootci.stages.render.card import CommitRange
from ootci.stages.render.feed import cluster_entries, feed, predicted_entries, tag, verdict_entries
from ootci.stages.render.pages.night_failure import NightFailure

ATOM = "{http://www.w3.org/2005/Atom}"
TAG_URI = re.compile(r"tag:[a-z0-9.-]+,\d{4}:[A-Za-z0-9._~!$&'()*+,;=:@/?%-]+")
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def cluster(
    *began: tuple[str, int], cause: Cause = Cause.UPSTREAM, text: str = "Tensor-likes are not equal"
) -> Cluster:
    parts = (part(name, "a", "b", number=night) for name, night in began)
    found = a_cluster(text, cause, "2 devices began to fail alike", *parts, commits=True)
    return found.model_copy(update={"since": mark(13)})


@pytest.fixture(scope="module")
def sites(
    sampled: Sample, site: Path, judged_site: Path, hostile: Sample, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, ...]:
    """The sample as it is, as the judge sees it now and later, and with a hostile device."""
    folder, later = tmp_path_factory.mktemp("feeds"), NOW + timedelta(days=30)
    render(sampled.registry, sampled.history, judge(sampled.registry, sampled.history, later), folder / "late")
    broken = cluster(("borealis", 13), text=EVIL + "\ufffe\uffff" + LONG)
    verdicts = hostile.verdicts.model_copy(update={"clusters": (broken,)})
    render(hostile.registry, hostile.history, verdicts, folder / "hostile")
    return site, judged_site, folder / "late", folder / "hostile"


def feeds(site: Path) -> dict[Path, ElementTree.Element]:
    return {path: ElementTree.fromstring(path.read_bytes()) for path in site.rglob("feed.xml")}  # noqa: S314 - our own bytes


def only(element: ElementTree.Element, name: str) -> str:
    """The text of the one child of that name: RFC 4287 wants exactly one of each."""
    found = element.findall(f"{ATOM}{name}")
    assert len(found) == 1, name
    text = found[0].text
    assert text is not None
    assert text.strip(), name
    return text


def test_feed_as_it_is(site: Path, golden: Callable[[str, str], None]) -> None:
    golden("feed.xml", (site / "d/nimbus/feed.xml").read_text(encoding="utf-8"))


def test_every_feed_and_entry_has_what_the_standard_demands(sites: tuple[Path, ...]) -> None:
    entries_seen = 0
    for site in sites:
        found = feeds(site)
        assert len(found) == 16
        for path, root in found.items():
            assert root.tag == f"{ATOM}feed"
            entries = root.findall(f"{ATOM}entry")
            entries_seen += len(entries)
            author = root.find(f"{ATOM}author")
            assert author is not None
            assert only(author, "name")
            for element in (root, *entries):
                only(element, "title")
                assert TAG_URI.fullmatch(only(element, "id"))
                assert DATE.fullmatch(only(element, "updated"))
                alternates = [link for link in element.findall(f"{ATOM}link") if link.get("rel") == "alternate"]
                assert len(alternates) == 1
                where = urljoin(path.relative_to(site).as_posix(), alternates[0].get("href"))
                assert (site / urlsplit(where).path).is_file(), where
            times = [datetime.fromisoformat(only(entry, "updated").replace("Z", "+00:00")) for entry in entries]
            assert times == sorted(times, reverse=True)
            ids = [only(element, "id") for element in (root, *entries)]
            assert len(ids) == len(set(ids))
            if times:
                assert only(root, "updated") == only(entries[0], "updated")
    assert entries_seen > 100


def test_an_entry_for_each_change_of_verdict_and_for_nothing_else(sampled: Sample) -> None:
    device, verdict = sampled.registry[1].device, sampled.verdicts.devices[1]
    assert [entry.title for entry in verdict_entries(device, verdict, {})] == [
        "Borealis B2: OK → UNSTABLE",
        "Borealis B2: UNSTABLE → REGRESSED",
    ]
    unbroken = sampled.verdicts.devices[0]
    assert list(verdict_entries(sampled.registry[0].device, unbroken, {})) == []


def test_a_predicted_break_is_news_in_the_feeds_of_its_devices(sampled: Sample, site: Path) -> None:
    devices = {item.device.name: item.device for item in sampled.registry}
    first, second, third = predicted_entries(sampled.verdicts.predicted, devices)
    assert first.title == "Predicted break of Halo Edge, Indigo Q, Kestrel: at::detail::hooks()"
    assert first.devices == {"halo", "indigo", "kestrel"}
    assert "not tested. Broken since nightly 20261118" in first.text
    assert "abc1234...def5678" in first.text
    assert second.devices == {"dune", "indigo"}
    assert third.title == f"Predicted break of Halo Edge: {COMPILE_ERROR.text}"
    # One that nobody registered any more is no news, and the id does not depend on who needs it.
    (kept, *_) = predicted_entries(sampled.verdicts.predicted, {name: devices[name] for name in ("halo", "dune")})
    assert (kept.id, kept.devices) == (first.id, {"halo"})
    assert list(predicted_entries(None, devices)) == []
    found = feeds(site)
    having = [path.parent.name for path, root in found.items() if first.id in ElementTree.tostring(root, "unicode")]
    assert sorted(having) == ["halo", "indigo", "kestrel", site.name]


def test_what_has_happened_keeps_its_id_time_and_title_when_nights_come_and_go(sampled: Sample) -> None:
    device, verdict = sampled.registry[1].device, sampled.verdicts.devices[1]
    before = {(item.id, item.updated, item.title) for item in verdict_entries(device, verdict, {})}
    night = Night(plan_id="another", date=FIRST_NIGHT + timedelta(days=14), verdict=VerdictName.OK)
    grown = verdict.model_copy(
        update={"verdict": VerdictName.OK, "reason": "well", "history": (*verdict.history[5:], night)}
    )
    after = {(item.id, item.updated, item.title) for item in verdict_entries(device, grown, {"another": "another"})}
    assert before < after
    assert len(after - before) == 1


def test_a_device_that_falls_silent_has_an_entry_of_that_moment(sampled: Sample) -> None:
    late = judge(sampled.registry, sampled.history, NOW + timedelta(days=5)).devices[0]
    later = judge(sampled.registry, sampled.history, NOW + timedelta(days=6)).devices[0]
    device = sampled.registry[0].device
    (entry,) = verdict_entries(device, late, {})
    assert entry.title == "OpenReg: OK → NO DATA"
    assert entry.updated == late.since
    (again,) = verdict_entries(device, later, {})
    assert (again.id, again.updated) == (entry.id, entry.updated)


def test_failures_that_began_together_are_one_entry_of_the_night_on_which_they_did(sampled: Sample) -> None:
    devices = {item.device.name: item.device for item in sampled.registry}
    found = list(cluster_entries([cluster(("borealis", 13), ("cobalt", 9), ("dune", 13), ("gone", 13))], devices, ()))
    assert [(sorted(entry.devices), entry.updated) for entry in found] == [
        (["borealis", "dune"], mark(13).date),
        (["cobalt"], mark(9).date),
    ]
    assert "abc1234...def5678" in found[0].text
    assert "abc1234" not in found[1].text
    mended = list(cluster_entries([cluster(("cobalt", 9), ("dune", 13))], devices, ()))
    assert {entry.id for entry in mended} == {entry.id for entry in found}
    shown = feed(devices["cobalt"], found, NOW, sampled.history.plans(), None)
    assert shown["entries"] == [found[1]]


def test_an_entry_of_failures_leads_to_their_page_for_good(sampled: Sample, site: Path) -> None:
    devices = {item.device.name: item.device for item in sampled.registry}
    began = cluster(("borealis", 13))
    (entry,) = cluster_entries([began], devices, {began.signature.id})
    assert entry.href == f"c/{began.signature.id}/index.html"
    (unlisted,) = cluster_entries([began], devices, ())
    assert unlisted.href == "d/borealis/index.html"
    entries = ElementTree.parse(site / "feed.xml").getroot().findall(f"{ATOM}entry")  # noqa: S314 - made here
    failures = [item for item in entries if "failure/" in (item.findtext(f"{ATOM}id") or "")]
    assert failures
    for item in failures:
        href = item.find(f"{ATOM}link").get("href")  # type: ignore[union-attr]
        assert href is not None
        assert href.startswith("c/")
        assert (site / href).is_file()


@pytest.mark.parametrize("cause", [Cause.KNOWN, Cause.CORE_DEFECT])
def test_failures_that_somebody_expects_are_no_news(sampled: Sample, cause: Cause) -> None:
    devices = {item.device.name: item.device for item in sampled.registry}
    assert list(cluster_entries([cluster(("borealis", 13), cause=cause)], devices, ())) == []


def test_entries_of_the_newest_30_nights_are_kept(sampled: Sample) -> None:
    device, verdict = sampled.registry[1].device, sampled.verdicts.devices[1]
    names = (VerdictName.OK, VerdictName.FAILING)
    nights = tuple(
        Night(plan_id=f"night-{number}", date=FIRST_NIGHT + timedelta(days=number), verdict=names[number % 2])
        for number in range(200)
    )
    plan = sampled.history.plans()[0]
    plans = [plan.model_copy(update={"created_at": night.date}) for night in nights]
    grown = verdict.model_copy(update={"history": nights, "verdict": nights[-1].verdict})
    shown = feed(device, list(verdict_entries(device, grown, {})), NOW, plans, None)
    assert [entry.updated for entry in shown["entries"]] == [night.date for night in nights[:-31:-1]]
    assert shown["updated"] == nights[-1].date


def test_two_sites_have_no_id_in_common() -> None:
    tags = [
        tag(None),
        tag("https://example.org/"),
        tag("https://example.org/tests/"),
        tag("https://example.org:80/a b/"),
    ]
    assert tags[1:] == [
        "tag:example.org,2026:",
        "tag:example.org,2026:tests/",
        "tag:example.org,2026:a%20b/",
    ]
    assert len({*tags}) == 4


def test_a_broken_device_s_entry_names_its_tests_the_commits_and_the_command(site: Path) -> None:
    """What the card of its page has, so that a reader of the feed need not open it."""
    page = read(site / "d/borealis/index.html")
    newest = feeds(site)[site / "d/borealis/feed.xml"].find(f"{ATOM}entry")
    assert newest is not None
    assert "REGRESSED" in only(newest, "title")
    told = parse(only(newest, "content"))
    assert told.one("pre").text == page.find("pre", class_="command")[0].text
    assert [item.text for item in told.find("code")] == [
        "integration/test_views.py::test_expand",
        "integration/test_views.py::test_transpose",
        "abc1234...def5678",
    ]
    compare = told.one("a").attributes["href"]
    assert compare in [link.attributes["href"] for link in page.find("a")]


def test_an_entry_of_a_past_night_has_what_the_nightly_s_page_has(sampled: Sample) -> None:
    devices = {item.device.name: item.device for item in sampled.registry}
    device, verdict = devices["borealis"], sampled.verdicts.devices[1]
    history = (*verdict.history[:-1], verdict.history[-1].model_copy(update={"plan_id": "now"}))
    verdict = verdict.model_copy(update={"verdict": VerdictName.OK, "history": history})
    found = NightFailure(
        is_new=True,
        devices=("borealis", "cobalt"),
        error=None,
        device="borealis",
        first_bad=mark(13),
        last_good=mark(12),
        pytorch=CommitRange(text="a...b", address="https://example.org/a...b"),
        plugin=None,
        commands=("make nightly DEVICE=borealis",),
    )
    *_, night = verdict_entries(device, verdict, {}, None, {"now": found})
    assert night.title.endswith("REGRESSED → OK")
    *_, night, _ = verdict_entries(device, verdict, {}, None, {"now": found})
    assert (night.failure, night.failing) == (found, ())
    *_, other, _ = verdict_entries(device, verdict, {}, None, {"now": found.model_copy(update={"device": "cobalt"})})
    assert other.failure is None
