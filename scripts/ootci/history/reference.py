"""Names of runs on the command line, such as ``openreg@latest``.

A name is one of ``DEVICE@latest``, ``DEVICE@previous``, ``DEVICE@NIGHTLY``, ``DEVICE@NIGHTLY.ATTEMPT``, a run's id
(with ``.ATTEMPT``, if need be), and the path of a run.json. A nightly may be cut short where only one begins so.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from ootci.errors import NoSuchRun
from ootci.history.store import History
from ootci.model.device import name_of
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.words import did_you_mean, many

NAMED = 5
"""The most existing runs that an error lists."""
FORMS = "DEVICE@latest, DEVICE@previous, DEVICE@NIGHTLY[.ATTEMPT], a run's id, or the path of a run.json"


def find_run(history: History, name: str) -> Run:
    """The run of that name.

    Raises:
        NoSuchRun: there is none, or more than one; the error lists those that exist.
        StageFileMissing, StageFileInvalid, StageFileVersion: the file named cannot be read.
        HistoryCorrupt: a record of the history cannot be read back.

    """
    device, at, nightly = name.rpartition("@")
    if name.endswith(".json") or ("/" in name and not device.endswith((".yaml", ".yml"))):
        return read(Run, Path(name))
    if at:
        device = name_of(device)
    else:
        device, nightly = _of_id(history, name)
    if device not in history.devices():
        raise _no_device(history, name, device)
    if nightly in ("latest", "previous"):
        return _counted_back(history, name, device, 0 if nightly == "latest" else 1)
    return _of_nightly(history, name, device, nightly)


def _of_id(history: History, name: str) -> tuple[str, str]:
    """Device and nightly of a run's id, which is the plan's id, a hyphen and the device's name."""
    run_id, dot, attempt = name.rpartition(".") if "." in name else (name, "", "")
    for device in history.devices():
        if run_id.endswith(f"-{device}"):
            return device, run_id.removesuffix(f"-{device}") + dot + attempt
    raise NoSuchRun(f"`{name}` names no run", where=str(history.folder), fix=f"write {FORMS}{_known(history)}")


def _known(history: History) -> str:
    names = ", ".join(history.devices())
    return f"; devices with runs: {names}" if names else "; the history is empty: `ootci history fetch` gets one"


def _no_device(history: History, name: str, device: str) -> NoSuchRun:
    hint = did_you_mean(device, history.devices())
    return NoSuchRun(
        f"`{name}`: no run of a device `{device}` is in the history",
        where=str(history.folder),
        fix=f"{hint}write {FORMS}{_known(history)}",
    )


def _counted_back(history: History, name: str, device: str, nights: int) -> Run:
    """The last attempt of the newest nightly, or of one before it."""
    found = tuple(history.attempts_by_nightly(device))
    if len(found) > nights:
        return history.whole(found[nights][0])
    raise NoSuchRun(
        f"`{name}`: the device has reported on {many(len(found), 'nightly', 'nightlies')} only",
        where=str(history.folder),
        fix=f"name another run: {device}@{found[0][0].head.plan_id}" if found else "run a nightly first",
    )


def _of_nightly(history: History, name: str, device: str, nightly: str) -> Run:
    wanted, dot, attempt = nightly.partition(".")
    nights = {attempts[0].head.plan_id: attempts for attempts in history.attempts_by_nightly(device)}
    fitting = [wanted] if wanted in nights else [night for night in nights if wanted and night.startswith(wanted)]
    if len(fitting) > 1:
        several = ", ".join(f"{device}@{night}" for night in fitting[:NAMED])
        raise NoSuchRun(
            f"`{name}` fits {len(fitting)} nightlies", where=str(history.folder), fix=f"write more of it: {several}"
        )
    attempts = nights[fitting[0]] if fitting else ()
    chosen = next((run for run in attempts if not dot or str(run.head.attempt) == attempt), None)
    if chosen is None:
        raise _no_run(history, name, device, nightly, list(nights), [run.head for run in attempts])
    return history.whole(chosen)


def _no_run(
    history: History, name: str, device: str, nightly: str, nights: list[str], attempts: list[Run]
) -> NoSuchRun:
    if attempts:
        there = ", ".join(f"{device}@{run.plan_id}.{run.attempt}" for run in attempts[:NAMED])
        what = f"`{name}`: the nightly has no such attempt"
    else:
        near = difflib.get_close_matches(nightly, nights, n=NAMED, cutoff=0.7) or nights[:NAMED]
        there = ", ".join(f"{device}@{night}" for night in near)
        what = f"`{name}`: the device has no run of such a nightly, of {len(nights)} that it has"
    return NoSuchRun(what, where=str(history.folder), fix=f"name one that is there, such as {there}")
