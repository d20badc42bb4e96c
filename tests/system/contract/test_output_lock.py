"""What the comparison with another commit's output says."""

from __future__ import annotations

from pathlib import Path

import pytest
from output_lock import differences


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (b"<p>OK</p>\n", b"<p>FAILING</p>\n", ["-<p>OK</p>", "+<p>FAILING</p>"]),
        (b"gone\n", None, ["-gone"]),
        (None, b"new\n", ["+new"]),
        (None, b"", []),
        (b"one\n", b"one\r\n", []),
        (b"\xff", b"\xfe", []),
    ],
)
def test_what_differs_is_found(tmp_path: Path, before: bytes | None, after: bytes | None, lines: list[str]) -> None:
    for folder, content in (("before", before), ("after", after)):
        path = tmp_path / folder / "d" / "x.html"
        path.parent.mkdir(parents=True)
        if content is not None:
            path.write_bytes(content)
        (tmp_path / folder / "same.html").write_text("same", encoding="utf-8")
    found = differences(tmp_path / "before", tmp_path / "after")
    assert {name: [line for line in diff if line[:3] not in ("---", "+++", "@@ ")] for name, diff in found.items()} == {
        "d/x.html": lines
    }
