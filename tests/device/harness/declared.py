"""Capabilities that are declared unsupported: a claim about a device, which its tests put to the proof.

The tests of such a capability run after all others. One that fails ends as ``unsupported`` with what was seen; one
that passes stays passed, so that a claim that is not true is found out. A crash or a time-out is not excused: a
device that lacks something refuses it and does not die of it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import pluggy
import pytest

from harness.capabilities import CAPABILITIES
from harness.options import usage_error
from harness.outcomes import mark_unsupported
from harness.text import first_line

OPTION = "--declared-unsupported"


def add_option(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.getgroup("device suites").addoption(
        OPTION,
        metavar="ID=REASON",
        action="append",
        default=[],
        help="the device is declared not to have this capability: its tests run last, and a failure of theirs is "
        "unsupported; may be given more than once",
    )


def read_declared(given: Sequence[str]) -> dict[str, str]:
    """The reasons by capability.

    Raises:
        pytest.UsageError: a capability is not one, or has no reason.

    """
    declared: dict[str, str] = {}
    for text in given:
        capability, _, reason = text.partition("=")
        if capability not in CAPABILITIES:
            raise usage_error(
                f"no such capability: {capability}", f"the option {OPTION}", f"use one of: {', '.join(CAPABILITIES)}"
            )
        if not reason.strip():
            raise usage_error(
                f"no reason why {capability} is unsupported", f"the option {OPTION}", f"write {capability}=REASON"
            )
        declared[capability] = reason.strip()
    return declared


class Declared:
    """The pytest plugin that puts the claims to the proof; ``declared`` has their reasons by capability."""

    def __init__(self, declared: Mapping[str, str]) -> None:
        self._declared = declared

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run the tests of declared capabilities last, so that what they break is not there for the others."""
        items.sort(key=lambda item: self._reason(item) is not None)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
        """Call a failure unsupported where that was declared, and keep what was seen."""
        outcome = yield
        report = outcome.get_result()
        reason = self._reason(item)
        # pytest calls it a failure, in a text and without an exception, when a test passes that was expected to fail.
        if reason is None or not report.failed or call.excinfo is None:
            return
        seen = first_line(call.excinfo.exconly()) or call.excinfo.typename
        mark_unsupported(report, f"declared: {reason}. Seen in {report.when}: {seen}")

    def _reason(self, item: pytest.Item) -> str | None:
        names = (str(argument) for marker in item.iter_markers("capability") for argument in marker.args)
        return next((self._declared[name] for name in names if name in self._declared), None)
