"""The option ``--shard``: one share of a run's tests, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator

from ootci.adapters.folder_lock import locked
from ootci.errors import BadOption
from ootci.model.durations import Durations
from ootci.model.record import read, write_atomic
from ootci.model.workspace import RunFolder, Shard, Workspace


def share_of(workspace: Workspace, device: str, text: str | None) -> tuple[RunFolder, tuple[str, ...]]:
    """Where the files of a share lie, and the options of the suites that choose it; without a text, all tests.

    What is left there of shares that do not belong to this one is removed.

    Raises:
        BadOption: the text is not one such as ``1/4``.

    """
    folder, shard = workspace.run(device), _shard(text)
    for found in folder.shards_found():
        if shard is None or found.count != shard.count:
            shutil.rmtree(folder.shard(found).path)
    if shard is None:
        return folder, ()
    mine = folder.shard(shard)
    known = read(Durations, workspace.durations).devices if workspace.durations.exists() else {}
    seconds = mine.path / "seconds.json"
    write_atomic(seconds, json.dumps(known.get(device, {})).encode())
    return mine, (f"--shard={shard.index}/{shard.count}", f"--durations-from={seconds}")


@contextlib.contextmanager
def locked_run(workspace: Workspace, device: str, text: str | None = None) -> Iterator[None]:
    """Keep others from a device's run, or from one share of it.

    Runs of several devices, and shares of one run, may go on in one work folder at once; nobody builds there meanwhile.

    Raises:
        BadOption: the text is not a share such as ``1/4``.
        Busy: another process works there.

    """
    folder, shard = workspace.run(device), _shard(text)
    with contextlib.ExitStack() as locks:
        locks.enter_context(locked(workspace.path, shared=True))
        locks.enter_context(locked(folder.path, shared=shard is not None))
        if shard is not None:
            locks.enter_context(locked(folder.shard(shard).path))
        yield


def _shard(text: str | None) -> Shard | None:
    if text is None:
        return None
    match = re.fullmatch(r"([1-9]\d{0,2})/([1-9]\d{0,2})", text)
    if match is None or int(match[1]) > int(match[2]):
        raise BadOption("there is no such share", where=f"--shard {text}", fix="write I/N, such as 1/4")
    return Shard(int(match[1]), int(match[2]))
