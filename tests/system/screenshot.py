"""Take the README's screenshot of the front page, from the sample site: ``make screenshot``."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from chromium import HOW, chromium
from playwright.sync_api import sync_playwright
from sample_site import render_sample

TARGET = Path(__file__).parents[2] / "dashboard" / "sample" / "front.png"


def main() -> None:
    """Render the site, open it in Chromium and keep the picture."""
    executable = chromium()
    if executable is None:
        sys.exit(f"Chromium is missing: {HOW}")
    site, made = render_sample()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 1480}, color_scheme="light")
        page.clock.set_fixed_time(made + timedelta(hours=1))
        page.goto((site / "index.html").as_uri())
        page.screenshot(path=TARGET)
        browser.close()
    sys.stdout.write(f"{TARGET}\n")


if __name__ == "__main__":
    main()
