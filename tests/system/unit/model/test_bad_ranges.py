"""Nights that say nothing: of one device, of all devices, and wrong ones said with their line."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.model.device_files import GOOD
from unit.samples import DEVICE_YAML

from ootci.errors import DeviceFileInvalid
from ootci.model.device import BadRange, bad_range, load_device, load_registry

ENTRY = {"first": "2026-11-03", "last": "2026-11-05", "reason": "No network.", "link": "https://example.com/1"}


def _listed(**values: str | None) -> str:
    entry = {key: value for key, value in {**ENTRY, **values}.items() if value is not None}
    return "bad_ranges:\n- " + "\n  ".join(f"{key}: {value}" for key, value in entry.items()) + "\n"


def _range(**values: str) -> BadRange:
    return BadRange.model_validate({**ENTRY, **values})


def test_the_ranges_of_all_devices_are_added_to_those_of_each(tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_text(GOOD + _listed(), encoding="utf-8")
    (tmp_path / "other.yaml").write_text(DEVICE_YAML.format(name="other"), encoding="utf-8")
    (tmp_path / "_all").mkdir()
    before = {item.device.name: item.sha256 for item in load_registry(tmp_path)}
    (tmp_path / "_all" / "bad_ranges.yaml").write_text(_listed(reason="No disk."), encoding="utf-8")
    registry = load_registry(tmp_path)
    found = {item.device.name: [entry.reason for entry in item.device.bad_ranges] for item in registry}
    assert found == {"dev": ["No network.", "No disk."], "other": ["No disk."]}
    assert {item.device.name: item.sha256 for item in registry} == before


@pytest.mark.parametrize(
    ("values", "line", "what"),
    [
        ({"last": None}, 2, "the required key `bad_ranges[0].last` is missing"),
        ({"link": None}, 2, "the required key `bad_ranges[0].link` is missing"),
        ({"last": "2026-11-02"}, 2, "it ends on 2026-11-02, before it begins on 2026-11-03"),
        ({"last": "2027-11-02"}, 2, "it is longer than 92 days; a device that cannot be run for so long is `paused`"),
        ({"first": "monday"}, 2, "`bad_ranges[0].first` must be a day such as 2026-11-21"),
        ({"link": "javascript:x"}, 5, "`bad_ranges[0].link` must be an address"),
        ({"until": "2026-11-05"}, 6, "unknown key `bad_ranges[0].until`"),
    ],
)
@pytest.mark.parametrize("of_all", [False, True])
def test_what_is_wrong_with_a_range_is_said_with_its_line(
    tmp_path: Path, values: dict[str, str | None], line: int, what: str, of_all: bool
) -> None:
    path = tmp_path / "dev.yaml"
    path.write_text(GOOD if of_all else GOOD + _listed(**values), encoding="utf-8")
    if of_all:
        (tmp_path / "_all").mkdir()
        (tmp_path / "_all" / "bad_ranges.yaml").write_text(_listed(**values), encoding="utf-8")
    with pytest.raises(DeviceFileInvalid) as caught:
        load_registry(tmp_path) if of_all else load_device(path)
    assert what in caught.value.what
    shown = "_all/bad_ranges.yaml" if of_all else "dev.yaml"
    assert caught.value.where == f"{tmp_path.as_posix()}/{shown}:{line if of_all else line + GOOD.count(chr(10))}"


def test_a_list_for_all_without_its_key_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "_all").mkdir()
    (tmp_path / "_all" / "bad_ranges.yaml").write_text("", encoding="utf-8")
    with pytest.raises(DeviceFileInvalid) as caught:
        load_registry(tmp_path)
    assert "bad_ranges" in caught.value.fix


@given(st.datetimes(datetime(2026, 10, 1), datetime(2026, 12, 1)), st.integers(-14, 14))
def test_a_night_belongs_to_its_day_in_utc(moment: datetime, hours: int) -> None:
    planned = moment.replace(tzinfo=timezone.utc).astimezone(timezone(timedelta(hours=hours)))
    assert _range().covers(planned) == (date(2026, 11, 3) <= moment.date() <= date(2026, 11, 5))


def test_the_first_range_that_covers_a_night_is_its_reason() -> None:
    ranges = (_range(reason="a"), _range(reason="b", last="2026-11-09"))
    found = [bad_range(ranges, datetime(2026, 11, day, tzinfo=timezone.utc)) for day in (3, 9, 10)]
    assert [item.reason if item else None for item in found] == ["a", "b", None]
