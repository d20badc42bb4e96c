"""Files in which the stages meet: read whole or not at all, written whole or not at all."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pydantic import ValidationError
from unit import samples

from ootci.errors import StageFileInvalid, StageFileMissing, StageFileTooLarge, StageFileVersion
from ootci.model import record as record_module
from ootci.model.plan import Plan, PlannedSuite
from ootci.model.record import parse, read, utc_text, write, write_atomic
from ootci.model.run import Run
from ootci.model.verdict import Verdicts


def _with(record: Plan | Run, **values: object) -> bytes:
    return json.dumps({**json.loads(record.to_json()), **values}).encode()


def test_the_same_record_has_the_same_bytes_and_comes_back(tmp_path: Path) -> None:
    for record in (samples.plan(), samples.build(), samples.run()):
        path = tmp_path / record.FILE
        write(record, path)
        assert read(type(record), path) == record
        assert path.read_bytes() == record.to_json().encode()


def test_a_write_that_dies_before_the_end_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    write_atomic(path, b"old")

    def die(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", die)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, b"new and longer")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]


def test_who_is_reading_the_old_file_goes_on_reading_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_atomic(path, b"old")
    with path.open("rb", buffering=0) as reader:
        write_atomic(path, b"new and longer")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new and longer"


def test_the_file_appears_only_when_its_content_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "plan.json"
    seen: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(path.exists()))
    write_atomic(path, b"new")
    assert seen == [False]
    assert path.read_bytes() == b"new"


def test_a_missing_file_names_the_command_that_writes_it(tmp_path: Path) -> None:
    with pytest.raises(StageFileMissing) as caught:
        read(Verdicts, tmp_path / "verdicts.json")
    assert caught.value.fix == "run `ootci judge` first"
    with pytest.raises(StageFileMissing):
        read(Plan, tmp_path)


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    content = samples.run().to_json().encode()
    path.write_bytes(content)
    monkeypatch.setattr(record_module, "MAX_BYTES", len(content))
    assert read(Run, path).to_json().encode() == content
    with path.open("ab") as stream:
        stream.truncate(1 << 40)  # a hole, which takes no room on the disk
    with pytest.raises(StageFileTooLarge) as caught:
        read(Run, path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("key", ["stages", "suites", "outcomes", "operators"])
def test_of_a_hostile_list_the_first_mistake_is_enough(key: str) -> None:
    text = json.dumps({**json.loads(samples.run().to_json()), key: [0] * 1000})
    with pytest.raises(ValidationError) as caught:
        Run.model_validate_json(text)
    assert caught.value.error_count() == 1


@pytest.mark.parametrize("extra", [{}, {"a_key_of_tomorrow": 1}, {"id": {"now": "a mapping"}}])
def test_a_newer_file_is_refused_as_newer_even_when_its_keys_changed(extra: dict[str, object]) -> None:
    with pytest.raises(StageFileVersion) as caught:
        parse(Plan, _with(samples.plan(), schema_version=2, **extra), where="plan.json")
    assert "schema version 2; this tool reads up to 1" in caught.value.what
    assert "update ootci" in caught.value.fix


@pytest.mark.parametrize("version", [1, 0, -1])
def test_an_older_file_is_refused_as_older(version: int) -> None:
    with pytest.raises(StageFileVersion) as caught:
        parse(Run, _with(samples.run(), schema_version=version, outcomes=3), where="run.json")
    assert f"schema version {version}; this tool reads version 2" in caught.value.what
    assert "`ootci collect`" in caught.value.fix


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"a_key_of_nobody": 1}, "a_key_of_nobody"),
        ({"id": None}, "id"),
        ({"created_at": "2026-11-21T04:00:00"}, "created_at"),
        ({"created_at": "0001-01-01T00:00:00+14:00"}, "created_at"),
        ({"created_at": "9999-12-31T23:59:59-14:00"}, "created_at"),
        ({"runs": [{"device": "x"}]}, "runs.0.run_id"),
    ],
)
def test_what_does_not_follow_the_schema_is_named(values: dict[str, object], key: str) -> None:
    with pytest.raises(StageFileInvalid) as caught:
        parse(Plan, _with(samples.plan(), **values), where="plan.json")
    assert caught.value.what.startswith(f"plan.json is not valid: {key}: ")
    assert "\n" not in caught.value.what


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"id": "\\ud800"}', b"1" * 5000]
)
def test_what_is_not_json_is_invalid_and_nothing_else(text: bytes) -> None:
    with pytest.raises(StageFileInvalid):
        parse(Run, text, where="run.json")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_could_not_be_written_back_is_refused(number: str) -> None:
    text = samples.run().to_json().replace('"duration": 0.0', f'"duration": {number}', 1)
    assert number in text
    with pytest.raises(StageFileInvalid):
        parse(Run, text.encode(), where="run.json")


def test_times_are_written_in_utc_with_milliseconds() -> None:
    east = datetime(2026, 11, 21, 5, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert utc_text(east) == "2026-11-21T00:00:00.123Z"
    record = parse(Plan, _with(samples.plan(), created_at="2026-11-21T05:30:00+05:30"), where="plan.json")
    assert '"created_at": "2026-11-21T00:00:00.000Z"' in record.to_json()


def test_tests_of_one_id_are_refused() -> None:
    twice = json.loads(samples.run().to_json())
    twice["outcomes"] = [twice["outcomes"][0]] * 2
    with pytest.raises(StageFileInvalid, match="two tests have one id"):
        parse(Run, json.dumps(twice).encode(), where="run.json")


def _with_text(text: str) -> bytes:
    """A plan with one more key, and its text."""
    return samples.plan().to_json().rstrip().removesuffix("}").encode() + f", {text}}}".encode()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (",".join(f'"k{number}":1' for number in range(1_001)), "an object has more than 1,000 keys"),
        (",".join(['"same":1'] * 1_001), "an object has more than 1,000 keys"),
        (
            ",".join(f'"k\\\\\\"{number}" : [{{}}, "}}:,"]' for number in range(1_001)),
            "an object has more than 1,000 keys",
        ),
        ('"x":' + '{"y":' * 40 + "1" + "}" * 40, "it nests deeper than 32 levels"),
        ('"x":[' + "0," * 4_000_000 + "0]", "it holds more than 4,000,000 values"),
    ],
    ids=["keys", "one key", "keys with quotes", "levels", "values"],
)
def test_what_would_fill_the_memory_is_refused_before_it_is_parsed(
    text: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plan, "model_validate_json", None)
    with pytest.raises(StageFileInvalid, match=what):
        parse(Plan, _with_text(text), where="x")


@pytest.mark.parametrize("name", ['":,' * 1_001, "\\", '"', '\\"', '\\\\":,{[', "{" * 100, "é\u2028" * (1 << 19)])
def test_a_name_of_any_kind_is_counted_as_text(name: str) -> None:
    suites = tuple(PlannedSuite(name=name) for _ in range(3))
    assert parse(Plan, samples.plan(suites=suites).to_json().encode(), where="x").runs[0].suites == suites


@pytest.mark.parametrize("version", ['"x"', '"1"x', "null", "[]", "1.5", "1e400", '{"a": 1}'])
def test_a_version_that_is_no_number_is_invalid(version: str) -> None:
    text = samples.plan().to_json().replace('"schema_version": 1', f'"schema_version": {version}')
    with pytest.raises(StageFileInvalid, match=re.escape("plan.json is not valid")):
        parse(Plan, text.encode(), where="x")
