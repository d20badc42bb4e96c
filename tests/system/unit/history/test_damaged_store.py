"""A damaged record of the history is noticed, and its file named."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.samples import plan, run, stored, whole_runs

from ootci.errors import EXIT_INFRASTRUCTURE, HistoryCorrupt
from ootci.history.store import History


def _cut(text: bytes) -> bytes:
    return text[:-20] + b"\n"


def _replaced(text: bytes) -> bytes:
    return text.replace(b"p", b"f", 1)


@pytest.mark.parametrize(
    "damage", [lambda _: b"\n", lambda _: b"{}\n", lambda _: b"\xff\n", lambda _: b"[[[\n", _cut, _replaced]
)
@pytest.mark.parametrize("name", ["*/*/dev.1.json", "*/*/plan.json", "tests/*.json"])
def test_a_damaged_record_is_noticed_and_its_file_named(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    stored(tmp_path, plan()).append_run(run())
    path = next(tmp_path.glob(name))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(HistoryCorrupt) as caught:
        [History(tmp_path).plans(), whole_runs(History(tmp_path), "dev")]
    assert caught.value.where == str(path)
    assert caught.value.exit_code == EXIT_INFRASTRUCTURE


def test_a_record_in_the_file_of_another_is_noticed(tmp_path: Path) -> None:
    stored(tmp_path, plan(), plan(1)).append_run(run())
    (found,) = tmp_path.glob("*/*/dev.1.json")
    other = found.parent.with_name("night001") / found.name
    found.rename(other)
    with pytest.raises(HistoryCorrupt, match="it is the run night000-dev, attempt 1") as caught:
        whole_runs(History(tmp_path), "dev")
    assert caught.value.where == str(other)
    (tmp_path / other.parent.relative_to(tmp_path) / "plan.json").replace(found.parent / "plan.json")
    with pytest.raises(HistoryCorrupt, match="it is the nightly night001"):
        History(tmp_path).plans()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"p2"', b'"p3"'),
        (b'"p2"', b'"z2"'),
        (b'"p2"', b'"2"'),
        (b'"p2"', b'"p99999999999999"'),
        (b'"p2"', b"null"),
        (b'"attempts":{}', b'"attempts":{"failed":[99]}'),
        (b'"attempts":{}', b'"attempts":{"odd":[0]}'),
        (b'"signatures":[]', b'"signatures":[["x"]]'),
    ],
)
def test_a_file_that_says_what_cannot_be_is_noticed_though_its_checksum_is_right(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    stored(tmp_path, plan()).append_run(run(smoke={"one": "passed", "two": "passed"}, integration={}))
    (path,) = tmp_path.glob("*/*/dev.1.json")
    content = path.read_bytes()
    assert old in content
    body = content.replace(old, new)[1:].rpartition(b',\n"crc"')[0]
    path.write_bytes(b'{%b,\n"crc":"%08x"}\n' % (body, zlib.crc32(body)))
    with pytest.raises(HistoryCorrupt, match="the run cannot be read back") as caught:
        whole_runs(History(tmp_path), "dev")
    assert caught.value.where == str(path)
