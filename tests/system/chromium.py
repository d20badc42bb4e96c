"""Where Chromium is, for tests of pages, the benches and the README's screenshot."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one found is used: the same engine without windows opens a page in a quarter of the processor time."""
HOW = "install it with `apt-get install chromium`, or name one in OOTCI_CHROMIUM"


def chromium() -> str | None:
    """The program: the one in ``OOTCI_CHROMIUM``, else the first on PATH; None where there is none."""
    found = os.environ.get("OOTCI_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    return found if found is not None and Path(found).is_file() else None
