"""The checks of one device file that need no network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ootci.errors import (
    DeviceFileInvalid,
    DeviceFileMisnamed,
    DeviceFileTooLarge,
    DeviceFileUnreadable,
    OotciError,
)
from ootci.model.device import (
    KNOWN_FAILURES,
    DeviceFile,
    RegisteredDevice,
    checkout_of,
    read_device,
    require_name,
    with_lists,
)
from ootci.model.relay import RELAY_MINUTES
from ootci.model.review import MOST, CheckResult, CheckState, Problem

HOSTED = re.compile(r"(ubuntu|windows|macos)-(latest|\d[\w.-]*)")
"""Labels of GitHub's own machines. Source: GitHub's documentation, "GitHub-hosted runners reference"."""
HOSTED_MINUTES = 360
"""A job on one of GitHub's own machines is ended after six hours. Source: GitHub's documentation, "Actions limits"."""

_SECRET_NAME = re.compile(
    r"(^|_)(TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIALS?|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(_|$)", re.I
)
_SECRET_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s@]*:[^/\s@]+@", re.I)


@dataclass(frozen=True)
class Checked:
    """A file and the results of its checks.

    Attributes:
        file: its content; None where it cannot be read.
        registered: the device with the lists of its folder; None where that is not good enough to be registered.

    """

    path: Path
    results: tuple[CheckResult, ...]
    file: DeviceFile | None = None
    registered: RegisteredDevice | None = None

    @property
    def is_named_right(self) -> bool:
        """Whether the file has the name of its device."""
        return any(item.check == _NAME and item.state is CheckState.PASSED for item in self.results)


_Look = Callable[[DeviceFile, date], Iterator[Problem]]


def check_file(path: Path, today: date) -> Checked:
    """Make every check of a device file as far as possible, those after a failed one too; entries expire by today."""
    results: list[CheckResult] = []
    try:
        require_no_link(path)
        file = read_device(path)
    except OotciError as error:
        failed = _READING.index(_name_of(error))
        results = [CheckResult(check=name, state=CheckState.PASSED) for name in _READING[:failed]]
        results.append(failed_by(_READING[failed], error))
        left = CHECKS[failed + 1 :]
        return Checked(path, (*results, *(CheckResult(check=name, state=CheckState.NOT_MADE) for name in left)))
    results = [CheckResult(check=name, state=CheckState.PASSED) for name in _READING]
    registered = None
    try:
        require_name(file)
        results.append(CheckResult(check=_NAME, state=CheckState.PASSED))
    except DeviceFileMisnamed as error:
        results.append(failed_by(_NAME, error))
    try:
        for name in ("", KNOWN_FAILURES):
            require_no_link(path.parent / file.device.name / name)
        registered = with_lists(file)
        results.append(CheckResult(check=_LISTS, state=CheckState.PASSED))
    except OotciError as error:
        results.append(failed_by(_LISTS, error))
    known = registered.device if registered else file.device
    whole = DeviceFile(path, known, file.line_of)
    results += [result_of(name, look(whole, today)) for name, look in _LOOKS.items()]
    return Checked(path, tuple(results), whole, registered)


def require_no_link(path: Path) -> None:
    """Refuse a symbolic link in the place of a file.

    Raises:
        DeviceFileUnreadable: it is one.

    """
    if path.is_symlink():
        raise DeviceFileUnreadable(
            "it is a symbolic link, which leads elsewhere on another machine",
            where=path.as_posix(),
            fix="put the file itself there",
        )


def _name_of(error: OotciError) -> str:
    if isinstance(error, (DeviceFileUnreadable, DeviceFileTooLarge)):
        return _READING[0]
    return _READING[2] if isinstance(error, DeviceFileInvalid) else _READING[1]


def failed_by(name: str, error: OotciError) -> CheckResult:
    """The result of a check that failed with an error, and with its others."""
    errors = (error, *error.others)[:MOST]
    found = (Problem.told(one.alone, one.where, one.fix).model_copy(update={"error": one.id}) for one in errors)
    return CheckResult(check=name, state=CheckState.FAILED, problems=tuple(found))


def result_of(name: str, problems: Iterable[Problem]) -> CheckResult:
    """The result of a check that found these problems."""
    found = sorted(problems, key=lambda item: item.state is not CheckState.FAILED)
    return CheckResult(check=name, state=found[0].state if found else CheckState.PASSED, problems=tuple(found[:MOST]))


def _plugin(file: DeviceFile, _: date) -> Iterator[Problem]:
    path = file.device.plugin.path
    if path is None:
        return
    folder = file.path.parent / path
    where = file.place("plugin", "path")
    if not folder.is_dir():
        yield Problem.told(
            f"there is no folder {folder.as_posix()}, from which the plugin is to be built",
            where,
            "put the plugin's Python project there, or say with `plugin.git` or `plugin.package` where it is",
        )
    elif not folder.resolve().is_relative_to(checkout_of(file.path)):
        yield Problem.told(
            f"{folder.as_posix()} leads out of the checkout", where, "put the plugin's sources themselves there"
        )
    elif not any((folder / name).is_file() for name in ("pyproject.toml", "setup.py")):
        yield Problem.told(
            f"{folder.as_posix()} is no Python project: it has neither pyproject.toml nor setup.py",
            where,
            "name the folder that has one of them",
        )


def _limits(file: DeviceFile, _: date) -> Iterator[Problem]:
    limits, build = file.device.limits, file.device.build
    if limits.suite_minutes > limits.job_minutes:
        yield Problem.told(
            f"a suite may take {limits.suite_minutes} minutes and the whole job {limits.job_minutes}, so that a suite "
            "that hangs would end the job before anything is reported",
            file.place("limits"),
            "give `limits.job_minutes` more than `limits.suite_minutes`",
        )
    if build.timeout_minutes > limits.job_minutes:
        yield Problem.told(
            f"building may take {build.timeout_minutes} minutes and the whole job {limits.job_minutes}, so that a "
            "build that hangs would end the job before anything is reported",
            file.place("limits"),
            "give `limits.job_minutes` more than `build.timeout_minutes`",
        )
    labels = file.device.runner.labels
    if limits.job_minutes > HOSTED_MINUTES and len(labels) == 1 and HOSTED.fullmatch(labels[0]):
        yield Problem.told(
            f"GitHub ends a job on its machine {labels[0]} after {HOSTED_MINUTES} minutes, and this one may take "
            f"{limits.job_minutes}",
            file.place("limits", "job_minutes"),
            f"let `limits.job_minutes` be at most {HOSTED_MINUTES}, or run on a machine of your own",
        )
    elif file.device.minutes > RELAY_MINUTES and file.device.pull_requests:
        yield Problem.told(
            f"PyTorch's relay reports a run as timed out after {RELAY_MINUTES} minutes and takes no result after that, "
            f"and this one may take {file.device.minutes}",
            file.place("limits", "job_minutes"),
            f"let `limits.job_minutes` (with `build.timeout_minutes`, for a build in a job of its own) be at most "
            f"{RELAY_MINUTES}, or leave out `pull_requests`",
        )


def _secrets(file: DeviceFile, _: date) -> Iterator[Problem]:
    device = file.device
    fix = "take it out, and make it invalid if it was real: whatever was in a public file is known"
    for group, values in (("environment", device.environment), ("build", device.build.environment)):
        for name, value in values.items():
            keys = (group, name) if group == "environment" else (group, "environment", name)
            if value and (_SECRET_NAME.search(name) or _SECRET_ADDRESS.search(value)):
                what = f"the variable {name} looks like a secret, and this file is public"
                yield Problem.told(what, file.place(*keys), fix)
    addresses = (
        (("plugin", "git", "url"), device.plugin.git.url if device.plugin.git else None),
        (("plugin", "index_url"), device.plugin.index_url),
        (("plugin", "package"), device.plugin.package),
        *((("links", key), getattr(device.links, key)) for key in type(device.links).model_fields),
    )
    for place, address in addresses:
        if address and _SECRET_ADDRESS.search(address):
            where = file.place(*place)
            yield Problem.told(f"`{'.'.join(place)}` holds a password, and this file is public", where, fix)


def _known_failures(file: DeviceFile, today: date) -> Iterator[Problem]:
    for entry in file.device.known_failures:
        if entry.expired(today):
            yield Problem.told(
                f"the known failure {entry.id} expired on {entry.expires}, so that its tests are failures again",
                file.place("known_failures"),
                "look whether they still fail: give the entry another day, or take it out",
                CheckState.WARNING,
            )


_READING = ("file", "syntax", "keys")
_NAME, _LISTS = "name", "lists in its folder"
_LOOKS: dict[str, _Look] = {
    "plugin": _plugin,
    "time-outs": _limits,
    "no secrets": _secrets,
    "known failures": _known_failures,
}
CHECKS = (*_READING, _NAME, _LISTS, *_LOOKS)
"""Names of the checks of every device file, in order."""
