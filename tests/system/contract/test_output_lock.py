"""What the comparison with another commit's output says."""

from __future__ import annotations

from pathlib import Path

import pytest
from output_lock import differences


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("index.html", b"<p>OK</p>\n", b"<p>FAILING</p>\n", ["-<p>OK</p>", "+<p>FAILING</p>"]),
        ("answers/gate.txt", b"error GATE-001\n", b"", ["-error GATE-001"]),
        ("new.txt", None, b"new\n", ["+new"]),
        ("gone.txt", b"gone\n", None, ["-gone"]),
        ("empty.txt", None, b"", ["only after: empty.txt"]),
        ("ends.txt", b"one\n", b"one\r\n", ["line ends differ: ends.txt"]),
        ("shot.png", b"\xff\x00", b"\xff\x01", ["binary files shot.png differ"]),
        ("same.txt", b"same\n", b"same\n", []),
    ],
)
def test_what_differs_is_said(
    tmp_path: Path, name: str, before: bytes | None, after: bytes | None, said: list[str]
) -> None:
    for folder, content in (("before", before), ("after", after)):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True)
        if content is not None:
            path.write_bytes(content)
    lines = differences(tmp_path / "before", tmp_path / "after")
    assert [line for line in lines if not line.startswith(("---", "+++", "@@"))] == said
