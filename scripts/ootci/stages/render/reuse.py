"""Files of a site that need not be made again, because nothing that they are made from has changed.

Such a file has a key: a digest of everything that it is made from, the templates and this program included. A site
carries the keys of its files in ``.made-from.json``, and the next one takes over each file whose key is still the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

MADE_FROM = ".made-from.json"
"""Its name begins with a dot so that GitHub Pages leaves it out."""
_FORMAT = {"format": "ootci-site", "version": 2}
_MAX_BYTES = 256 * 1024 * 1024
_LIBRARIES = ("jinja2", "markupsafe", "pydantic")


@dataclass(frozen=True)
class Reusable:
    """A file that is made only where the site of before has none of the same key.

    Attributes:
        path: where it lies, from the top.
        key: a digest of everything that it is made from, see :func:`digest`.
        make: makes its content.

    """

    path: str
    key: str
    make: Callable[[], bytes]


@dataclass(frozen=True)
class Batch:
    """Files that are all the same as long as one key is, so that they need not be looked at one by one.

    Attributes:
        name: tells it from other batches.
        key: a digest of everything that any of them is made from.
        paths: where they lie, from the top.
        files: the same files one by one.

    """

    name: str
    key: str
    paths: Sequence[str]
    files: Callable[[], Iterable[Reusable]]


File = tuple[str, bytes] | Reusable
"""A file of a site: its path and its content, or one that may be taken over."""
Files = File | Batch


def paths_of(files: Files) -> Sequence[str]:
    """Where they lie, from the top."""
    if isinstance(files, Batch):
        return files.paths
    return (files.path if isinstance(files, Reusable) else files[0],)


def digest(*parts: str | bytes) -> str:
    """A digest of parts in their order, each with its length, so that no two lists of parts look alike."""
    whole = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(b"%d:" % len(content))
        whole.update(content)
    return whole.hexdigest()[:40]


def makers_digest(templates: Path) -> str:
    """A digest of what makes pages: the templates, every module of this program, and what they are run with."""
    package = Path(__file__).parents[2]
    parts: list[str | bytes] = [sys.version, *(version(name) for name in _LIBRARIES)]
    for folder, pattern in ((package, "*.py"), (templates, "*")):
        for path in sorted(folder.rglob(pattern)):
            if path.is_file():
                parts += [path.relative_to(folder).as_posix(), path.read_bytes()]
    return digest(*parts)


@dataclass(frozen=True)
class Made:
    """What a site says of its files.

    Attributes:
        lasting: those that may be taken over: by path, key and size.
        others: the size of each of the others.
        batches: the key of each batch.

    """

    lasting: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    others: Mapping[str, int] = field(default_factory=dict)
    batches: Mapping[str, str] = field(default_factory=dict)

    def sizes(self) -> dict[str, int]:
        """The size of each file, but for the one that says so."""
        return {**{path: size for path, (_, size) in self.lasting.items()}, **self.others}

    def to_json(self) -> bytes:
        """What a site says, as text."""
        found = {"files": self.lasting, "others": self.others, "batches": self.batches}
        return json.dumps({**_FORMAT, **found}, sort_keys=True, separators=(",", ":")).encode("utf-8") + b"\n"


class Kept:
    """The files of a site that may be taken over; none where it does not say what they were made from.

    Args:
        site: the site; None, or one of another version, has no such files.

    """

    def __init__(self, site: Path | None) -> None:
        self._site = site
        self._files = made_of(site).lasting if site is not None else {}

    @property
    def is_none(self) -> bool:
        """Whether everything is to be made, whatever there is."""
        return self._site is None

    def read(self, path: str) -> bytes | None:
        """What a file of it holds; None where there is none."""
        with contextlib.suppress(OSError):
            return (self._site / path).read_bytes() if self._site is not None else None
        return None

    def take(self, file: Reusable, target: str) -> int | None:
        """Put a file that is still the same into its place, unread; returns its size, None where it must be made.

        A file that is missing, or of another size than was written, is not taken.
        """
        key, size = self._files.get(file.path, (None, 0))
        if self._site is None or key != file.key:
            return None
        # Not moved but linked: the site of before stays whole until the new one takes its place.
        with contextlib.suppress(OSError):
            source = f"{self._site}/{file.path}"
            found = os.lstat(source)
            if stat.S_ISREG(found.st_mode) and found.st_size == size:
                os.link(source, target)
                return size
        return None


def made_of(site: Path) -> Made:
    """What a site says of its files; nothing where this program did not write it."""
    try:
        with (site / MADE_FROM).open("rb") as stream:
            found: Any = json.loads(stream.read(_MAX_BYTES))
        if {name: found[name] for name in _FORMAT} != _FORMAT:
            return Made()
        lasting = {str(name): (str(key), int(size)) for name, (key, size) in found["files"].items()}
        others = {str(name): int(size) for name, size in found["others"].items()}
        return Made(lasting, others, {str(name): str(key) for name, key in found["batches"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        # It was not written by this program, and so nothing is known of the files beside it.
        return Made()
