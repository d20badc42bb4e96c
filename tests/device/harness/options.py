"""The command line of the suites."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.capabilities import CAPABILITIES


@dataclass(frozen=True)
class Options:
    """What was requested.

    Attributes:
        device: the name in ``torch.device(name)``.
        capabilities: run tests of these only; all when empty.
        events: the file to which events are appended.
        stacks: the file to which stacks are dumped.
        ids: run exactly these; all when None.
        min_tests: fewer tests than this are an error.
        stand_by: the descriptor on which the ids to run arrive once everything is collected; None to run at once.
        attempt: which attempt of the tests this is.

    """

    device: str
    capabilities: tuple[str, ...]
    events: Path | None
    stacks: Path | None
    ids: tuple[str, ...] | None
    min_tests: int
    stand_by: int | None = None
    attempt: int = 1


def usage_error(what: str, where: str, remedy: str) -> pytest.UsageError:
    """An error in the three parts that every error of this project has: what, where, what to do."""
    return pytest.UsageError(f"{what}\n  where: {where}\n  what to do: {remedy}")


def add_options(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("device suites")
    group.addoption("--device", metavar="NAME", help="the device under test, as in torch.device(NAME); required")
    group.addoption(
        "--capability",
        metavar="ID",
        action="append",
        default=[],
        help="run the tests of this capability only; may be given more than once",
    )
    group.addoption("--events", metavar="FILE", type=Path, help="append what happens to FILE, one JSON object a line")
    group.addoption(
        "--stack-file",
        metavar="FILE",
        type=Path,
        help="dump the stacks of all threads to FILE on a fatal signal and on SIGUSR1 (use with -p no:faulthandler)",
    )
    group.addoption("--ids-from", metavar="FILE", type=Path, help="run exactly the test ids in FILE, one a line")
    group.addoption(
        "--id", metavar="ID", action="append", default=[], help="run exactly this test; may be given more than once"
    )
    _add_upstream_options(group)
    group.addoption(
        "--stand-by",
        metavar="FD",
        type=int,
        help="for a process that may be needed later: import and collect, then wait until test ids arrive on the "
        "descriptor FD, one a line, and run exactly these; without any, end",
    )
    group.addoption(
        "--attempt", metavar="N", type=int, default=1, help="which attempt of the tests this is, for the log"
    )
    group.addoption(
        "--ops-dtypes",
        metavar="NAMES",
        default="float32",
        help="the dtypes of the suite ops: 'all', or names with commas between them (float32); tests that are named, "
        "on the command line or by --ids-from, are run in any dtype",
    )
    group.addoption("--min-tests", metavar="N", type=int, default=0, help="fewer tests than N are an error")


def _add_upstream_options(group: pytest.OptionGroup) -> None:
    """Declare those of the suite ``upstream``."""
    group.addoption(
        "--upstream-tests", metavar="DIR", type=Path, help="PyTorch's folder `test`, for the suite upstream"
    )
    group.addoption(
        "--upstream-files",
        metavar="A,B",
        help="collect these of PyTorch's test files only, relative to its folder `test`; all when absent",
    )
    group.addoption(
        "--upstream-skip", metavar="A,B", help="leave these of PyTorch's test files out, such as ones that crash Python"
    )
    group.addoption(
        "--upstream-config",
        metavar="FILE",
        type=Path,
        help="what the device declares to PyTorch's tests, a JSON object with `operators`, `exclusions` and "
        "`bypass_device_restrictions`",
    )
    group.addoption(
        "--upstream-declared",
        action="store_true",
        help="run only those of PyTorch's tests that are not made because of `operators` and `exclusions`",
    )
    group.addoption(
        "--upstream-commit",
        metavar="HASH",
        help="the commit of the checkout: the one that torch was built from unless given, 'any' for any",
    )


def read_options(config: pytest.Config) -> Options:
    """Check the options.

    Raises:
        pytest.UsageError: one is missing or wrong.

    """
    device = config.getoption("--device")
    if not device:
        raise usage_error(
            "no device was named",
            "the option --device",
            "add --device NAME, the name in torch.device(NAME); --device cpu is the control run",
        )
    capabilities = tuple(config.getoption("--capability"))
    unknown = sorted(set(capabilities) - set(CAPABILITIES))
    if unknown:
        raise usage_error(
            f"no such capability: {', '.join(unknown)}",
            "the option --capability",
            f"use one of: {', '.join(CAPABILITIES)}",
        )
    return Options(
        device=device,
        capabilities=capabilities,
        events=config.getoption("--events"),
        stacks=config.getoption("--stack-file"),
        ids=_ids(config),
        min_tests=config.getoption("--min-tests"),
        stand_by=config.getoption("--stand-by"),
        attempt=config.getoption("--attempt"),
    )


def _ids(config: pytest.Config) -> tuple[str, ...] | None:
    listed, named = _read_ids(config.getoption("--ids-from")), tuple(config.getoption("--id"))
    return None if listed is None and not named else (*(listed or ()), *named)


def _read_ids(path: Path | None) -> tuple[str, ...] | None:
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise usage_error(
            f"the test ids cannot be read: {error}",
            f"the option --ids-from {path}",
            "give a UTF-8 text file with one test id a line",
        ) from error
    ids = _ids_in(text)
    if not ids:
        raise usage_error("no test ids", f"the file {path}", "write one test id a line into it")
    return ids


def wait_for_ids(descriptor: int) -> tuple[str, ...]:
    """Wait until the other end of a pipe has written test ids and closed it; none when it only closed it."""
    with os.fdopen(descriptor, encoding="utf-8") as stream:
        return _ids_in(stream.read())


def _ids_in(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
