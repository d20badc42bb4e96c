"""The end of the text of a test that crashed or was ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from unit.stages.smoke_run import smoke_run

from ootci.model.event import CollectedTest
from ootci.stages.test.ending import ending
from ootci.stages.test.suite_run import SuiteRun


@pytest.fixture
def run(tmp_path: Path) -> SuiteRun:
    """The suite smoke."""
    return smoke_run(tmp_path)


def test_it_says_what_was_expected_and_where_to_read_on(run: SuiteRun) -> None:
    test = CollectedTest(id="smoke/a.py::b[c d]", suite="smoke", capability="rng", title="Numbers repeat.")
    assert ending(test.id, test, run).splitlines() == [
        "Expected: Numbers repeat.",
        "Capability: rng",
        "Read: docs/capabilities/rng.md",
        "Reproduce (from the suites folder): python -m pytest 'smoke/a.py::b[c d]' --device dev",
    ]


def test_what_nothing_is_known_of_can_be_seen_again(run: SuiteRun) -> None:
    assert ending("a", None, run) == "Reproduce (from the suites folder): python -m pytest a --device dev"


def test_a_test_from_a_checkout_is_named_by_an_option(run: SuiteRun) -> None:
    upstream = replace(run, suite="upstream", options=("--upstream-tests=/t", "--upstream-allow=/a"))
    assert ending("upstream/x.py::A::b", None, upstream) == (
        "Reproduce (from the suites folder): "
        "python -m pytest upstream --upstream-tests=/t --upstream-allow=/a --id upstream/x.py::A::b --device dev"
    )
