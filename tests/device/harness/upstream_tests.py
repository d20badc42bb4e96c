"""PyTorch's own device-generic tests, collected from a checkout. Needs torch, numpy and expecttest.

PyTorch makes a class for each device out of a generic one, and puts the device's name into the names of class and
tests. Which name depends on what ran before in the process (``PRIVATEUSE1`` for the first class, then the device's
own), so ids are made of the generic class and of the test's name without the device.
"""

from __future__ import annotations

import os
import re
import sys
import unittest
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest
from _pytest.outcomes import Exit, Skipped

from harness.recorder import Recorder
from harness.reproduce import ARGUMENTS
from harness.selection import TITLE
from harness.upstream_config import DECLARATION, Config, declaration_of

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
    """One file of PyTorch's tests: those that PyTorch made for the device.

    Attributes:
        recorder: is told that the file is about to be imported.
        is_named: whether the file was requested by its name, so that it must have tests.
        has_ids: whether tests were, or will be, named by their ids.
        arguments: what pytest is given besides the id to run one of the tests again.
        tests: PyTorch's folder ``test``.
        neighbours: the modules beside the file that were imported with it, by name.
        only_declared: the declarations, where only those tests are run that are not made because of them.

    """

    __test__ = False

    recorder: Recorder
    is_named = False
    has_ids = False
    arguments: tuple[str, ...] = ()
    only_declared: Config | None = None
    tests: Path
    neighbours: Mapping[str, ModuleType] = MappingProxyType({})

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The tests, after one that stands for the import."""
        file = Import.from_parent(self, name=Import.NAME)
        self._described(file, "The file can be imported.")
        self.recorder.importing(file.nodeid)
        self._forget_others()
        try:
            generic = self._take_the_device_out()
            self.neighbours = {name: sys.modules[name] for name in self._beside & sys.modules.keys()}
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            file.failure = _cause(error)
            yield file
            return
        found = []
        for collector in super().collect():
            if isinstance(collector, pytest.Class) and collector.name in generic:
                found += [item for item in collector.collect() if isinstance(item, pytest.Item)]
        found = [item for item in found if self._is_wanted(item)]
        if found or self.has_ids:
            # A file that can be imported no more is told as a regression of this test.
            yield file
        for item in found:
            name = item.nodeid.partition("::")[2].replace("::", ".")
            yield self._described(item, f"PyTorch's own test {name} passes.")
        if self.is_named and not found and not self.has_ids and self.only_declared is None:
            file_name = self.nodeid.partition("/")[2]
            reason = f"PyTorch makes no test of {file_name} for this device\n  what to do: take it out of `files`"
            yield Problem.of(self, f"{file_name}::tests", reason)

    def setup(self) -> None:
        """Let tests that import something find this file's neighbours."""
        super().setup()
        self._begin_path()
        sys.modules.update(self.neighbours)

    @property
    def _beside(self) -> set[str]:
        return {path.stem for path in self.path.parent.iterdir()}

    def _begin_path(self) -> None:
        """PyTorch starts a file as a script, which finds its neighbours before anything else."""
        folder = str(self.path.parent)
        sys.path[:] = [folder, *(place for place in sys.path if place != folder)]

    def _forget_others(self) -> None:
        """Forget modules of other folders of the checkout that are named as this file's neighbours are."""
        self._begin_path()
        folder = self.path.parent
        for name in self._beside & sys.modules.keys():
            found = Path(getattr(sys.modules[name], "__file__", None) or folder)
            own = (folder, folder / f"{name}.py", folder / name / "__init__.py")
            if found not in own and found.is_relative_to(self.tests):
                del sys.modules[name]

    def _is_wanted(self, item: pytest.Item) -> bool:
        if self.only_declared is None:
            return True
        made = getattr(item.parent, "obj", None)
        declaration = declaration_of(self.only_declared, getattr(made, "__name__", ""), getattr(made, item.name, None))
        if declaration is not None:
            item.stash[DECLARATION] = declaration
        return declaration is not None

    def _take_the_device_out(self) -> set[str]:
        """Give the classes that PyTorch made for the device, and their tests, their generic names.

        Returns:
            The names of the classes.

        Raises:
            CollectError: a class was made twice.

        """
        from torch.testing._internal.common_device_type import DeviceTypeTestBase

        module, found, device = self.obj, set[str](), self.recorder.options.device
        for name, made in list(vars(module).items()):
            if not (isinstance(made, type) and issubclass(made, DeviceTypeTestBase) and len(made.__bases__) == 2):
                continue
            generic = made.__bases__[1].__name__
            if not _is_for_every_accelerator(made):
                continue
            if generic in found:
                raise self.CollectError(f"{generic} was made twice: is another device's class among PyTorch's bases?")
            found.add(generic)
            for test, function in list(vars(made).items()):
                plain = without_device(test, device)
                if test.startswith("test") and plain != test:
                    setattr(made, plain, function)
                    delattr(made, test)
            made.__name__ = made.__qualname__ = generic
            delattr(module, name)
            setattr(module, generic, made)
        return found

    def _described(self, item: pytest.Item, title: str) -> pytest.Item:
        item.stash[TITLE] = title
        item.stash[ARGUMENTS] = (*self.arguments, "--id", item.nodeid)
        return item


def _is_for_every_accelerator(made: type) -> bool:
    """By PyTorch's own label, where this torch has labels (``HardwareClassification``) and the class has one."""
    from torch.testing._internal import common_utils

    label_of = getattr(common_utils, "get_hw_classification", None)
    label = None if label_of is None else label_of(made)
    return label is None or label.name == "ACCELERATOR"


class Import(pytest.Item):
    """The test that stands for the import of a file: skipped where the file skips itself, an error where it fails.

    Attributes:
        failure: why the file cannot be imported; None when it can.

    """

    NAME = "import"

    failure: BaseException | None = None

    def setup(self) -> None:
        """Fail here, before the test, since nothing of the file was tested."""
        if isinstance(self.failure, (unittest.SkipTest, Skipped)):
            pytest.skip(str(self.failure) or "the file skips itself")
        if self.failure is not None:
            raise self.failure

    def runtest(self) -> None:
        """Nothing is left to be done."""


def _cause(error: BaseException) -> BaseException:
    """The file's own exception, without what would end pytest."""
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        return error.__cause__
    if isinstance(error, SystemExit) and not error.code:
        return unittest.SkipTest("the file ends its process with exit code 0 when it is imported")
    if isinstance(error, (SystemExit, Exit)):
        return ImportError(f"the file ends its process when it is imported: {error!r}")
    return error


class Problem(pytest.Collector):
    """Something that was requested and is not there, which is an error: tests that vanish are not tests that pass."""

    reason = ""

    @classmethod
    def of(cls, parent: pytest.Collector, name: str, reason: str) -> Problem:
        """The error of that name."""
        made: Problem = cls.from_parent(parent, name=name, nodeid=f"{SUITE}/{name}")
        made.reason = reason
        return made

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Nothing but the error.

        Raises:
            CollectError: always.

        """
        raise self.CollectError(self.reason)


def without_device(name: str, device: str) -> str:
    """A test's name without the device, which PyTorch writes behind the name of the test and before the dtype."""
    *_, last = [None, *re.finditer(rf"_(?:privateuse1|{re.escape(device)})(?=_|$)", name)]
    return name if last is None else name[: last.start()] + name[last.end() :]
