"""No page of a nightly is looked at of a month long over, and the site is the same as if all had been."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from unit.render.place import Place
from unit.render.test_device_months import NEXT, NIGHTS, START

from ootci.stages.judge import judge
from ootci.stages.render import night_months, render
from ootci.stages.render.nightlies import NightlyPage

RENDERED = (*NIGHTS, NEXT, NEXT + 1)
"""In three months, of which two are over."""
LISTED = 2


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Rendered three times, so that the site before last has the months, too."""
    made = Place(tmp_path_factory.mktemp("nights"), START)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(night_months, "NIGHTS_LISTED", LISTED)
        for number in RENDERED:
            made.append(number)
            if number >= NIGHTS[-1]:
                made.render()
    return made


@pytest.fixture
def place(rendered: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The same once more, to be changed."""
    monkeypatch.setattr(night_months, "NIGHTS_LISTED", LISTED)
    return rendered.copied(tmp_path)


@pytest.fixture
def looked_at(place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[int]]:
    """Renders, and tells which nights were looked at."""

    def look() -> set[int]:
        found: set[str] = set()
        whole = night_months.nightly_pages

        def seen(*given: object) -> Iterator[NightlyPage]:
            for page in whole(*given):  # type: ignore[arg-type]
                found.add(page.plan.id)
                yield page

        verdicts = judge(place.night.registry, place.history, place.night.now)
        with monkeypatch.context() as patched:
            patched.setattr(night_months, "nightly_pages", seen)
            render(place.night.registry, place.history, verdicts, place.site)
        return {number for number in (*RENDERED, NEXT + 2) if place.world.plan(number).id in found}

    return look


def months(place: Place) -> list[str]:
    return sorted(path.name for path in (place.site / night_months.NIGHTS).iterdir())


def test_no_nightly_is_looked_at_of_a_month_long_over(place: Place, looked_at: Callable[[], set[int]]) -> None:
    assert months(place) == ["2026-01.json", "2026-02.json"]
    place.append(NEXT + 2)
    assert looked_at() == {32, 33, NEXT, NEXT + 1, NEXT + 2}
    place.render()


def test_all_are_looked_at_of_another_registry(place: Place, looked_at: Callable[[], set[int]]) -> None:
    first, *others = place.night.registry
    named = first.model_copy(update={"device": first.device.model_copy(update={"display_name": "Another name"})})
    place.render((named, *others))
    assert looked_at() == set(RENDERED)
    place.render(place.night.registry[1:])


def test_a_run_that_comes_late_has_its_month_looked_at(place: Place, looked_at: Callable[[], set[int]]) -> None:
    first = place.history.runs(place.names[0])[1]
    place.history.append_run(first.model_copy(update={"attempt": 2, "outcomes": ()}))
    assert {0, 1, 2, 3} <= looked_at()
    place.render()


def test_another_address(place: Place) -> None:
    """Every page names it."""
    for address in ("https://example.org/tests/", "https://example.org/other/"):
        place.render(address=address)
        pages = list((place.site / "n").glob("*/index.html"))
        assert len(pages) == len(RENDERED)
        assert all(f"{address}n/{page.parent.name}/" in page.read_text() for page in pages)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _change(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"devices":', b'"devices":1'))


def _of_another_month(path: Path) -> None:
    path.write_bytes(max(path.parent.iterdir()).read_bytes())


@pytest.mark.parametrize("damage", [Path.unlink, _truncate, _change, _of_another_month])
def test_what_is_not_as_it_was_written_is_not_believed(
    place: Place, looked_at: Callable[[], set[int]], damage: Callable[[Path], None]
) -> None:
    damage(place.site / night_months.NIGHTS / "2026-01.json")
    assert {0, 1, 2, 3} <= looked_at()
    place.render()
