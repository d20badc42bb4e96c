"""A device run that attacks the page through every field that it can fill."""

from __future__ import annotations

import itertools
from datetime import date
from pathlib import Path

from unit.render.sample import BAD_RANGE, Sample, sample
from unit.render.sample_clusters import cluster, mark, part
from unit.samples import whole_runs

from ootci.history.expectations import review_known, review_unsupported
from ootci.history.store import History
from ootci.history.stored import stored
from ootci.model.accuracy import Accuracy
from ootci.model.build import PluginBuild, StageName, StageResult, StageStatus
from ootci.model.capability import Capability
from ootci.model.cluster import Cause, Cluster, Signature, Streak
from ootci.model.device import KnownFailure, Unsupported
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import Plan, Trigger
from ootci.model.run import Environment, Links, OperatorCount, ReportState, Run, SuiteReport
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import Change, ChangeName

MARKUP = "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">'\"&lt;{{ 7 * 7 }}"
HIDDEN = "\x1b[31mred\x1b[0m\u202etxt.exe\u200b\x00\x07 עברית 🎉"
LONG = "0123456789abcdef" * 6_000
EVIL = MARKUP + HIDDEN
ADDRESS = "javascript:document.title='ran'"
OUTCOMES = tuple(OutcomeName)
EVIL_NAME = Signature.of(EVIL)


def hostile_run(honest: Run, long: str = LONG) -> Run:
    """A run whose every text is hostile; ids and enumerations are what the border lets through."""
    text = EVIL + long
    counts = Counts(failed=10**9, passed=10**12)
    return honest.model_copy(
        update={
            "attempt": honest.attempt + 1,
            "url": ADDRESS,
            "torch": TorchBuild(version=text, git_version=f"../../{EVIL}"),
            "torch_request": honest.torch_request.model_copy(
                update={"wanted": text, "version": text, "fallback_reason": text, "unavailable_reason": text}
            ),
            "plugin": PluginBuild(package=text, version=text, source=ADDRESS + text, commit=text),
            "environment": Environment(
                python=text,
                os=text,
                machine=text,
                cpus=1,
                compiler=text,
                runner=text,
                image=text,
                device_facts={"driver": text, "sdk": text, "card.name": text},
            ),
            "links": Links(plugin_commit=text, report=text, log=text),
            "stages": tuple(
                StageResult(
                    name=name,
                    status=status,
                    started_at=honest.started_at,
                    duration=1e12,
                    reason=text,
                    excerpt=text,
                    log=f"../../{EVIL}",
                )
                for name, status in zip(StageName, itertools.cycle(StageStatus), strict=False)
            ),
            "suites": (
                SuiteReport(suite=text, required=False, state=ReportState.TRUNCATED, detail=text, counts=counts),
            ),
            "operators": tuple(OperatorCount(operator=text, fallback=10**15) for _ in range(500)),
            "outcomes": _outcomes(text),
        }
    )


def _outcomes(text: str) -> tuple[Outcome, ...]:
    """Tests with hostile ids, and operators' tests with hostile messages."""
    tests = (
        Outcome(
            id=f"{number}{text}",
            suite=text,
            outcome=OUTCOMES[number % len(OUTCOMES)],
            capability=text,
            title=text,
            duration=-1e9,
            message=text,
            text=text,
        )
        for number in range(40)
    )
    operators = (
        Outcome(
            id=f"ops/test_forward.py::test_forward[add{number}-float{number}]",
            suite="ops",
            outcome=OUTCOMES[number % len(OUTCOMES)],
            message=f"{number}{text}",
            accuracy=Accuracy(10**15, [None, 1e300][number % 2], 1e300, 0.0, None),
        )
        for number in range(10)
    )
    return (*tests, *operators)


def _claiming(plan: Plan) -> Plan:
    """The plan with claims whose every text is as hostile as the border lets through."""
    entries = tuple(
        KnownFailure(
            id=f"smoke/{number}{EVIL}",
            reason=EVIL,
            issue=f"https://example.com/\"onclick='x'{number}",
            added=date(2026, 1, 1),
            expires=date(2026, 2 + 10 * (number % 2), 28),
        )
        for number in range(400)
    )
    claims = tuple(Unsupported(capability=item, reason=EVIL) for item in Capability)
    runs = tuple(
        run.model_copy(update={"known_failures": entries, "unsupported": claims}) if run.device == "borealis" else run
        for run in plan.runs
    )
    trigger = Trigger(event=EVIL, url=ADDRESS)
    left_out = tuple(item.model_copy(update={"reason": EVIL + LONG}) for item in plan.left_out)
    return plan.model_copy(update={"runs": runs, "left_out": left_out, "trigger": trigger})


def _clusters(ids: tuple[str, ...]) -> tuple[Cluster, ...]:
    """A cluster whose every text is hostile, and three hundred more."""
    parts = (part("borealis", *ids), *(part(f"{number}{EVIL}", *ids) for number in range(60)))
    evil = cluster(EVIL, Cause.UPSTREAM, EVIL + LONG, *parts).model_copy(
        update={"commits": EVIL + LONG, "commits_url": ADDRESS}
    )
    return (evil, *(cluster(f"{number}{EVIL}", Cause.UNKNOWN, EVIL, parts[0]) for number in range(300)))


def _by_turns(past: History, history: History) -> None:
    """Every earlier night was run again, with a test besides that has a hostile name and fails by turns."""
    for number, run in enumerate(whole_runs(past, "borealis")[:-3]):
        outcome = OutcomeName.FAILED if number % 2 else OutcomeName.PASSED
        test = Outcome(id=f"integration/{EVIL}", suite="integration", outcome=outcome)
        again = {"attempt": run.attempt + 1, "outcomes": (*run.outcomes, test)}
        history.append_run(run.model_copy(update=again))


def hostile_sample(folder: Path) -> Sample:
    """The sample, with one device that is hostile in its file, its run and therefore its verdict."""
    honest = sample(folder, _claiming)
    index = next(number for number, item in enumerate(honest.registry) if item.device.name == "borealis")
    verdict = honest.verdicts.devices[index]
    run = next(
        item for item in whole_runs(History(folder), "borealis") if item.id == verdict.run_id and item.attempt == 2
    )
    evil = hostile_run(run)
    honest.history.append_run(evil)
    _by_turns(History(folder), honest.history)
    verdict = verdict.model_copy(
        update={
            "reason": EVIL + LONG,
            "torch_request": evil.torch_request,
            "torch": evil.torch,
            "known_failures": review_known(honest.history.plans()[-1], "borealis", stored(evil)),
            "unsupported": review_unsupported(honest.history.plans()[-1], "borealis", stored(evil)),
            "changes": tuple(
                Change(
                    id=item.id,
                    change=ChangeName.REGRESSION,
                    after=item.outcome,
                    signature=EVIL_NAME.id,
                    streak=number % 3,
                )
                for number, item in enumerate(evil.outcomes)
            ),
            "streaks": (
                Streak(first_failed=mark(3), commits=EVIL + LONG, commits_url=ADDRESS),
                Streak(first_failed=mark(3), last_passed=mark(2), commits=EVIL, commits_url=f"https://{EVIL}"),
            ),
        }
    )
    device = honest.registry[index].device
    device = device.model_copy(
        update={
            "display_name": MARKUP[:200],
            "vendor": EVIL,
            "description": EVIL,
            "maintainers": ("@someone",),
            "bad_ranges": (BAD_RANGE.model_copy(update={"reason": EVIL, "link": ADDRESS}),),
        }
    )
    registry, devices = list(honest.registry), list(honest.verdicts.devices)
    registry[index] = honest.registry[index].model_copy(update={"device": device})
    devices[index] = verdict
    verdicts = honest.verdicts.model_copy(
        update={
            "devices": tuple(devices),
            "clusters": _clusters(tuple(item.id for item in evil.outcomes if item.is_failure)[:5]),
            "summary": EVIL,
            "gate": honest.verdicts.gate.model_copy(update={"reason": EVIL + LONG}),
        }
    )
    return Sample(tuple(registry), honest.history, verdicts)
