"""What has not changed is taken over from the site of before, and the site is the same as if all had been made."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from unit.render.place import DEVICES, Place, tree

import ootci.stages.render.site as site_module
from ootci.history.gc import old_details, remove
from ootci.model.device import RegisteredDevice
from ootci.resources import dashboard_folder
from ootci.stages.judge import judge
from ootci.stages.render import run_page
from ootci.stages.render.publish import publish
from ootci.stages.render.reuse import MADE_FROM, Batch, Reusable, digest, makers_digest, paths_of
from ootci.stages.render.tree import spare_of

NIGHTS = 8


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Some nights that are rendered."""
    made = Place(tmp_path_factory.mktemp("reuse"))
    for number in range(NIGHTS - 2):
        made.append(number)
    assert made.render().taken_over == 0
    return made


@pytest.fixture
def place(rendered: Place, tmp_path: Path) -> Place:
    """The same once more, to be changed."""
    return rendered.copied(tmp_path)


def lasting(place: Place) -> dict[str, list[object]]:
    found: dict[str, list[object]] = json.loads((place.site / MADE_FROM).read_text())["files"]
    return found


def with_device(item: RegisteredDevice, **changes: object) -> RegisteredDevice:
    return item.model_copy(update={"device": item.device.model_copy(update=changes)})


def test_the_same_again_makes_no_page_of_a_run_or_nightly_anew(place: Place) -> None:
    assert place.render().taken_over == len(lasting(place)) > 2 * DEVICES * (NIGHTS - 3)


def test_a_night_more_makes_its_own_pages_and_few_others(place: Place) -> None:
    """From the third rendering on the site before last is brought up to date."""
    for number in (NIGHTS - 2, NIGHTS - 1, NIGHTS):
        before = len(lasting(place))
        place.append(number)
        # Of the nightly before, the page now leads to this one.
        assert before - 2 - DEVICES <= place.render().taken_over < len(lasting(place))


def test_a_run_that_becomes_old(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page then names fewer tests."""
    monkeypatch.setattr(run_page, "NAMED_NIGHTS", 3)
    assert 0 < place.render().taken_over < len(lasting(place))
    place.append(NIGHTS - 2)
    place.render()


def test_a_late_second_attempt_takes_the_place_of_the_first(place: Place) -> None:
    first = place.history.runs(place.names[0])[1]
    again = first.model_copy(
        update={"attempt": first.attempt + 1, "finished_at": first.finished_at + timedelta(days=3), "outcomes": ()}
    )
    place.history.append_run(again)
    whole = len(lasting(place))
    assert 0 < place.render().taken_over < whole
    assert (place.site / f"d/{first.device}/{first.plan_id}/attempt-{first.attempt}/index.html").is_file()


@pytest.mark.parametrize(("texts_nights", "measures_runs"), [(90, 1), (0, 1), (0, 0)])
def test_details_that_are_removed(place: Place, texts_nights: int, measures_runs: int) -> None:
    old = old_details(place.history, texts_nights, measures_runs)
    assert old
    remove(old, place.history.folder)
    assert 0 < place.render().taken_over < len(lasting(place))


def test_a_device_that_is_called_otherwise(place: Place) -> None:
    first, *others = place.night.registry
    named = with_device(first, display_name="Another name")
    taken_over = place.render((named, *others)).taken_over
    made_anew = (f"d/{named.device.name}/", "n/", "api/v1/nightlies/")
    others_of_it = [path for path in lasting(place) if not path.startswith(made_anew)]
    assert taken_over == len(others_of_it)


def test_a_change_of_a_device_that_no_run_shows(place: Place) -> None:
    first, *others = place.night.registry
    changed = with_device(first, maintainers=("@someone-else",))
    assert place.render((changed, *others)).taken_over == len(lasting(place))


def test_a_device_that_is_gone(place: Place) -> None:
    gone = place.night.registry[0].device.name
    place.render(place.night.registry[1:])
    assert not (place.site / "d" / gone).exists()


def test_another_address(place: Place) -> None:
    files = len([path for path in lasting(place) if path.endswith(".json")])
    assert place.render(address="https://example.org/tests/").taken_over == files
    assert place.render(address="https://example.org/tests/").taken_over == len(lasting(place))
    assert place.render(address="https://example.org/other/").taken_over == files


@pytest.mark.parametrize("name", ["templates/run.html", "templates/base.html", "templates/parts.html"])
def test_a_template_that_has_changed(place: Place, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    looks = place.folder / "looks"
    shutil.copytree(dashboard_folder(), looks)
    monkeypatch.setattr(site_module, "dashboard_folder", lambda: looks)
    assert place.render().taken_over == len(lasting(place))
    changed = looks / name
    changed.write_text(changed.read_text().replace("class=", "data-changed class=", 1))
    assert place.render().taken_over == 0


def test_a_program_that_has_changed_makes_everything_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.html").write_text("a")
    before = makers_digest(tmp_path)
    assert makers_digest(tmp_path) == before
    monkeypatch.setattr("ootci.stages.render.reuse.version", lambda name: "0")
    assert makers_digest(tmp_path) != before


def _delete(path: Path) -> None:
    path.unlink()


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _replace_by_link(path: Path) -> None:
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)


@pytest.mark.parametrize("damage", [_delete, _truncate, _replace_by_folder, _replace_by_link])
def test_a_damaged_file_is_made_again(place: Place, damage: Callable[[Path], None]) -> None:
    path = sorted(lasting(place))[2]
    damage(place.site / path)
    assert place.render().taken_over == len(lasting(place)) - 1


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"no JSON",
        b"[" * 100_000,
        b"\xff",
        b"[]",
        b"{}",
        b'{"format":"ootci-site","version":3,"files":{},"others":{},"batches":{}}',
        b'{"format":"another","version":2,"files":{},"others":{},"batches":{}}',
        b'{"format":"ootci-site","version":2,"files":[1],"others":{},"batches":{}}',
        b'{"format":"ootci-site","version":2,"files":{"a":1},"others":{},"batches":{}}',
        b'{"format":"ootci-site","version":2,"files":{"a":["b","c"]},"others":{},"batches":{}}',
        b'{"format":"ootci-site","version":2,"files":{"a":["b",1e999]},"others":{},"batches":{}}',
        b'{"format":"ootci-site","version":2,"files":{"a":["key",4]},"batches":{}}',
        b'{"format":"ootci-site","version":2,"files":{"a":["key",4]},"others":[1],"batches":{}}',
        b'{"format":"ootci-site","version":2,"files":{"a":["key",4]},"others":{}}',
        b'{"format":"ootci-site","version":2,"files":{"a":["key",4]},"others":{},"batches":[1]}',
    ],
)
def test_where_nothing_is_known_of_the_files_nothing_is_taken_over(tmp_path: Path, text: bytes) -> None:
    file = Reusable("a", "key", lambda: b"made")
    publish([("verdicts.json", b"{}"), file], tmp_path / "site")
    assert publish([("verdicts.json", b"{}"), file], tmp_path / "site").taken_over == 1
    for site in (tmp_path / "site", spare_of(tmp_path / "site")):
        (site / MADE_FROM).write_bytes(text)
    assert publish([("verdicts.json", b"{}"), file], tmp_path / "site").taken_over == 0


def test_a_site_of_a_version_that_kept_no_keys(place: Place) -> None:
    (place.site / MADE_FROM).unlink()
    assert place.render().taken_over == 0


def test_rendering_that_was_ended_half_way_leaves_the_site_of_before(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(place.site)
    place.append(NIGHTS - 2)
    with monkeypatch.context() as broken:

        def end(*_: object) -> bytes:
            raise KeyboardInterrupt

        broken.setattr(site_module, "front_page", end)
        with pytest.raises(KeyboardInterrupt):
            place.render()
    assert tree(place.site) == before
    assert gc.isenabled()
    assert place.render().taken_over > 0


def test_a_page_that_may_be_taken_over_cannot_show_tonight(place: Place) -> None:
    """Then it would show another night; templates know nothing of the verdicts there."""
    looks = dashboard_folder() / "templates"
    pages = site_module._Pages(
        place.night.registry,
        place.history,
        judge(place.night.registry, place.history, place.night.now),
        looks.parent,
        None,
        None,
        has_docs=False,
        kept=lambda _: None,
    )
    assert "verdicts" not in pages._pages.lasting.globals
    assert "address" not in pages._pages.lasting.globals
    for files in pages.files():
        assert all((path in lasting(place)) == isinstance(files, Batch | Reusable) for path in paths_of(files))


def test_parts_of_a_key_cannot_be_taken_for_others() -> None:
    made = [
        digest(),
        digest(""),
        digest("", ""),
        digest("a", "b"),
        digest("ab"),
        digest("a", "1:b"),
        digest("1:a", "b"),
    ]
    assert len(set(made)) == len(made)
