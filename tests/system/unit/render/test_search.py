"""What the search looks through: everything with a page, in a script that no text of a device can leave."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from unit.render.pages import read
from unit.render.rendering import Rendered
from unit.render.sample import Sample
from unit.render.sample_clusters import ALIKE

from ootci.stages.render import search
from ootci.stages.render.pages import past_errors
from ootci.stages.render.search import Entry, search_index

_INDEX = re.compile(rb"globalThis\.searchIndex = \{ more: (\d+), entries: (\[\n.*\n\]) \};\n", re.DOTALL)


def entries(script: bytes) -> list[Any]:
    found = _INDEX.fullmatch(script)
    assert found is not None
    return list(json.loads(found[2]))


def test_devices_error_texts_and_tests_are_found_and_lead_to_a_page_that_is_there(site: Path) -> None:
    found = entries((site / "static" / "search-index.js").read_bytes())
    kinds = [kind for kind, *_ in found]
    assert kinds == sorted(kinds, key=["device", "error", "test"].index)
    assert ["device", "Borealis B2 (borealis)", "d/borealis/index.html"] in found
    assert f"c/{ALIKE.id}/index.html" in [path for _, _, path in found]
    assert any(text == "integration/test_views.py::test_transpose" for kind, text, _ in found if kind == "test")
    for _, _, path in found:
        page, _, anchor = path.partition("#")
        assert (site / page).is_file(), path
        assert f'id="{anchor}"' in (site / page).read_text(encoding="utf-8") if anchor else True, path


def test_no_text_leaves_its_string() -> None:
    text = '</script>\u2028"];alert(1)//\\'
    script = search_index([Entry("error", text, "c/x/index.html")])
    assert script.isascii()
    assert entries(script) == [["error", text, "c/x/index.html"]]


def test_what_is_too_much_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LIMIT", 100)
    script = search_index(Entry("test", f"a/test_{number}.py::t", "t/a/index.html") for number in range(9))
    assert len(entries(script)) == 2
    assert script.startswith(b"globalThis.searchIndex = { more: 7,")


def test_errors_without_a_page_are_counted_as_not_looked_through(
    sampled: Sample, rendered: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody takes "0 found" for an answer."""
    monkeypatch.setattr(past_errors, "PAGES", 1)
    shown = rendered(sampled.history)
    script = (shown / "static" / "search-index.js").read_bytes()
    found = _INDEX.fullmatch(script)
    assert found is not None
    (note,) = [
        text for item in read(shown / "c" / "index.html").find("p", class_="cut") if "a page" in (text := item.text)
    ]
    assert int(found[1]) > 1
    assert f"{int(found[1])} have none" in note
