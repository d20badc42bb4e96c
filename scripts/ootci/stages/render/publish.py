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

from .reuse import Batch, Files, Kept, Made, Reusable
from .tree import Tree, claimed, is_site, keep

_SWEPT = 250
"""After so many files that were made, garbage is looked for; an update makes fewer."""


@dataclass(frozen=True)
class Published:
    """How many files of a site were made, and how many were taken over from the site of before."""

    made: int
    taken_over: int


def publish(files: Iterable[Files], site: Path, kept: Kept | None = None) -> Published:
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
    kept = Kept(site) if kept is None else kept
    mark = secrets.token_hex(4)
    fresh, old = site.with_name(f".{site.name}.{mark}.new"), site.with_name(f".{site.name}.{mark}.old")
    try:
        with _nothing_collected():
            begun = Made() if kept.is_none else claimed(site, fresh)
            published = _write(files, Tree(fresh, kept, begun))
        if site.exists():
            site.rename(old)
        fresh.rename(site)
        keep(None if kept.is_none else old, site)
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


def _write(files: Iterable[Files], tree: Tree) -> Published:
    made = taken_over = 0
    for given in files:
        if isinstance(given, Batch) and tree.take_all(given):
            taken_over += len(given.paths)
            continue
        for file in given.files() if isinstance(given, Batch) else (given,):
            if not isinstance(file, Reusable):
                tree.write(*file, key=None)
            elif tree.take(file):
                taken_over += 1
                continue
            else:
                tree.write(file.path, file.make(), file.key)
            made += 1
            if made % _SWEPT == 0:
                # Of what is new only: a page that was made leaves some behind, and thousands of them much.
                gc.collect(1)
    tree.finish()
    return Published(made, taken_over)


def _is_ours(site: Path) -> bool:
    """Whether the folder may be replaced: it is empty, or a site that was rendered before."""
    return is_site(site) or (site.is_dir() and not site.is_symlink() and not any(site.iterdir()))
