"""The heaviest page of a device that there can be: every section at its worst, all at once."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta

import pytest
from unit.render.hostile import hostile_run
from unit.render.sample import BAD_RANGE, NOW, Sample
from unit.render.sample_clusters import mark
from unit.render.sample_runs import run

from ootci.history.accuracy import AccuracyRegression
from ootci.history.stored import stored
from ootci.model.accuracy import Accuracy
from ootci.model.capability import Capability
from ootci.model.cluster import Streak
from ootci.model.device import KnownFailure, Unsupported
from ootci.model.outcome import Attempt, Counts, Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import CapabilityCounts, OperatorCount, ReportState, Run, SuiteReport
from ootci.model.verdict import (
    Change,
    ChangeName,
    DeviceVerdict,
    ExpectationReview,
    ExpectationState,
    Night,
    VerdictName,
)
from ootci.resources import dashboard_folder
from ootci.stages.render.page_maker import PageMaker
from ootci.stages.render.pages.accuracy import DeviceAccuracyFile, OperatorAccuracy, accuracy_file
from ootci.stages.render.pages.device import device_page
from ootci.stages.render.pages.operators import device_coverage
from ootci.stages.render.run_pages import run_pages

DEVICE = 5 * 1024 * 1024
"""Of a page that only an attack makes; that of ten thousand honest failures is held to far less by `test_budgets`."""
PLAN_ID = "{:02d}" + "x" * 78
"""As long as the name of a folder may be."""
QUOTES, BACKWARDS, LETTERS = '"' * 9_000, "\u202e" * 9_000, "error: m" * 9_000
"""What grows most when it is escaped, what grows most when it is made visible, and what grows least."""


def worst_run(honest: Run, text: str) -> Run:
    outcomes = tuple(
        Outcome(
            id=f"{number}{text}",
            suite=text,
            outcome=outcome,
            capability=f"{number % 80}{text}",
            title=text,
            message=text,
            text=f"E {text}\n" * 3,
            attempts=tuple(Attempt(outcome=OutcomeName.FAILED, duration=1, message=text, text=text) for _ in range(5))
            if outcome is OutcomeName.FAILED and number % 2
            else (),
        )
        for number, outcome in enumerate(itertools.islice(itertools.cycle(OutcomeName), 600))
    )
    many = Counts(passed=10**9, failed=10**9, not_run=10**9, skipped=10**9, unsupported=10**9)
    return hostile_run(honest, text).model_copy(
        update={
            "outcomes": outcomes,
            "capabilities": tuple(CapabilityCounts(capability=f"{number}{text}", counts=many) for number in range(80)),
            "suites": tuple(
                SuiteReport(suite=text, required=False, state=ReportState.TRUNCATED, detail=text, counts=many)
                for _ in range(4)
            ),
            "operators": tuple(OperatorCount(operator=f"{n}{text}", native=1, fallback=10**15) for n in range(500)),
        }
    )


def worst_verdict(honest: DeviceVerdict, run: Run, text: str) -> DeviceVerdict:
    verdicts = itertools.cycle((VerdictName.BUILD_BROKEN, VerdictName.IMPORT_BROKEN))
    history = tuple(
        Night(
            **{
                **honest.history[-1].model_dump(),
                "plan_id": PLAN_ID.format(number),
                "date": NOW - timedelta(days=90 - number),
                "verdict": next(verdicts),
            }
        )
        for number in range(90)
    )
    changes = zip(itertools.cycle(ChangeName), run.outcomes, strict=False)
    return honest.model_copy(
        update={
            "run_id": run.id,
            "reason": text,
            "torch": run.torch,
            "torch_request": run.torch_request,
            "history": history,
            "changes": tuple(
                Change(id=item.id, change=name, after=item.outcome, signature="x", streak=0) for name, item in changes
            ),
            "unsupported": tuple(
                ExpectationReview(declared=f"{number}{text[:300]}", reason=text[:500], state=ExpectationState.WORKS)
                for number in range(500)
            ),
            "streaks": (Streak(first_failed=mark(3), last_passed=mark(2), commits=text, commits_url=ADDRESS),),
        }
    )


ADDRESS = "https://example.com/" + "&" * 1_900


def worst_plan(honest: Plan, device: str, text: str) -> Plan:
    known = tuple(
        KnownFailure(
            id=f"smoke/{number}{text[:400]}",
            reason=text[:500],
            issue=f"{ADDRESS[:480]}{number}",
            added=date(2026, 1, 1),
            expires=date(2026, 2 + 10 * (number % 2), 28),
        )
        for number in range(400)
    )
    claims = tuple(Unsupported(capability=item, reason=text[:500]) for item in Capability)
    runs = (
        item.model_copy(update={"known_failures": known, "unsupported": claims}) if item.device == device else item
        for item in honest.runs
    )
    return honest.model_copy(update={"runs": tuple(runs)})


def worst_accuracy() -> DeviceAccuracyFile:
    regression = AccuracyRegression(since=NOW.date(), plan_id="x", before=999_999.0)
    errors = Accuracy(10**15, 1e300, 1e300, 0.0, 0.0)
    row = OperatorAccuracy(operator="x" * 80, dtype="x" * 20, errors=errors, regression=regression)
    return accuracy_file("borealis", (), {}).model_copy(update={"operators": (row,) * 3_000})


@pytest.mark.parametrize("text", [QUOTES, BACKWARDS, LETTERS], ids=["quotes", "backwards", "letters"])
def test_every_section_at_its_worst(sampled: Sample, text: str) -> None:
    honest = run("borealis", 13, VerdictName.REGRESSED)
    item = next(item for item in sampled.registry if item.device.name == "borealis")
    verdict = next(found for found in sampled.verdicts.devices if found.device == "borealis")
    ranges = tuple(
        BAD_RANGE.model_copy(
            update={
                "first": NOW.date() - timedelta(days=day),
                "last": NOW.date() - timedelta(days=day),
                "reason": text[:490] + str(day),
                "link": ADDRESS[:500],
            }
        )
        for day in range(90)
    )
    device = item.device.model_copy(
        update={
            "display_name": text[:500],
            "vendor": text[:500],
            "description": text[:500],
            "bad_ranges": ranges,
        }
    )
    evil = worst_run(honest, text)
    kept = stored(evil)
    past = (kept.head.model_copy(update={"plan_id": PLAN_ID.format(number)}) for number in range(90))
    runs = [*(replace(kept, head=head.model_copy(update={"id": head.plan_id})) for head in past), kept]
    pages = run_pages(runs)
    plan = worst_plan(sampled.history.plans()[-1], device.name, text)
    alike: Mapping[str, tuple[int, str | None]] = {"x": (9, f"c/{'x' * 12}/index.html")}
    place = f"t/integration/{'x' * 80}/index.html#{'x' * 40}"
    judged = worst_verdict(verdict, evil, text)
    shown = device_page(item.model_copy(update={"device": device}), judged, pages, evil, plan)
    coverage = device_coverage(None, None)
    maker = PageMaker(dashboard_folder() / "templates", (), sampled.verdicts, None, alike=alike, place=lambda _: place)
    values: dict[str, object] = {"coverage": coverage, "accuracy": worst_accuracy()}
    values |= dict.fromkeys(("support", "before", "after"), ())
    values |= dict.fromkeys(("lately", "models", "parity"))
    _, content = next(shown.files(maker, **values))
    sections = "; ".join(f"{part[:24]!r} {len(part.encode())}" for part in re.split("<h[23][ >]", content.decode()))
    assert len(content) < DEVICE, sections
    for heading in (
        "failures",
        "known-failures",
        "declared",
        "stages",
        "suites",
        "coverage",
        "accuracy",
        "others",
        "changes",
        "nights",
    ):
        assert f'<h2 id="{heading}"'.encode() in content, heading
