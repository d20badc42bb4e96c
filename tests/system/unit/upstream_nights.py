"""Nights of a device that runs PyTorch's own tests, each test's outcomes written as letters."""

from __future__ import annotations

from collections.abc import Mapping

from unit.samples import night, plan, run

from ootci.model.build import StageResult, StageStatus
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import Plan, PlannedSuite
from ootci.model.run import ReportState, Run, SuiteReport

SUITES = (PlannedSuite(name="smoke"), PlannedSuite(name="upstream"))
_OUTCOMES = {
    "p": OutcomeName.PASSED,
    "f": OutcomeName.FAILED,
    "s": OutcomeName.SKIPPED,
    "x": OutcomeName.XFAILED,
    "n": OutcomeName.NOT_RUN,
}


def upstream_nights(letters: Mapping[str, str], name: str = "dev") -> list[Plan | Run]:
    """Plans and runs.

    Args:
        letters: a letter for each night, by test below ``upstream/``; a dot where the test is not there.

    """
    found: list[Plan | Run] = []
    for number in range(max(map(len, letters.values()))):
        tonight = {test: row[number] for test, row in letters.items() if row[number : number + 1] not in ("", ".")}
        outcomes = tuple(
            Outcome(id=f"upstream/{test}", suite="upstream", outcome=_OUTCOMES[letter])
            for test, letter in tonight.items()
        )
        plain = run(number, name, integration={})
        failed = any(item.is_failure for item in outcomes)
        stage = StageResult(
            name="upstream",
            status=StageStatus.FAILED if failed else StageStatus.PASSED,
            started_at=night(number),
            only_tests=failed,
        )
        report = SuiteReport(suite="upstream", required=True, state=ReportState.COMPLETE, counts=Counts.of(outcomes))
        made = plain.model_copy(
            update={
                "outcomes": (*plain.outcomes, *outcomes),
                "suites": (*(item for item in plain.suites if item.suite == "smoke"), report),
                "stages": (*(item for item in plain.stages if item.name not in ("integration", "upstream")), stage),
            }
        )
        found += [plan(number, (name,), suites=SUITES), made]
    return found
