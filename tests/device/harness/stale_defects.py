"""Defects of torch that were expected and not seen: a test that passes all the same says so by its outcome.

Kept apart from the table in ``defects.py``, which imports torch: torch is imported after the event log was opened.
"""

from __future__ import annotations

from collections.abc import Generator

import pluggy
import pytest

_not_seen: dict[str, None] = {}


def tell_not_seen(what: str) -> None:
    """Keep for the end of this test that a defect of torch did not show, in one line."""
    _not_seen[what] = None


class StaleDefects:
    """The pytest plugin that ends such a test as ``xpassed``, as pytest does with any failure that was expected."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Begin anew, also where the test before was cut off."""
        _not_seen.clear()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
        """Mark the test, unless something else became of it."""
        outcome = yield
        report = outcome.get_result()
        if call.when == "call" and report.passed and _not_seen:
            report.wasxfail = "; ".join(_not_seen)
