"""The folder that becomes a site: begun with the site before last, most of which is still the same, or with nothing.

Folders and links for thousands of pages, made and removed every night, would take longer than making what has changed.
So the site before last is not removed but kept beside the site, and becomes the next one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from .reuse import MADE_FROM, Batch, Kept, Made, Reusable, made_of

_NO_FILE = -1
"""The size of what is neither a file nor a folder."""


def spare_of(site: Path) -> Path:
    """Where the site before last is kept."""
    return site.with_name(f".{site.name}.spare")


def is_site(folder: Path) -> bool:
    """Whether it is a site that was rendered before, so that it may be replaced."""
    return folder.is_dir() and not folder.is_symlink() and (folder / "verdicts.json").is_file()


class Tree:
    """A folder to which the files of a site are given one by one. Nothing is ever written into a file that is there.

    Args:
        top: the folder.
        kept: the files of the site that may be taken over.
        begun: what is in the folder from the beginning.

    """

    def __init__(self, top: Path, kept: Kept, begun: Made) -> None:
        self._top = top
        self._kept = kept
        self._begun = begun
        self._unused = set(begun.sizes())
        self._folders = folders_of(self._unused)
        self._lasting: dict[str, tuple[str, int]] = {}
        self._others: dict[str, int] = {}
        self._batches: dict[str, str] = {}
        top.mkdir(parents=True, exist_ok=True)

    def take(self, file: Reusable) -> bool:
        """Take a file over where it is still the same; otherwise it is to be written."""
        name = file.path
        key, size = self._begun.lasting.get(name, (None, 0))
        if key == file.key and name in self._unused:
            self._unused.remove(name)
        else:
            found = self._kept.take(file, self._place(name))
            if found is None:
                return False
            size = found
        self._lasting[name] = file.key, size
        return True

    def take_all(self, batch: Batch) -> bool:
        """Take all files of a batch over where all are still the same; otherwise they are to be given one by one."""
        self._batches[batch.name] = batch.key
        if self._begun.batches.get(batch.name) != batch.key or not self._unused.issuperset(batch.paths):
            return False
        if not self._begun.lasting.keys() >= set(batch.paths):
            return False  # somebody else wrote that
        self._unused.difference_update(batch.paths)
        self._lasting.update((path, self._begun.lasting[path]) for path in batch.paths)
        return True

    def write(self, name: str, content: bytes, key: str | None) -> None:
        """Write a file; with a key it may be taken over by the next site."""
        # Never into a file that is there: it could be a link to one of the site.
        with Path(self._place(name)).open("xb") as stream:
            size = stream.write(content)
        if key is None:
            self._others[name] = size
        else:
            self._lasting[name] = key, size

    def finish(self) -> None:
        """Remove what is of the site before last only, and write down what all was made from."""
        for name in self._unused:
            (self._top / name).unlink()
        for folder in sorted(folders_of(self._unused), reverse=True):
            with contextlib.suppress(OSError):  # where other files are still in it
                (self._top / folder).rmdir()
        said = self._top / MADE_FROM
        said.unlink(missing_ok=True)
        if self._lasting:
            said.write_bytes(Made(self._lasting, self._others, self._batches).to_json())

    def _place(self, name: str) -> str:
        """Make room for a file: nothing is there afterwards but the folder that it belongs into."""
        # As text: there are thousands of files, each of which costs less than its paths would.
        path = f"{self._top}/{name}"
        if name in self._unused:
            Path(path).unlink()
            self._unused.remove(name)
        elif name in self._folders:
            shutil.rmtree(path)
            self._unused -= {other for other in self._unused if other.startswith(f"{name}/")}
            self._folders -= {other for other in self._folders if f"{other}/".startswith(f"{name}/")}
        folder = name.rpartition("/")[0]
        if folder not in self._folders:
            for above in _above(name):
                self._make(above)
        return path

    def _make(self, folder: str) -> None:
        if folder in self._folders:
            return
        if folder in self._unused:
            (self._top / folder).unlink()
            self._unused.remove(folder)
        (self._top / folder).mkdir()
        self._folders.add(folder)


def claimed(site: Path, top: Path) -> Made:
    """Give the site before last another name, under which it can be changed, and say what is in it.

    Whoever renames it has it for himself, and what is broken off later is never taken for whole. Where there is none,
    or one that is not exactly as it was left, nothing is there afterwards.
    """
    spare = spare_of(site)
    if not is_site(spare):
        return Made()
    with contextlib.suppress(OSError):
        spare.rename(top)
        made = made_of(top)
        sizes = made.sizes()
        if _found_in(top) == (sizes, folders_of(sizes)):
            return made
    shutil.rmtree(top, ignore_errors=True)
    return Made()


def keep(old: Path | None, site: Path) -> None:
    """Keep what was the site until now for the rendering after next; None for nothing, as after all was made anew."""
    spare = spare_of(site)
    with contextlib.suppress(OSError):
        if is_site(spare):
            shutil.rmtree(spare)
        if old is not None and (old / MADE_FROM).is_file():
            old.rename(spare)


def folders_of(names: Iterable[str]) -> set[str]:
    """Every folder that files lie in, the top as an empty name."""
    found = {""}
    for name in names:
        folder = name.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _above(name: str) -> Iterator[str]:
    """The folders that a file lies in, from the top, without the top."""
    end = name.find("/")
    while end >= 0:
        yield name[:end]
        end = name.find("/", end + 1)


def _found_in(top: Path) -> tuple[dict[str, int], set[str]]:
    """The size of every file, and every folder; links are not followed."""
    sizes: dict[str, int] = {}
    folders = [""]
    for folder in folders:
        with os.scandir(f"{top}/{folder}") as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry.is_file(follow_symlinks=False):
                    sizes[name] = entry.stat(follow_symlinks=False).st_size
                else:
                    sizes[name] = _NO_FILE
    sizes.pop(MADE_FROM, None)
    return sizes, set(folders)
