"""The nightlies of a package index."""

from __future__ import annotations

from packaging.version import Version

from ootci.flows.nightly_index import NightlyIndex


def test_a_version_in_several_builds_is_searched_in_one() -> None:
    texts = tuple(f"2.15.0.dev2026110{end}" for end in ("1+cpu", "2", "2+cpu", "2+xpu", "3+cpu"))
    index = NightlyIndex("index", tuple(Version(text) for text in texts))
    assert index.between(Version(texts[0]), Version(texts[4])) == (texts[0], texts[2], texts[4])
    assert index.find("2.15.0.dev20261103", "--bad") == Version(texts[4])
