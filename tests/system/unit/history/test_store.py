"""The history: facts are added, never changed, and a fact that cannot be read back is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from unit.samples import plan, run

from ootci.errors import EXIT_INFRASTRUCTURE, EXIT_INPUT, HistoryConflict, HistoryCorrupt, StageFileVersion
from ootci.history.store import History


def _content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_appended_is_read_back_in_the_order_of_the_nights(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in (2, 0, 1):
        assert history.append_plan(plan(number))
        assert history.append_run(run(number))
    assert [item.id for item in history.plans()] == ["night000", "night001", "night002"]
    assert history.runs("dev") == (run(0), run(1), run(2))
    assert history.devices() == ("dev",)
    assert set(_content(tmp_path)) == {
        "format.json",
        *(f"plans/night00{number}.json" for number in range(3)),
        *(f"runs/dev/night00{number}.1.json.gz" for number in range(3)),
    }


def test_an_empty_or_missing_folder_is_an_empty_history_and_reading_makes_nothing(tmp_path: Path) -> None:
    history = History(tmp_path / "gone")
    assert (history.plans(), history.runs("dev"), history.devices()) == ((), (), ())
    assert not (tmp_path / "gone").exists()


def test_appending_again_changes_no_byte(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.append_plan(plan())
    history.append_run(run())
    before = _content(tmp_path)
    assert not history.append_plan(plan())
    assert not history.append_run(run())
    assert _content(tmp_path) == before


def test_the_same_run_packed_by_another_zlib_is_the_same_run(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.append_run(run())
    path = tmp_path / "runs" / "dev" / "night000.1.json.gz"
    path.write_bytes(gzip.compress(run().to_json().encode(), compresslevel=1))
    assert not history.append_run(run())


def test_another_record_of_the_same_identity_is_refused_and_the_first_stays(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.append_plan(plan())
    history.append_run(run())
    before = _content(tmp_path)
    with pytest.raises(HistoryConflict) as caught:
        history.append_run(run(smoke={"one": "failed"}))
    assert caught.value.exit_code == EXIT_INPUT
    with pytest.raises(HistoryConflict):
        history.append_plan(plan(0, ("other",)))
    assert _content(tmp_path) == before
    assert history.append_run(run(smoke={"one": "failed"}, attempt=2))
    assert [item.attempt for item in history.runs("dev")] == [1, 2]


@pytest.mark.parametrize(
    "content",
    [b"", b"not packed", gzip.compress(run().to_json().encode())[:-20], gzip.compress(b"{}"), gzip.compress(b"\xff")],
    ids=["empty", "not-packed", "cut-off", "no-record", "no-text"],  # the packed ones tell the time
)
def test_a_damaged_record_names_its_file(tmp_path: Path, content: bytes) -> None:
    history = History(tmp_path)
    history.append_run(run())
    path = tmp_path / "runs" / "dev" / "night000.1.json.gz"
    path.write_bytes(content)
    with pytest.raises(HistoryCorrupt) as caught:
        history.runs("dev")
    assert caught.value.where == str(path)
    assert caught.value.exit_code == EXIT_INFRASTRUCTURE


def test_a_record_of_a_newer_tool_asks_for_the_newer_tool(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.append_plan(plan())
    path = tmp_path / "plans" / "night000.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"schema_version": 1', '"schema_version": 9'), encoding="utf-8"
    )
    with pytest.raises(StageFileVersion):
        history.plans()


@pytest.mark.parametrize("marker", ["", "{}", '{"format": "ootci-history", "version": 2}', "[]", "not json"])
def test_a_history_of_another_format_is_not_touched(tmp_path: Path, marker: str) -> None:
    (tmp_path / "format.json").write_text(marker, encoding="utf-8")
    with pytest.raises(HistoryCorrupt, match="another format"):
        History(tmp_path)
