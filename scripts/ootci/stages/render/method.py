"""The page that says what every word on the other pages means."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ootci.history.flakiness import LATELY, SAMPLE, TURNS
from ootci.history.gc import MEASURES_RUNS, TEXTS_NIGHTS
from ootci.history.named import KEPT
from ootci.history.not_passing import NIGHTS
from ootci.model.device import LONGEST_RANGE
from ootci.model.outcome import OutcomeName
from ootci.model.verdict import ChangeName, GateRecord, VerdictName

from .feed import ENTRIES
from .looks import PageMaker
from .publish import File
from .status import CHANGES, OUTCOMES, VERDICTS
from .trend_series import DAYS, RESIZED

VERDICT_MEANINGS: Mapping[VerdictName, str] = MappingProxyType(
    {
        VerdictName.PAUSED: "The device file says that the device is not to be run, and why.",
        VerdictName.NEVER_RAN: "The device is registered, but no nightly has had a report from it yet.",
        VerdictName.NO_DATA: (
            "It has reported before, but not for the newest nightly; or the last nightly that ran it is older than "
            "36 hours, of a device that runs weekly 8 days; or a required suite collected no test, or none of all that "
            "were collected was executed. "
            "Silence is never success."
        ),
        VerdictName.INFRA: (
            "Torch or the plugin could not be fetched, or the check found the hardware missing or ill, or tests failed "
            "only because they could not reach a host and did so for the first night. The plugin is not blamed."
        ),
        VerdictName.BUILD_BROKEN: "The plugin does not build against this torch.",
        VerdictName.IMPORT_BROKEN: "`import torch` fails, or does not make the device known, once the plugin is there.",
        VerdictName.SMOKE_BROKEN: (
            "A test of the suite smoke fails, or is unsupported although the device file does not say so, or none of "
            "its tests passes, or the suite ended before any test reported."
        ),
        VerdictName.REGRESSED: (
            "At least one test of a required suite fails that did not fail, or was not there, in the run before. "
            "The run before is, for each suite, the last one that reported it completely."
        ),
        VerdictName.LOST_TESTS: (
            "A required suite's report is missing, unreadable or cut off; or it collected fewer tests than the device "
            "file demands, or executed none; or tests that ran on an earlier night no longer run: on every night until "
            "they are back, or the reference device lacks them, too, or the device file accepts the loss."
        ),
        VerdictName.FAILING: (
            "Tests of required suites fail, and all of them failed in the run before, too, or there is no run before; "
            "or a required suite did not come to its end, or no test of it passed."
        ),
        VerdictName.UNSTABLE: (
            "Every failure that nobody expected passed when it was run again in the same run, or is of a test that is "
            "flaky by the record of the last nights."
        ),
        VerdictName.KNOWN: "Only tests fail that the vendor knows to fail, by an entry that counts on that night.",
        VerdictName.OK: "Every required suite reported completely, and no test of theirs failed.",
    }
)

OUTCOME_MEANINGS: Mapping[OutcomeName, str] = MappingProxyType(
    {
        OutcomeName.PASSED: "The test did what it should.",
        OutcomeName.FAILED: "An assertion did not hold.",
        OutcomeName.ERROR: "The test could not be set up or torn down.",
        OutcomeName.CRASHED: "The process died during the test; the tests after it still ran.",
        OutcomeName.TIMED_OUT: "The test took longer than its time-out and was ended; the tests after it still ran.",
        OutcomeName.SKIPPED: "The test decided not to run here.",
        OutcomeName.XFAILED: "The test is expected to fail, and did.",
        OutcomeName.XPASSED: "The test is expected to fail, and passed: the expectation should be removed.",
        OutcomeName.UNSUPPORTED: "The device refuses what is asked for, or its file says that it does not have it.",
        OutcomeName.NOT_RUN: "The test was collected and never reported.",
    }
)

CHANGE_MEANINGS: Mapping[ChangeName, str] = MappingProxyType(
    {
        ChangeName.REGRESSION: "It passed in the run before and fails now.",
        ChangeName.NEW_FAILURE: "It fails now, and neither passed nor failed in the run before.",
        ChangeName.STILL_FAILING: "It failed in the run before and fails now.",
        ChangeName.DISAPPEARED: "It was in the run before and is not there now.",
        ChangeName.FIXED: "It failed in the run before and passes now.",
        ChangeName.NEW_PASS: "It passes now, and neither passed nor failed in the run before.",
        ChangeName.APPEARED: "It was not in the run before.",
    }
)


def method_page(maker: PageMaker, gate: GateRecord) -> File:
    """Every word in the order in which it is shown elsewhere, how right the gate was, and the numbers of the rules."""
    return maker.show(
        "method/index.html",
        "method.html",
        gate=gate,
        verdict_meanings=[(VERDICTS[name], meaning) for name, meaning in VERDICT_MEANINGS.items()],
        outcome_meanings=[(OUTCOMES[name], meaning) for name, meaning in OUTCOME_MEANINGS.items()],
        change_meanings=[(status, CHANGE_MEANINGS[name]) for name, status in CHANGES.items()],
        feed_entries=ENTRIES,
        lately=LATELY,
        turns=TURNS,
        sample=SAMPLE,
        trend_days=DAYS,
        resized=f"{RESIZED:.0%}",
        texts_nights=TEXTS_NIGHTS,
        measures_runs=MEASURES_RUNS,
        longest_range=LONGEST_RANGE.days,
        test_nights=NIGHTS,
        kept_names=KEPT,
    )
