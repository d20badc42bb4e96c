"""Putting a whole site in place so that a reader never sees a half of it."""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ootci.errors import HostFailure

from .reuse import MADE_FROM, File, Kept, Reusable, made_from


@dataclass(frozen=True)
class Published:
    """How many files of a site were made, and how many were taken over from the site of before."""

    made: int
    taken_over: int


def publish(files: Iterable[File], site: Path, kept: Kept | None = None) -> Published:
    """Replace a site by the given files.

    The new tree is written beside the old one and takes its place by renaming, so that a failure half-way leaves the
    old site as it was.

    Args:
        files: the files, made one by one; their paths are relative to the site, with ``/`` between folders.
        site: the site's folder; what is in it and not among the files is gone afterwards.
        kept: the files of the site of before that may be taken over; None for all that it has.

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
        with _nothing_collected():
            published = _write(files, fresh, Kept(site) if kept is None else kept)
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
    return published


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Without looking for garbage in cycles: there is next to none, and each look takes longer with more history."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _write(files: Iterable[File], fresh: Path, kept: Kept) -> Published:
    sources: dict[str, tuple[str, int]] = {}
    folders: set[str] = set()
    made = taken_over = 0
    for file in files:
        name = file.path if isinstance(file, Reusable) else file[0]
        # Thousands of files are taken over, each of which costs less than its paths would.
        path = f"{fresh}/{name}"
        folder = path.rpartition("/")[0]
        if folder not in folders:
            Path(folder).mkdir(parents=True, exist_ok=True)
            folders.add(folder)
        size = kept.take(file, path) if isinstance(file, Reusable) else None
        if size is None:
            content = file.make() if isinstance(file, Reusable) else file[1]
            # Never into a file that is there: it could be a link to one of the site of before.
            with Path(path).open("xb") as stream:
                size = stream.write(content)
            made += 1
        else:
            taken_over += 1
        if isinstance(file, Reusable):
            sources[name] = file.key, size
    if sources:
        (fresh / MADE_FROM).write_bytes(made_from(sources))
    return Published(made, taken_over)


def _is_ours(site: Path) -> bool:
    """Whether the folder may be replaced: it is empty, or a site that was rendered before."""
    return site.is_dir() and not site.is_symlink() and (not any(site.iterdir()) or (site / "verdicts.json").is_file())
