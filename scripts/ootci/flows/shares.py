"""One share of a run's tests (``--shard``), and shares that other machines ran (``--shares``)."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ootci.adapters.folder_lock import locked
from ootci.errors import BadOption, OotciError
from ootci.flows.context import Folders, attempt_number, clock
from ootci.model.build import Build, StageStatus
from ootci.model.device import find_device
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.workspace import RunFolder, Shard, Workspace
from ootci.stages.collect import collect_share


def share_of(workspace: Workspace, device: str, text: str | None) -> tuple[RunFolder, tuple[str, ...]]:
    """The folder of a share, and the options of the suites that select it; without a text, all tests.

    Files of shares of another count are removed.

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
    mine.path.mkdir(parents=True, exist_ok=True)
    if folder.build.exists():
        # An uploaded share contains its build.json.
        shutil.copyfile(folder.build, mine.build)
    return mine, (f"--shard={shard.index}/{shard.count}",)


@contextlib.contextmanager
def locked_run(workspace: Workspace, device: str, text: str | None = None) -> Iterator[None]:
    """Keep others from a device's run, or from one share of it.

    Runs of several devices, and shares of one run, may run in one work folder at once; no build runs there meanwhile.

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


KEPT = ("build.json", "env.json", "events.jsonl")
"""The files of a share that are copied; any other file is ignored."""


def take_shares(downloaded: Path, workspace: Workspace, device: str) -> tuple[Shard, ...]:
    """Put the shares that other machines ran where `collect` looks for them, and return those that were found.

    Each is an artifact, in a folder whose name ends with the share and the attempt, such as ``share-dev=2-of-3-1``; of
    each share the newest attempt is taken. The run's build is that of the first share whose build did not pass, because
    there is no run without it, else that of the first.

    Args:
        downloaded: folder of the artifacts. They come from jobs that ran vendor code, so only plain files whose names
            are known are copied.

    """
    newest: dict[Shard, tuple[int, Path]] = {}
    for path in downloaded.glob("share-*"):
        if match := re.search(r"=([1-9]\d{0,2})-of-([1-9]\d{0,2})-(\d{1,9})$", path.name):
            shard = Shard(int(match[1]), int(match[2]))
            newest[shard] = max(newest.get(shard, (0, path)), (int(match[3]), path))
    folder = workspace.run(device)
    shutil.rmtree(folder.path, ignore_errors=True)
    found = tuple(sorted(newest, key=lambda shard: shard.index))
    for shard in found:
        source, target = RunFolder(newest[shard][1]).shard(shard), folder.shard(shard)
        _copy([source.path / name for name in KEPT], target.path)
        _copy(sorted(source.logs.glob("*.log")), target.logs)
        _copy(sorted((newest[shard][1] / "logs").glob("*.log")), folder.logs)
    builds = [folder.shard(shard).build for shard in found if folder.shard(shard).build.exists()]
    for path in (path for path in builds if path == builds[0] or _is_broken(path)):
        shutil.copyfile(path, folder.build)
        if _is_broken(path):
            break
    return found


def share_alone(folders: Folders, plan: Plan, device: str, text: str) -> tuple[Plan, Run]:
    """The run of a device as one share knows it, and the plan with the suites that this share runs.

    Raises:
        BadOption: the text is not a share such as ``1/4``.
        StageFileMissing, StageFileInvalid, StageFileVersion: there is no build.json of this plan.

    """
    item, shard = find_device(folders.registry(), device).device, _given(text)
    return collect_share(item, plan, folders.workspace.run(device), shard, now=clock(), attempt=attempt_number())


def _copy(files: list[Path], target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in files:
        if path.is_file() and not path.is_symlink():
            shutil.copyfile(path, target / path.name)


def _is_broken(path: Path) -> bool:
    try:
        return any(stage.status is not StageStatus.PASSED for stage in read(Build, path).stages)
    except OotciError:
        return True


def _shard(text: str | None) -> Shard | None:
    return None if text is None else _given(text)


def _given(text: str) -> Shard:
    match = re.fullmatch(r"([1-9]\d{0,2})/([1-9]\d{0,2})", text)
    if match is None or int(match[1]) > int(match[2]):
        raise BadOption("there is no such share", where=f"--shard {text}", fix="write I/N, such as 1/4")
    return Shard(int(match[1]), int(match[2]))
