"""PyTorch's own device-generic tests, collected from a checkout. Needs torch, numpy and expecttest.

PyTorch makes a class for each device out of a generic one, and puts the device's name into the names of class and
tests. Which name depends on what ran before in the process (``PRIVATEUSE1`` for the first class, then the device's
own), so ids are made of the generic class and of the test's name without the device.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from harness.reproduce import ARGUMENTS
from harness.selection import TITLE
from harness.upstream_allow import Entry

SUITE = "upstream"
FOREIGN_VARIABLES = (
    "TORCH_TEST_DEVICES",  # adds a second class for the device, so that every test ran twice
    "PYTORCH_TESTING_DEVICE_EXCEPT_FOR",
    "PYTORCH_TESTING_DEVICE_FOR_CUSTOM",
)


def prepare(tests: Path, device: str) -> None:
    """Make this process ready for PyTorch's tests: for one device only, and able to import their neighbours."""
    for name in FOREIGN_VARIABLES:
        os.environ.pop(name, None)
    os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"] = device
    sys.path.insert(0, str(tests))


class TestFile(pytest.Module):
    """One file of PyTorch's tests: the tests in it that the list allows."""

    __test__ = False

    entries: Sequence[Entry] = ()
    device: str = ""
    arguments: tuple[str, ...] = ()

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The allowed tests, and an error for each entry that matches none."""
        matched: set[Entry] = set()
        generic = self._take_the_device_out()
        for collector in super().collect():
            if not isinstance(collector, pytest.Class) or collector.name not in generic:
                continue
            for item in collector.collect():
                allowing = [entry for entry in self.entries if entry.allows(item.nodeid.partition("/")[2])]
                matched.update(allowing)
                if allowing and isinstance(item, pytest.Item):
                    yield self._described(item, allowing[-1].capability)
        for entry in self.entries:
            if entry not in matched:
                yield Missing.from_parent(self, name=entry.pattern.partition("::")[2])

    def _take_the_device_out(self) -> set[str]:
        """Give the classes that PyTorch made for the device, and their tests, their generic names.

        Returns:
            The names of the classes.

        Raises:
            CollectError: a class was made twice.

        """
        from torch.testing._internal.common_device_type import DeviceTypeTestBase

        module, found = self.obj, set[str]()
        for name, made in list(vars(module).items()):
            if not (isinstance(made, type) and issubclass(made, DeviceTypeTestBase) and len(made.__bases__) == 2):
                continue
            generic = made.__bases__[1].__name__
            if generic in found:
                raise self.CollectError(f"{generic} was made twice: is another device's class among PyTorch's bases?")
            found.add(generic)
            for test, function in list(vars(made).items()):
                plain = without_device(test, self.device)
                if test.startswith("test") and plain != test:
                    setattr(made, plain, function)
                    delattr(made, test)
            made.__name__ = made.__qualname__ = generic
            delattr(module, name)
            setattr(module, generic, made)
        return found

    def _described(self, item: pytest.Item, capability: str) -> pytest.Item:
        item.add_marker(pytest.mark.capability(capability))
        item.stash[TITLE] = f"PyTorch's own test {item.nodeid.partition('::')[2].replace('::', '.')} passes."
        item.stash[ARGUMENTS] = (*self.arguments, "--id", item.nodeid)
        return item


class Missing(pytest.Collector):
    """An entry of the list that matches no test, which is an error: tests that vanish are not tests that pass."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Nothing but the error.

        Raises:
            CollectError: always.

        """
        raise self.CollectError(
            f"the allow list names {self.name}, which matches no test of this torch on this device\n"
            "  what to do: look at what the file makes, or take the line out"
        )


def without_device(name: str, device: str) -> str:
    """A test's name without the device, which PyTorch writes behind the name of the test and before the dtype."""
    *_, last = [None, *re.finditer(rf"_(?:privateuse1|{re.escape(device)})(?=_|$)", name)]
    return name if last is None else name[: last.start()] + name[last.end() :]


def files_of(entries: Sequence[Entry]) -> dict[str, tuple[Entry, ...]]:
    """The entries by file, in the order of the list."""
    return {file: tuple(e for e in entries if e.file == file) for file in dict.fromkeys(e.file for e in entries)}
