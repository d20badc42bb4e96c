"""The allow list of PyTorch's own tests: which of them a device is asked to pass, and for which capability.

A text file, so that a device's Python needs no parser for it::

    # Beginning with what has always worked.
    [views]
    test_view_ops.py::TestViewOps::test_*
    [ops]
    test_torch.py::TestTorchDeviceType::test_cummax_cummin_*

A section is a capability. A line is a glob over file, class and test, without the name of the device in them. The list
stays small: what is not on it is not run, and what is on it and matches nothing is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from harness.capabilities import CAPABILITIES
from harness.options import usage_error

MAX_BYTES = 1_000_000
PATTERN = re.compile(r"(?P<file>(?:\w[\w-]*/)*\w+\.py)::(?P<rest>[\w*?]+::[\w*?]+)")
SECTION = re.compile(r"\[(?P<capability>\w+)\]")


@dataclass(frozen=True)
class Entry:
    """One line of the list.

    Attributes:
        pattern: a glob over ``file::class::test``.
        file: relative to PyTorch's folder ``test``.
        capability: which one the tests prove.

    """

    pattern: str
    file: str
    capability: str

    def allows(self, name: str) -> bool:
        """Whether ``file::class::test`` is meant."""
        return fnmatchcase(name, self.pattern)


def read_allowed(path: Path) -> tuple[Entry, ...]:
    """The entries of a list, in order.

    Raises:
        pytest.UsageError: the file cannot be read, a line is not understood, or there is no entry.

    """
    try:
        text = path.read_bytes()[: MAX_BYTES + 1].decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise usage_error(f"the allow list cannot be read: {error}", str(path), "give a UTF-8 text file") from error
    if len(text) > MAX_BYTES:
        raise usage_error(f"the allow list is larger than {MAX_BYTES} bytes", str(path), "use globs")
    entries: list[Entry] = []
    capability: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        if (section := SECTION.fullmatch(words)) is not None:
            capability = section["capability"]
            if capability not in CAPABILITIES:
                raise usage_error(
                    f"no such capability: {capability}", f"{path}:{number}", f"use one of: {', '.join(CAPABILITIES)}"
                )
        elif (found := PATTERN.fullmatch(words)) is None:
            raise usage_error(
                f"the line is not understood: {words[:100]}",
                f"{path}:{number}",
                "write file.py::Class::test, where * stands for any letters, or a capability in brackets",
            )
        elif capability is None:
            raise usage_error("the test has no capability", f"{path}:{number}", "begin with a capability in brackets")
        else:
            entries.append(Entry(words, found["file"], capability))
    if not entries:
        raise usage_error("the allow list is empty", str(path), "name a test, or leave the suite upstream out")
    return tuple(entries)
