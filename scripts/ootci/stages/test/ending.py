"""The last lines of a failure's text for a test that crashed or timed out: the same that the suites write."""

from __future__ import annotations

import shlex

from ootci.model.capability import docs_page
from ootci.model.event import CollectedTest

from .suite_run import SuiteRun


def ending(test_id: str, test: CollectedTest | None, run: SuiteRun) -> str:
    """The expected behaviour, the page to read, and the command that reproduces the failure."""
    lines = []
    if test is not None and test.title:
        lines.append(f"Expected: {test.title}")
    if test is not None and test.capability:
        lines += [f"Capability: {test.capability}", f"Read: {docs_page(test.capability)}"]
    # The tests of the suite upstream lie elsewhere, so that pytest does not find them by their ids.
    chosen = [run.suite, *run.options, "--id", test_id] if run.suite == "upstream" else [test_id]
    command = shlex.join(["python", "-m", "pytest", *chosen, "--device", run.device])
    return "\n".join([*lines, f"Reproduce (from the suites folder): {command}"])
