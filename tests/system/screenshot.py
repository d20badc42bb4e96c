"""Take the README's screenshot of the front page, from the sample of the dashboard's tests: ``make screenshot``."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "system")]

from unit.render.sample import sample  # noqa: E402

from ootci.stages.render import render  # noqa: E402

TARGET = ROOT / "dashboard" / "sample" / "front.png"


def main() -> None:
    """Render the sample, open it in Chromium and keep the picture."""
    chromium = os.environ.get("OOTCI_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is missing: install it with `apt-get install chromium`, or name one in OOTCI_CHROMIUM")
    with tempfile.TemporaryDirectory() as folder:
        made = sample(Path(folder) / "sample")
        site = Path(folder) / "site"
        render(made.registry, made.history, made.verdicts, site)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
            page.goto((site / "index.html").as_uri())
            page.screenshot(path=TARGET)
            browser.close()
    sys.stdout.write(f"{TARGET}\n")


if __name__ == "__main__":
    main()
