"""What failed, so that a page of hundreds of failures can be read: what says the same is said once."""

from __future__ import annotations

from pathlib import Path

from unit.render.pages import Element, read
from unit.render.rendering import judged_pages
from unit.samples import device, nights, outcomes, run

from ootci.model.outcome import Attempt, Outcome, OutcomeName
from ootci.model.run import Run
from ootci.stages.render.failures import ALIKE_SHOWN, SHOWN, failures
from ootci.stages.render.page_maker import prose


def _failed(name: str, message: str, text: str | None = None, **values: object) -> Outcome:
    found = outcomes("integration", **{name: "failed"})[0]
    return found.model_copy(update={"message": message, "text": text or f"E  {message}", **values})


def _with(*failed: Outcome) -> Run:
    record = run(0)
    return record.model_copy(update={"outcomes": (*record.outcomes, *failed)})


def _rows(record: Run, known: frozenset[str] = frozenset()) -> list[tuple[str, list[str], int]]:
    _, rows = failures(device("dev"), record, {}, known)
    return [
        (row.outcome.id.partition("::")[2], [test.id.partition("::")[2] for test in row.alike], row.same_error_total)
        for row in rows
    ]


def test_tests_that_failed_alike_share_a_row_and_each_is_named() -> None:
    kernel = "NotImplementedError: no kernel for this operator at 0x{}"
    record = _with(
        _failed("a", kernel.format("7f01")),
        _failed("b", "RuntimeError: the stream is not there"),
        _failed("c", kernel.format("7f02")),
        _failed("d", kernel.format("7f03")),
    )
    assert _rows(record) == [("a", ["c", "d"], 2), ("b", [], 0)]


def test_a_failure_that_is_not_known_never_hides_behind_a_known_one() -> None:
    kernel = "NotImplementedError: no kernel for this operator"
    record = _with(_failed("a", kernel), _failed("b", kernel))
    known = frozenset({"integration/test_x.py::a"})
    assert _rows(record, known) == [("b", [], 0), ("a", [], 0)]


def test_a_row_has_the_commands_of_the_card_for_its_test(tmp_path: Path) -> None:
    own = _failed("a", "RuntimeError: no").model_copy(update={"id": "mine/t.test_x::test_y", "suite": "mine"})
    registry = (device("dev", environment={"SDK": "/opt/sdk"}),)
    records = nights(_with(own, _failed("b", "other")))
    page = read(judged_pages(tmp_path, *records, registry=registry) / "d" / "dev" / "index.html")
    first, again = page.find("pre", class_="command")[0].copied.split("\n")
    assert first.startswith("make nightly DEVICE=dev TORCH=")
    assert again.startswith("SDK=/opt/sdk .ootci/envs/dev/bin/python -m pytest tests/device/")
    found = {
        row.one("summary").one("code").text: [command.text for command in row.find("pre", class_="command")]
        for row in page.find("details", class_="failure")
    }
    assert found == {"mine/t.test_x::test_y": [first], "integration/test_x.py::b": [f"{first} {again}"]}


def test_none_is_lost_where_there_are_too_many() -> None:
    kernel = "NotImplementedError: no kernel for this operator"
    others_of_it = [_failed(f"z{number}", f"RuntimeError: cause {chr(97 + number) * 3}") for number in range(SHOWN)]
    record = _with(*(_failed(f"t{number}", kernel) for number in range(50)), *others_of_it)
    others, rows = failures(device("dev"), record, {}, ())
    assert len(rows) == SHOWN
    assert (len(rows[0].alike), rows[0].same_error_total) == (ALIKE_SHOWN, 49)
    assert [item.id for item in others] == [others_of_it[-1].id]


def _attempts(first: str, second: str) -> list[bool]:
    again = Attempt(outcome=OutcomeName.FAILED, message="RuntimeError: no card", text=second)
    record = _with(_failed("a", "RuntimeError: no card", first, attempts=(again,)))
    _, rows = failures(device("dev"), record, {}, ())
    return list(rows[0].repeated)


def test_an_attempt_that_says_the_same_is_told_in_two_words() -> None:
    assert _attempts("at 0x7f01\nE  RuntimeError: no card", "at 0x7e02\nE  RuntimeError: no card") == [True]
    assert _attempts("one\nE  RuntimeError: no card", "two\nE  RuntimeError: no card") == [False]


def test_code_in_a_sentence_looks_like_code_and_is_escaped() -> None:
    assert prose("run `make <b>` now") == "run <code>make &lt;b&gt;</code> now"
    assert prose("a ` b") == "a ` b"
    assert prose("<i>`") == "&lt;i&gt;`"
    assert prose("`x`" * 400).count("<code>") <= 8


def _site(folder: Path, *runs: Run) -> Path:
    return judged_pages(folder, *nights(*runs), registry=(device("dev", description="Says `hello`."),))


def _told(page: Element) -> str:
    return page.one("main").text


def test_nothing_is_new_on_a_first_run_and_nothing_is_hidden(tmp_path: Path) -> None:
    bad = {"one": "passed", "two": "failed"}
    first = _site(tmp_path / "first", run(0, smoke=bad))
    front, own = read(first / "index.html"), read(first / "d" / "dev" / "index.html")
    assert "1 failing since the first run" in _told(front)
    assert not any(word in _told(front) for word in ("1 new", "newly", "Broke tonight", "new tonight"))
    assert "1 failing since the first run" in _told(own)
    assert "new failure" not in _told(own)
    assert not own.find(id="changes")
    assert [row.find("code")[0].text for row in own.find("details", class_="failure")] == ["smoke/test_x.py::two"]
    assert "Says <code>hello</code>." in (first / "d" / "dev" / "index.html").read_text(encoding="utf-8")
    second = _site(tmp_path / "second", run(0), run(1, smoke=bad))
    assert "Broke tonight 1" in _told(read(second / "index.html"))
    assert "new" in _told(read(second / "d" / "dev" / "index.html"))
