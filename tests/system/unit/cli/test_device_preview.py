"""``ootci device preview``: what a device file would get on the pages, from the file alone or with a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML, run

from ootci.model.record import write

from commands import Tool  # isort: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = DEVICE_YAML.format(name="dev").replace("A device", "A <b>new</b> device")
    (tmp_path / "dev.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_row_the_page_and_the_registry_are_rendered_and_say_what_they_are(ootci: Tool, folder: Path) -> None:
    made = ootci("device", "preview", "dev.yaml", cwd=folder)
    assert (made.code, made.out.splitlines()) == (
        0,
        [
            "row: preview/index.html#dev",
            "page: preview/d/dev/index.html",
            "registry: preview/devices/index.html#dev",
        ],
    )
    pages = {path: path.read_text(encoding="utf-8") for path in sorted((folder / "preview").rglob("*.html"))}
    assert len(pages) > 10
    assert [
        path for path, text in pages.items() if "<strong>Preview of <code>dev.yaml</code>:</strong>" not in text
    ] == []
    assert all("<title>Preview · " in text for text in pages.values())
    row = pages[folder / "preview" / "index.html"]
    assert '<li class="row" id="dev"' in row
    assert "A &lt;b&gt;new&lt;/b&gt; device" in row
    assert "no nightly has run it yet" in row
    assert ootci("device", "preview", "dev.yaml", "--output", "preview", cwd=folder).code == 0


def test_a_run_at_hand_is_shown_as_the_newest_nightlys(ootci: Tool, folder: Path) -> None:
    write(run(3, "dev"), folder / "run.json")
    made = ootci("device", "preview", "dev.yaml", "--run", "run.json", "--output", "out", cwd=folder)
    assert made.code == 0, made.err
    text = (folder / "out" / "d" / "dev" / "index.html").read_text(encoding="utf-8")
    assert "permalink" in text
    assert "banner stale" not in text
    (folder / "other.yaml").write_text(DEVICE_YAML.format(name="other"), encoding="utf-8")
    wrong = ootci("device", "preview", "other.yaml", "--run", "run.json", cwd=folder)
    assert (wrong.code, "the run is one of `dev` and not of `other`" in wrong.err) == (2, True)


def test_a_file_that_is_no_device_file_and_a_folder_of_something_else_are_refused(ootci: Tool, folder: Path) -> None:
    (folder / "dev.yaml").write_text("name: dev\n", encoding="utf-8")
    bad = ootci("device", "preview", "dev.yaml", cwd=folder)
    assert (bad.code, bad.err.splitlines()[0][:17]) == (2, "error DEV-006: th")
    assert not (folder / "preview").exists()
    (folder / "dev.yaml").write_text(DEVICE_YAML.format(name="dev"), encoding="utf-8")
    full = ootci("device", "preview", "dev.yaml", "--output", ".", cwd=folder)
    assert full.code == 3
    assert (folder / "dev.yaml").exists()
