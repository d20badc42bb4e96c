"""``ootci render --address``."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML, plan, run

from ootci.history.store import History

from commands import Tool  # isort: skip


@pytest.mark.parametrize(
    ("given", "repository", "address"),
    [
        ("github-pages", "Owner/Tests", "https://owner.github.io/tests/"),
        ("github-pages", "Owner/owner.github.io", "https://owner.github.io/"),
        ("https://ci.example.com/", "Owner/Tests", "https://ci.example.com/"),
        ("github-pages", "", None),
    ],
)
def test_the_site_knows_its_address(
    ootci: Tool, tmp_path: Path, given: str, repository: str, address: str | None
) -> None:
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "dev.yaml").write_text(DEVICE_YAML.format(name="dev"), encoding="utf-8")
    history = History(tmp_path / "data")
    history.append_plan(plan(0, ("dev",)))
    history.append_run(run(0, "dev"))
    assert ootci("judge", cwd=tmp_path).code == 0
    ran = ootci("render", "--address", given, cwd=tmp_path, env={"GITHUB_REPOSITORY": repository})
    assert ran.code == 0, ran.err
    sitemap = tmp_path / "site" / "sitemap.xml"
    if address is None:
        assert not sitemap.exists()
    else:
        assert f"<loc>{address}</loc>" in sitemap.read_text(encoding="utf-8")
