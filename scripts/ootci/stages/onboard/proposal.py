"""The changes of the registry that a pull request proposes, by device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ootci.adapters.git import ChangedFile
from ootci.model.device import BAD_RANGES, DEFAULT_FOLDER, KNOWN_FAILURES
from ootci.model.review import Change
from ootci.model.words import many

MOST_FILES = 20
"""Device files of one pull request that are reviewed."""

_DEVICE_FILE = re.compile(rf"{DEFAULT_FOLDER}/[^/]+\.ya?ml")
_OF_ALL = (DEFAULT_FOLDER / BAD_RANGES).as_posix()
_SCHEMA = f"{DEFAULT_FOLDER}/device.schema.json"


@dataclass(frozen=True)
class Proposed:
    """One device file.

    Attributes:
        path: the file, from the top of the repository.
        change: what is done to it.
        is_there: whether there is a file to be checked.
        notes: further remarks.

    """

    path: str
    change: Change
    is_there: bool = True
    notes: tuple[str, ...] = ()


def proposed_devices(changed: Iterable[ChangedFile], folder: Path) -> tuple[tuple[Proposed, ...], tuple[str, ...]]:
    """The proposed device files of a checkout, by path, and notes on other changes."""
    found: dict[str, Proposed] = {}
    brought: Counter[str] = Counter()
    notes: list[str] = []
    outside = 0
    for file in _plainly(changed):
        path = PurePosixPath(file.path)
        if path.parts[:1] != (DEFAULT_FOLDER.as_posix(),):
            outside += 1
        elif len(path.parts) == 1:
            notes.append(f"{DEFAULT_FOLDER} is to be a folder, so that there is no device any more.")
        elif _DEVICE_FILE.fullmatch(file.path):
            found[file.path] = _device_file(file, folder)
        elif file.path == _OF_ALL:
            found[file.path] = Proposed(file.path, Change.CHANGED, is_there=file.status != "D")
        elif file.path == _SCHEMA:
            notes.append(f"{_SCHEMA} is generated: it is written by `make schema`.")
        elif len(path.parts) == 2:
            notes.append(f"{file.path} is no device file, which ends in .yaml: nobody reads it.")
        else:
            owner = f"{DEFAULT_FOLDER}/{path.parts[1]}.yaml"
            is_list = len(path.parts) == 3 and path.name == KNOWN_FAILURES
            brought[owner] += not is_list
    if outside:
        notes.append(f"{many(outside, 'file')} outside of {DEFAULT_FOLDER}/ changed, too; nothing was looked at there.")
    for owner, count in brought.items():
        found[owner] = _with_folder(found.get(owner), owner, count, folder)
    listed = sorted(found.values(), key=lambda item: item.path)
    if len(listed) > MOST_FILES:
        notes.append(f"{many(len(listed) - MOST_FILES, 'file')} more changed than are looked at in one pull request.")
    return tuple(listed[:MOST_FILES]), tuple(notes[:MOST_FILES])


def _plainly(changed: Iterable[ChangedFile]) -> Iterator[ChangedFile]:
    """Keep renames from one device file to another; split any other rename into a removal and an addition."""
    for file in changed:
        became = file.before is not None and _DEVICE_FILE.fullmatch(file.before) and _DEVICE_FILE.fullmatch(file.path)
        if file.before is None or (became and file.status == "R"):
            yield file
            continue
        if file.status == "R":
            yield ChangedFile("D", file.before)
        yield ChangedFile("A", file.path)


def _device_file(file: ChangedFile, folder: Path) -> Proposed:
    name = PurePosixPath(file.path).stem
    if file.status == "D":
        rest = folder / DEFAULT_FOLDER / name
        left = (f"{DEFAULT_FOLDER}/{name}/ is still there.",) if rest.is_dir() else ()
        gone = f"The next nightly leaves {name} out and its row is gone; what was reported of it stays in the history."
        return Proposed(file.path, Change.REMOVED, is_there=False, notes=(gone, *left))
    if file.before is not None:
        old = PurePosixPath(file.before).stem
        return Proposed(
            file.path,
            Change.RENAMED,
            notes=(f"It was {file.before}: what was reported as {old} stays there, and {name} has no history yet.",),
        )
    return Proposed(file.path, Change.ADDED if file.status == "A" else Change.CHANGED)


def _with_folder(known: Proposed | None, owner: str, count: int, folder: Path) -> Proposed:
    """The change of a device with changed files in its folder, ``count`` of which are not its lists."""
    brings = f"{owner.removesuffix('.yaml')}/"
    files = many(count, "file")
    note = f"{files} below {brings} changed: sources of the plugin are not looked at, and nothing of them is run."
    notes = (note,) if count else ()
    if known is not None:
        return replace(known, notes=(*known.notes, *notes))
    if (folder / owner).is_file() and not (folder / DEFAULT_FOLDER).is_symlink():
        # A list is part of the device file.
        return Proposed(owner, Change.OTHER if count else Change.CHANGED, notes=notes)
    return Proposed(owner, Change.OTHER, is_there=False, notes=(*notes, f"{brings} belongs to no device file."))
