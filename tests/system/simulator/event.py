"""What happens in the invented world, planted beforehand and therefore known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ootci.model.outcome import OutcomeName


class Kind(str, Enum):
    """What happens."""

    UPSTREAM_REGRESSION = "upstream regression"
    """A PyTorch commit breaks tests on several devices."""
    OWN_WORDS = "upstream regression, own words"
    """A PyTorch commit breaks the same tests on several devices, and each plugin has an error of its own for it."""
    SEEN_LATER = "upstream regression, seen later"
    """A PyTorch commit breaks tests on several devices, some of which report nothing on the first night."""
    UPSTREAM_ON_ONE = "upstream regression, one device"
    """A PyTorch commit breaks tests on one device, whose plugin did not change."""
    PLUGIN_REGRESSION = "plugin regression"
    """A plugin's commit breaks tests on its device."""
    BEHIND_AN_OUTAGE = "regression behind an outage"
    """A plugin's commit breaks tests while nobody can see it."""
    BUILD_BREAK_UPSTREAM = "build break, upstream"
    BUILD_BREAK_PLUGIN = "build break, plugin"
    IMPORT_BREAK_UPSTREAM = "import break, upstream"
    IMPORT_BREAK_PLUGIN = "import break, plugin"
    SMOKE_BREAK_UPSTREAM = "smoke break, upstream"
    SMOKE_BREAK_PLUGIN = "smoke break, plugin"
    LOST_TESTS = "lost tests"
    """Tests are no longer collected on one device; others may be there instead."""
    REMOVED_TESTS = "removed tests"
    """The reference does not collect tests any more that another device lost before."""
    SKIPPED_TESTS = "tests skipped"
    """Tests are collected, and skipped without being declared unsupported."""
    CUT_REPORT = "cut report"
    """The job ends before the suite does."""
    EMPTY_REPORT = "empty report"
    """No test of a required suite is collected."""
    OUTAGE = "outage"
    """The card, or the machine, is not there."""
    FETCH_OUTAGE = "fetch outage"
    """Nothing can be downloaded, on several devices."""
    SILENT = "silent"
    """Nothing is reported at all."""
    LATE = "late report"
    """The report arrives nights later."""
    DUPLICATE = "duplicate report"
    """The report arrives twice."""
    FALLBACK = "fallback release"
    """The nightly cannot be had, and a release is tested instead: what nightlies broke passes, and other tests fail."""
    GAP = "gap"
    """There is no nightly at all."""
    FUTURE = "nightly in the future"
    """A nightly dated far ahead is in the history until somebody withdraws it."""
    REFUSED = "connections refused"
    """Tests of one device cannot reach a host, for one night."""
    RETRY = "retry"
    """The first attempt finds no card, the second one is well."""
    PAUSED = "paused"
    RENAME = "rename"
    """Tests get other names, everywhere."""
    NEW_TESTS = "new tests"
    """Tests are added, and pass."""
    NEW_FAILING_TESTS = "new tests that fail"
    """Tests are added, and fail on one device."""
    CORE_DEFECT = "core defect"
    """Tests fail because of PyTorch, and the suites know it: they are expected to fail, everywhere."""
    FLAKY = "flaky test"
    """A test fails now and then for no reason, and passes when it is run again."""
    FLAKY_TWICE = "flaky test fails twice"
    """A test that passed when it was run again on earlier nights fails on two nights in a row, also when run again."""
    KNOWN = "known failure"
    """Tests fail all the time, and the vendor keeps the entry alive."""
    KNOWN_EXPIRES = "known failure expires"
    """Tests go on failing after the entry's last day."""
    KNOWN_PASSES = "known failure passes"
    """Tests begin to pass, and the entry stays."""


class Blame(str, Enum):
    """Whose fault it is."""

    UPSTREAM = "upstream"
    SUSPECTED = "upstream, suspected"
    """PyTorch changed and the plugin did not, and only one plugin shows it."""
    PLUGIN = "plugin"
    UNCLEAR = "unclear"
    """What was reported allows no more than this."""
    NOBODY = "nobody"
    """Nothing that PyTorch or a plugin did."""


class Acceptance(str, Enum):
    """How a loss of tests is accepted."""

    REFERENCE = "reference"
    """The reference does not collect them either."""
    FILE = "file"
    """The device file declares their capability unsupported."""
    WORDS = "words"
    """The device file says so."""


@dataclass(frozen=True)
class Event:
    """One thing that happens.

    Attributes:
        number: its place among the events; also chooses the words of its failures.
        kind: what happens.
        devices: whom it happens to, as places in the registry.
        first: the first night.
        last: the last night.
        tests: the tests, as places in the list of all tests.
        outcome: what comes of them.
        blame: whose fault it really is.
        known: the nights on which an entry of known failures counts, first and last.
        chance: of a flaky test, how often it fails.
        delay: of a late report, how many nights later it arrives; of a duplicate, how many nights later it does again.
        instead: of lost tests, those that are there instead.
        flaked: of a flaky test, earlier nights on which it failed and passed when it was run again.
        accepted: of lost tests, how and on which night the loss is accepted; None where they come back.

    """

    number: int
    kind: Kind
    devices: tuple[int, ...]
    first: int
    last: int
    tests: tuple[int, ...] = ()
    outcome: OutcomeName = OutcomeName.FAILED
    blame: Blame = Blame.NOBODY
    known: tuple[int, int] | None = None
    chance: float = 0.0
    delay: int = 0
    instead: tuple[int, ...] = ()
    flaked: tuple[int, ...] = ()
    accepted: tuple[Acceptance, int] | None = None

    def on(self, night: int) -> bool:
        """Whether it happens on that night."""
        return self.first <= night <= self.last

    def known_on(self, night: int) -> bool:
        """Whether an entry of known failures counts on that night."""
        return self.known is not None and self.known[0] <= night <= self.known[1]


FAILING = frozenset(
    {
        Kind.UPSTREAM_REGRESSION,
        Kind.OWN_WORDS,
        Kind.SEEN_LATER,
        Kind.UPSTREAM_ON_ONE,
        Kind.PLUGIN_REGRESSION,
        Kind.BEHIND_AN_OUTAGE,
        Kind.SMOKE_BREAK_UPSTREAM,
        Kind.SMOKE_BREAK_PLUGIN,
        Kind.NEW_FAILING_TESTS,
        Kind.KNOWN,
        Kind.KNOWN_EXPIRES,
        Kind.KNOWN_PASSES,
        Kind.FALLBACK,
        Kind.REFUSED,
    }
)
"""Kinds with tests that fail every night."""
