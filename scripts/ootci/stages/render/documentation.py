"""The documentation site, put beside the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ootci.errors import BadOption

FOLDER = "docs"
"""Where in the site it is."""


def require_documentation(folder: Path) -> None:
    """See that a folder holds a documentation site.

    Raises:
        BadOption: it does not.

    """
    if not (folder / "index.html").is_file():
        raise BadOption(
            "the folder holds no documentation site", where=f"--docs {folder}", fix="build one with `make docs`"
        )


def documentation_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a documentation site that was built before, by its place in the whole site."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield f"{FOLDER}/{path.relative_to(folder).as_posix()}", path.read_bytes()
