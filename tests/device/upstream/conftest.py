"""Collects PyTorch's own tests from the named checkout, as if they were in this folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from harness.device import CONTROL
from harness.options import usage_error
from harness.recorder import Recorder
from harness.shards import PLUGIN, Shares
from harness.upstream_checkout import check_checkout, device_generic_files, is_device_generic, likely_tests
from harness.upstream_config import Config, hand_over, may_declare, problems, read_config
from harness.upstream_tests import SUITE, Problem, TestFile, prepare

HERE = Path(__file__)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """This file stands for the suite, which is left out where all suites were named at once and no checkout was."""
    meant = file_path == HERE and (parent.config.getoption("--upstream-tests") or _is_named(parent.config))
    return Checkout.from_parent(parent, path=file_path) if meant else None


def _is_named(config: pytest.Config) -> bool:
    named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return any(path.resolve().is_relative_to(HERE.parent) for path in named)


class Checkout(pytest.File):
    """The device-generic files of the checkout, or those of them that were named."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """A collector per file, and an error for each name that means nothing.

        Raises:
            CollectError: there is no checkout, it belongs to another torch, or it has no device-generic test.

        """
        recorder = self.config.pluginmanager.get_plugin("device-suites")
        assert isinstance(recorder, Recorder)
        try:
            tests = self._tests()
            declared = read_config(self.config.getoption("--upstream-config"))
        except pytest.UsageError as error:
            raise self.CollectError(str(error)) from error
        device, only_declared = recorder.options.device, self.config.getoption("--upstream-declared")
        prepare(tests, device)
        if device != CONTROL:
            hand_over(Config(bypass=declared.bypass) if only_declared else declared)
        has_ids = recorder.options.ids is not None or recorder.options.stand_by is not None
        if not has_ids and device != CONTROL and not only_declared:
            yield from self._problems(declared, tests)
        named = self._listed("--upstream-files")
        skipped = self._listed("--upstream-skip")
        shares = self.config.pluginmanager.get_plugin(PLUGIN)
        assert isinstance(shares, Shares)
        files = named or device_generic_files(tests)
        if not files:
            raise self.CollectError(f"{tests} has no device-generic test\n  what to do: name PyTorch's folder `test`")
        mine = shares.files({f"{SUITE}/{file}": likely_tests(tests / file) for file in files})
        for file in dict.fromkeys(files):
            if file in skipped or f"{SUITE}/{file}" not in mine:
                continue
            missing = _missing(tests, file) if named else None
            if only_declared and (missing or not may_declare(declared, tests / file)):
                continue
            if missing:
                yield Problem.of(self, file, missing)
                continue
            made = TestFile.from_parent(self, path=tests / file, nodeid=f"{SUITE}/{file}")
            made.recorder, made.is_named, made.has_ids, made.tests = recorder, bool(named), has_ids, tests
            made.arguments = self._arguments(file)
            made.only_declared = declared if only_declared else None
            yield made

    def _tests(self) -> Path:
        tests = self.config.getoption("--upstream-tests")
        if tests is None:
            raise usage_error(
                "the suite upstream needs a checkout of PyTorch",
                "the option --upstream-tests",
                "add --upstream-tests=DIR, PyTorch's folder `test`",
            )
        check_checkout(tests, self.config.getoption("--upstream-commit") or _commit_of_torch())
        return Path(tests).resolve()

    def _problems(self, declared: Config, tests: Path) -> Iterator[Problem]:
        files = device_generic_files(tests) if declared.exclusions else ()
        for name, reason in problems(declared, tests, files):
            yield Problem.of(self, name, reason)

    def _listed(self, option: str) -> tuple[str, ...]:
        return tuple(filter(None, (self.config.getoption(option) or "").split(",")))

    def _arguments(self, file: str) -> tuple[str, ...]:
        """What pytest is given besides the id to run one of a file's tests again."""
        names = ("--upstream-tests", "--upstream-commit", "--upstream-config")
        given = {name: self.config.getoption(name) for name in names}
        return (
            SUITE,
            *(f"{name}={value}" for name, value in given.items() if value is not None),
            f"--upstream-files={file}",
        )


def _missing(tests: Path, file: str) -> str | None:
    """Why a file that was named has no tests of this suite; None when it may have some."""
    path = tests / file
    if not path.is_file() or not path.resolve().is_relative_to(tests):
        what = f"there is no file {file} in this checkout of PyTorch"
        return f"{what}\n  what to do: look where PyTorch moved it, and name that file, or take it out of `files`"
    if not is_device_generic(path):
        return f"{file} has no device-generic test\n  what to do: take it out of `files`"
    return None


def _commit_of_torch() -> str:
    import torch

    return str(torch.version.git_version)
