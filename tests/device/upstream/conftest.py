"""Collects PyTorch's own tests from the checkout that was named, as if they lay in this folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from harness.recorder import Recorder
from harness.upstream_allow import read_allowed
from harness.upstream_checkout import check_checkout
from harness.upstream_tests import SUITE, TestFile, files_of, prepare

HERE = Path(__file__)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """This file stands for the suite, which is left out where all suites were named at once and no checkout was."""
    meant = file_path == HERE and (parent.config.getoption("--upstream-tests") or _is_named(parent.config))
    return Checkout.from_parent(parent, path=file_path) if meant else None


def _is_named(config: pytest.Config) -> bool:
    named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return any(path.resolve().is_relative_to(HERE.parent) for path in named)


class Checkout(pytest.File):
    """The files of the checkout that the allow list names."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """A collector per file.

        Raises:
            CollectError: there is no list or no checkout, or it belongs to another torch.

        """
        tests, allowed = (self.config.getoption(f"--upstream-{name}") for name in ("tests", "allow"))
        try:
            if tests is None or allowed is None:
                raise pytest.UsageError(
                    "the suite upstream needs a checkout of PyTorch and an allow list\n"
                    "  where: the options --upstream-tests and --upstream-allow\n"
                    "  what to do: add --upstream-tests=DIR, PyTorch's folder `test`, and --upstream-allow=FILE"
                )
            entries = read_allowed(allowed)
            check_checkout(tests, self.config.getoption("--upstream-commit") or _commit_of_torch())
        except pytest.UsageError as error:
            raise self.CollectError(str(error)) from error
        device = self.config.pluginmanager.get_plugin("device-suites")
        assert isinstance(device, Recorder)
        prepare(tests.resolve(), device.options.device)
        for file, named in files_of(entries).items():
            made = TestFile.from_parent(self, path=tests.resolve() / file, nodeid=f"{SUITE}/{file}")
            made.entries, made.device = named, device.options.device
            made.arguments = self._arguments()
            yield made

    def _arguments(self) -> tuple[str, ...]:
        """What pytest is given besides the id to run one of the tests again."""
        names = ("--upstream-tests", "--upstream-allow", "--upstream-commit")
        given = {name: self.config.getoption(name) for name in names}
        return (SUITE, *(f"{name}={value}" for name, value in given.items() if value is not None))


def _commit_of_torch() -> str:
    import torch

    return str(torch.version.git_version)
