"""What failed alike on past nights keeps its page, at the same address."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.pages import Element, follow, read
from unit.render.sample import Sample
from unit.render.sample_clusters import cluster, part
from unit.render.sample_runs import NIGHTS, plan_id, run
from unit.samples import changed, plan
from unit.samples import run as one_run

import ootci.history.named as named_module
import ootci.stages.render.pages.clusters as clusters_module
import ootci.stages.render.pages.past_errors as gone_module
from ootci.history.named import KEPT, Border, Borders, NamedFailure, NamedFailures, named_failures
from ootci.history.nights import mark_of
from ootci.history.store import History
from ootci.history.stored import stored
from ootci.history.tables import TestTable
from ootci.model.cluster import Cause, Mark, Signature
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import VerdictName
from ootci.stages.render import render
from ootci.stages.render.nights import CELL_WIDTH, NightsOf
from ootci.stages.render.pages.past_errors import LATELY, LISTED, DeviceFailures, Names

OLD = Signature.of("RuntimeError: a past failure")
TEST = "integration/test_views.py::test_transpose"


def borders(nights: int, count: int) -> Borders:
    """A test that passed on every night on which it did not fail."""
    first, last = (nights & -nights).bit_length() - 1, nights.bit_length() - 1
    marks = [mark(number) if 0 <= number < count else None for number in (first - 1, first, last, last + 1)]
    return Borders(Border(mark(first), marks[0]), Border(mark(last), marks[3]))


def mark(number: int) -> Mark:
    return mark_of(plan(number), TorchBuild(version=f"2.15.{number}", git_version=f"{number:040x}"))


def names(count: int, failing: dict[str, dict[str, int]], current: tuple[str, ...] = ()) -> Names:
    """Names of so many nights, by device, with the bits of the nights of each name."""
    devices = [
        DeviceFailures(
            name,
            NamedFailures(
                {
                    text: NamedFailure(Signature(id=text, text=text), nights, 1, (TEST,), "failures")
                    for text, nights in found.items()
                },
                (1 << min(count, KEPT)) - 1,
                False,
                {text: borders(nights, count) for text, nights in found.items()},
            ),
            {plan(number).id: f"d/{name}/night{number:03d}/index.html" for number in range(count)},
        )
        for name, found in failing.items()
    ]
    plans = [plan(number, tuple(failing)) for number in range(count)]
    return Names(devices, plans, current)


def looks(nights: NightsOf) -> list[str]:
    """How each night is drawn, oldest first."""
    found = {cell.x: cell.look for cell in nights.cells}
    for tile in nights.tiles:
        found |= dict.fromkeys(range(tile.x, tile.x + tile.width, CELL_WIDTH), tile.look)
    return [found[x] for x in sorted(found)]


def test_the_nights_of_all_devices_are_drawn_from_the_first_to_the_last() -> None:
    ((name, page),) = names(10, {"one": {"a": 0b0001_1000}, "two": {"a": 0b0110_1000}}).pages()
    assert (name, page.last.id) == ("a", "night006")
    two, one = page.rows
    assert [row.nights.words for row in (one, two)] == [
        f"failed with this error on {count} of 4 nights" for count in (2, 3)
    ]
    assert [looks(row.nights) for row in (one, two)] == [
        ["ok", "ok", "ok", "new", "failing", "ok", "ok"],
        ["ok", "ok", "ok", "new", "ok", "new", "failing"],
    ]
    assert [cell.href for cell in two.nights.cells if cell.href] == [
        f"d/two/night{number:03d}/index.html" for number in (3, 5, 6)
    ]
    assert two.href == "d/two/night006/index.html#failures"


def test_a_resolved_error_names_where_it_began_and_ended() -> None:
    ((_, page),) = names(
        10, {"early": {"a": 0b1000}, "late": {"a": 0b0111_1000}, "on and off": {"a": 0b0101_1000}}
    ).pages()
    assert page.began is not None
    assert page.ended is not None
    assert page.began.between is not None
    assert page.ended.between is not None
    assert [page.began.passed, page.began.failed] == [mark(2), mark(3)]
    assert [page.ended.device, page.ended.failed, page.ended.passed] == ["late", mark(6), mark(7)]
    assert [page.began.between.commits, page.ended.between.commits] == ["0000000...0000000"] * 2
    assert (page.ended.between.commits_url or "").endswith(f"/{6:040x}...{7:040x}")
    assert (page.is_resolved, page.open_on, page.tests) == (True, 0, (TEST,))


def test_what_came_and_went_has_no_range_and_is_not_resolved() -> None:
    ((_, page),) = names(10, {"one": {"a": 0b0101_1000}}).pages()
    assert page.ended is not None
    assert (page.ended.failed, page.ended.passed, page.ended.between) == (mark(6), mark(7), None)
    assert not page.is_resolved


def test_what_has_not_passed_since_is_not_resolved() -> None:
    page = names(4, {"one": {"a": 0b1000}, "two": {"a": 0b0010}}).nights("a")
    assert page is not None
    assert (page.is_resolved, page.open_on) == (False, 1)


def test_a_cluster_that_a_card_links_to_has_a_page_however_many_there_are(
    sampled: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters_module, "SHOWN", 1)
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "site")
    pages = {path: read(path) for path in (tmp_path / "site").rglob("*.html")}
    assert follow(tmp_path / "site", pages) > 1000


def test_an_error_of_tonight_that_has_no_page_as_a_cluster_is_not_called_gone(
    sampled: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters_module, "SHOWN", 0)
    monkeypatch.setattr(clusters_module, "main_clusters", lambda _: {})
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "site")
    places = [tmp_path / "site" / "c" / item.signature.id / "index.html" for item in sampled.verdicts.clusters]
    pages = [read(path) for path in places if path.exists()]
    assert pages
    for page in pages:
        assert page.one("h2", id="resolved").text == "Seen tonight"
        assert not any(words in page.text for words in ("Not seen", "Ended", "past nights"))


def of_two(letters: str, monkeypatch: pytest.MonkeyPatch) -> Names:
    """A device with an error on the second of three nights only; another, which keeps one name, has it on those nights
    of which the letter is `f`, beside an error that comes first, and passes on the others.
    """
    monkeypatch.setattr(named_module, "NAMES", 1)
    before, said = sorted((OLD, Signature.of("RuntimeError: another")), key=lambda item: item.id)
    table, plans = TestTable(), [plan(number, ("one", "two")) for number in range(len(letters))]

    def device(name: str, row: str, **signatures: Signature) -> DeviceFailures:
        runs = {}
        for number, letter in enumerate(row):
            outcome = "failed" if letter == "f" else "passed"
            made = one_run(number, name, integration=dict.fromkeys(signatures, outcome))
            texts = {f"integration/test_x.py::{test}": item for test, item in signatures.items()}
            runs[plans[number].id] = stored(made, table, texts if letter == "f" else {})
        return DeviceFailures(name, named_failures(plans, runs.get), {})

    devices = [device("one", "pfp", x=said), device("two", letters, x=said, y=before)]
    return Names(devices, plans, frozenset((before.id,)))


def test_what_another_device_has_tonight_beyond_the_names_that_are_kept_is_not_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ((_, page),) = of_two("ppp", monkeypatch).pages()
    assert (page.is_tonight, page.is_cut) == (False, False)
    for letters, is_tonight in (("pff", True), ("ppf", True), ("pfp", False)):
        found = of_two(letters, monkeypatch)
        ((_, page),) = found.pages()
        assert (page.is_tonight, page.is_cut) == (is_tonight, True)
        assert len(found.lately()[0]) == (not is_tonight)
    assert found.cut == {plan(1).id: {"two"}}


def test_those_seen_last_come_first_then_those_of_most_devices() -> None:
    found = names(9, {"one": {"a": 1, "b": 4, "c": 4}, "two": {"c": 2}})
    assert [name for name, _ in found.pages()] == ["c", "b", "a"]


def test_what_has_a_page_as_a_cluster_has_no_second_one() -> None:
    found = names(9, {"one": {"a": 1, "b": 4}}, current=("b",))
    assert [name for name, _ in found.pages()] == ["a"]
    nights = found.nights("b")
    assert nights is not None
    assert nights.rows[0].nights.words == "failed with this error on 1 of 7 nights"
    assert found.nights("never seen") is None


def test_the_main_error_of_a_night_is_the_one_with_which_most_devices_broke() -> None:
    found = names(
        9,
        {
            "one": {"old": 0b1_1111, "shared": 0b1_1000, "late": 0b1_0000},
            "two": {"shared": 0b1_1000, "late": 0b1_0000},
            "three": {"old": 0b1_1111, "late": 0b1_0000},
        },
    )
    began = {"one": plan(3).id, "two": plan(3).id}
    main = found.main_errors({plan(3).id: began, plan(4).id: began, plan(7).id: {"three": plan(7).id}})
    # On the fourth night, too, the error that began with the streak counts, not a later one.
    assert {plan_id: (error.id, error.devices) for plan_id, (error, _) in main.items()} == {
        plan(3).id: ("shared", ("one", "two")),
        plan(4).id: ("shared", ("one", "two")),
    }
    assert main[plan(3).id][1]["two"].first == (TEST,)


def test_the_list_has_what_went_lately_and_nothing_of_tonight() -> None:
    count = LATELY + 5
    found = names(count, {"one": {str(night): 1 << night for night in range(count)}})
    assert [row.text for _, row in found.lately()[0]] == [str(night) for night in reversed(range(4, count - 1))]


def test_where_nights_are_not_looked_at_any_more_it_may_have_begun_before() -> None:
    kept, more = (names(count, {"one": {"a": 1}}).nights("a") for count in (KEPT, KEPT + 1))
    assert kept is not None
    assert more is not None
    assert (kept.is_open, more.is_open) == (False, True)


def test_names_without_end_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gone_module, "PAGES", LISTED + 10)
    found = names(3, {"one": {f"{number:04d}": 1 for number in range(LISTED + 30)}})
    assert len(list(found.pages())) == LISTED + 10
    assert found.without_page == 20
    rows, more = found.lately()
    assert (len(rows), more) == (LISTED, 10)


@pytest.fixture
def past(sampled: Sample, tmp_path: Path) -> tuple[Path, Path]:
    """A site on whose newest nightly something is a cluster, and the one of a night later, when it is gone."""
    history = History(tmp_path / "history")
    for item in sampled.history.plans()[-2:]:
        history.append_plan(item)
    failing = run("borealis", NIGHTS - 2, VerdictName.REGRESSED)
    history.append_run(changed(failing, message=OLD.text, text=OLD.text))
    before = sampled.verdicts.model_copy(
        update={"clusters": (cluster(OLD.text, Cause.UNKNOWN, "alone", part("borealis", TEST, number=NIGHTS - 2)),)}
    )
    render(sampled.registry, history, before, tmp_path / "before")
    history.append_run(run("borealis", NIGHTS - 1, VerdictName.OK))
    after = sampled.verdicts.model_copy(update={"clusters": ()})
    render(sampled.registry, history, after, tmp_path / "after")
    return tmp_path / "before", tmp_path / "after"


def rows(page: Element) -> list[Element]:
    return page.one("ul", class_="rows").find("li")


def test_a_cluster_keeps_its_address_when_it_is_gone(past: tuple[Path, Path]) -> None:
    address = Path("c") / OLD.id / "index.html"
    before, after = (read(site / address) for site in past)
    assert before.one("h1").text == after.one("h1").text == OLD.text
    assert before.find("section", aria_labelledby="cause")
    assert "failed with this error on 1 of 1 night, last 2026-11-20" in rows(before)[0].text
    assert f"Last seen on nightly {plan_id(NIGHTS - 2)} , on 1 device in all." in after.text
    card = after.one("section", aria_labelledby="resolved")
    assert card.one("h2").text == "Resolved"
    assert [part.text.split(" 2.15")[0] for part in card.find("p") if "First" in part.text] == [
        "First bad 20 Nov 2026",
        "First good 21 Nov 2026",
    ]
    tests = [link.attributes["href"] for link in card.one("ul").find("a")]
    assert tests == [link.attributes["href"] for link in rows(after)[0].find("a")][3:]
    links = [link.attributes["href"] for link in rows(after)[0].find("a")]
    night = f"../../d/borealis/{plan_id(NIGHTS - 2)}/index.html"
    assert links[:3] == ["../../d/borealis/index.html", night, f"{night}#failures"]
    assert all(link.startswith("../../t/integration/test_views/index.html#t-") for link in links[3:])
    assert len(links) == 6


def test_the_list_has_it_among_those_that_went(past: tuple[Path, Path]) -> None:
    before, after = (read(site / "c" / "index.html") for site in past)
    assert after.one("h2", id="gone").text == f"Not seen tonight, but in the last {LATELY} nights"
    went = [[row for row in page.find("tbody")[-1].find("tr") if OLD.text in row.text] for page in (before, after)]
    assert went[0] == []
    assert [cell.text for cell in went[1][0].find("td")] == [OLD.text, "1", "2026-11-20"]


def test_its_page_says_nothing_of_tonight(past: tuple[Path, Path]) -> None:
    """So that it can be taken over as it is."""
    text = (past[1] / "c" / OLD.id / "index.html").read_text(encoding="utf-8")
    assert "Built" not in text
    assert "age.js" not in text
