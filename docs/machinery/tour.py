"""What each step of the reference plugin adds, put into the page that follows the steps."""

from __future__ import annotations

import re
from pathlib import Path

_MARK = re.compile(r"<!-- step (\d+) -->")
_CALL = re.compile(r'^openreg_step\("(?P<title>[^"]+)"(?P<arguments>[^)]*)\)$', re.MULTILINE)


def with_steps(text: str, root: Path) -> str:
    """The page's text, with the files and capabilities of a step where its mark is.

    Args:
        text: the Markdown.
        root: the repository.

    """
    plugin = root / "devices" / "openreg"
    calls = list(_CALL.finditer((plugin / "steps.cmake").read_text(encoding="utf-8")))

    def told(mark: re.Match[str]) -> str:
        whole, _, files = calls[int(mark[1]) - 1]["arguments"].partition("FILES")
        links = [f"[`{name}`](../../devices/openreg/{name})" for name in files.split()]
        pages = [f"[{name}](../capabilities/{name}.md)" for name in whole.split()[1:]]
        build = f"**Build it:** `-C cmake.define.OPENREG_STEP={mark[1]}`"
        green = f"**Green from here on:** {', '.join(pages) if pages else 'nothing that was not green before'}"
        return f"- **It adds:** {', '.join(links)}\n- {build}\n- {green}"

    return _MARK.sub(told, text)
