"""Putting a whole site in place so that a reader never sees a half of it, and the documentation beside the pages."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from ootci.adapters.folder_lock import held
from ootci.errors import BadOption, Busy, HostFailure

File = tuple[str, bytes]
"""A file of a site: its path from the top, with ``/`` between folders, and its content."""


def publish(files: Iterable[File], site: Path) -> None:
    """Replace a site by the given files.

    The new tree is written beside the old one and takes its place by renaming, so that a failure half-way leaves the
    old site as it was.

    Args:
        files: the files, made one by one.
        site: the site's folder; what is in it and not among the files is gone afterwards.

    Raises:
        HostFailure: the folder is not a site of ours, or the machine refuses to write.

    """
    site = site.absolute()
    if site.exists() and not _is_ours(site):
        raise HostFailure(
            "the folder for the site holds something else, which rendering would delete",
            where=str(site),
            fix="name an empty or a new folder with --site",
        )
    mark = secrets.token_hex(4)
    fresh, old = site.with_name(f".{site.name}.{mark}.new"), site.with_name(f".{site.name}.{mark}.old")
    try:
        fresh.mkdir(parents=True)
        # A running rendering holds a lock on its folder, a killed one does not.
        with held(fresh):
            _remove_left(site)
            _write(files, fresh)
        if site.exists():
            site.rename(old)
        fresh.rename(site)
    except OSError as error:
        if old.exists() and not site.exists():
            old.rename(site)
        raise HostFailure(
            f"the site cannot be written: {os.strerror(error.errno or 0)}",
            where=str(error.filename or site),
            fix="make room or give the folder to this user, then render again",
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _write(files: Iterable[File], top: Path) -> None:
    folders = {""}
    for name, content in files:
        folder = name.rpartition("/")[0]
        if folder not in folders:
            (top / folder).mkdir(parents=True, exist_ok=True)
            folders.add(folder)
        (top / name).write_bytes(content)


def _is_ours(site: Path) -> bool:
    """Whether the folder may be replaced: it is empty, or a site that was rendered before."""
    if site.is_symlink() or not site.is_dir():
        return False
    return (site / "api" / "v1" / "index.json").is_file() or not any(site.iterdir())


def _remove_left(site: Path) -> None:
    """Remove what renderings of this site left behind that were killed."""
    for path in site.parent.iterdir():
        if not re.fullmatch(rf"\.{re.escape(site.name)}\.[0-9a-f]{{8}}\.(new|old)", path.name):
            continue
        with contextlib.suppress(Busy, OSError), held(path):
            shutil.rmtree(path)


def require_documentation(folder: Path) -> None:
    """See that a folder holds a documentation site.

    Raises:
        BadOption: it does not.

    """
    if not (folder / "index.html").is_file():
        raise BadOption(
            "the folder holds no documentation site", where=f"--docs {folder}", fix="build one with `make docs`"
        )


def documentation_files(folder: Path) -> Iterator[File]:
    """Every file of a documentation site that was built before, by its place in the whole site."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield f"docs/{path.relative_to(folder).as_posix()}", path.read_bytes()
