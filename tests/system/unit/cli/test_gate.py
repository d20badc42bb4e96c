"""``ootci gate``: of the nightly, and of a pull request that is held against it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from fake_actions import WORKFLOWS, FakeJob, fake_actions
from fake_github import REPOSITORY, TOKEN
from unit.samples import changed, night, on_torch, plan, register, retries, run, stored

from ootci.history.store import History
from ootci.model.device import load_registry
from ootci.model.record import write
from ootci.model.run import Run
from ootci.stages.judge import judge

from commands import Tool  # isort: skip

NAMES = ("dev", "two", "three")
USUAL = {"good": "passed", "bad": "failed"}
"""What the suite integration comes to every night."""


@pytest.fixture(autouse=True)
def _in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ootci.cli.judge.clock", lambda: night(3))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two gating devices and an advisory one after three nights, and a pull request that changed nothing."""
    for name, tier in zip(NAMES, ("gating", "gating", "advisory"), strict=True):
        path = register(tmp_path, name, f"tier: {tier}\n")
        path.write_text(path.read_text(encoding="utf-8").replace("A device", name.capitalize()), encoding="utf-8")
    for number in range(3):
        stored(tmp_path / "data", plan(number, NAMES), *(run(number, name, integration=USUAL) for name in NAMES))
    write(plan(9, NAMES), tmp_path / ".ootci" / "plan.json")
    for name in NAMES:
        _report(tmp_path, run(9, name, integration=USUAL))
    return tmp_path


def _report(folder: Path, reported: Run) -> None:
    write(reported, folder / ".ootci" / "runs" / reported.device / "run.json")


def _ask(ootci: Tool, folder: Path, *more: str) -> tuple[int, str, str]:
    ran = ootci("gate", "--pull-request", *more, cwd=folder)
    return ran.code, ran.out, ran.err


def test_what_failed_on_the_nightly_too_is_no_reason_to_refuse(ootci: Tool, folder: Path) -> None:
    code, out, err = _ask(ootci, folder)
    assert (code, err) == (0, "")
    first, *devices = out.splitlines()
    assert first == "may one merge: yes (none of 2 gating devices is newly broken)"
    assert devices[0] == (
        "- dev: not worse, 1 failing as before: 1 test failing, first integration/test_x.py::bad"
        "; compared with night002-dev, torch 2.14.0.dev20261101+cpu"
    )
    assert devices[2].startswith("- three: not worse, advisory, 1 failing as before")


def test_what_is_newly_failing_closes_the_gate_and_is_named(ootci: Tool, folder: Path) -> None:
    many = {f"t{number:02}": "failed" for number in range(30)}
    _report(folder, run(9, "two", integration={**USUAL, **many, "good": "crashed"}))
    code, out, _ = _ask(ootci, folder)
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "may one merge: no (1 of 2 gating devices newly broken: Two)"
    assert lines[2].startswith("- two: newly broken, 1 failing as before: 31 tests started failing")
    assert lines[3] == "    integration/test_x.py::good"
    assert lines[23] == "    and 11 more"
    assert lines[-2:] == ["to continue nevertheless: --override two=REASON", "torch: 2.14.0.dev20261101+cpu"]
    found = json.loads(_ask(ootci, folder, "--format", "json")[1])
    assert (found["answer"], found["blocking"]) == ("no", ["two"])
    assert [found["devices"][1][key] for key in ("newly_failing", "still_failing", "effect")] == [31, 1, "newly_broken"]


def test_an_old_nightly_that_was_run_again_is_not_the_newest(ootci: Tool, folder: Path) -> None:
    late = run(1, "dev", integration={**USUAL, "good": "failed"}, attempt=2)
    History(folder / "data").append_run(late.model_copy(update={"started_at": night(5), "finished_at": night(6)}))
    _report(folder, run(9, "dev", integration={**USUAL, "good": "failed"}))
    code, out, _ = _ask(ootci, folder)
    assert (code, "- dev: newly broken, 1 failing as before" in out) == (1, True)
    assert "compared with night002-dev" in out


def test_a_device_that_is_asked_alone_is_asked_whatever_its_tier_is(ootci: Tool, folder: Path) -> None:
    _report(folder, run(9, "two", integration={**USUAL, "good": "failed"}))
    _report(folder, run(9, "three", integration={**USUAL, "good": "failed"}))
    (folder / ".ootci" / "runs" / "dev" / "run.json").unlink()
    said = {name: _ask(ootci, folder, "--device", name)[:2] for name in NAMES}
    assert {name: code for name, (code, _) in said.items()} == {"dev": 3, "two": 1, "three": 1}
    assert said["dev"][1].startswith("may one merge: cannot say (none of 1 gating device has a result")
    assert said["three"][1].splitlines()[1].startswith("- three: newly broken, 1 failing as before: 1 test started")


@pytest.mark.parametrize(("outcome", "code"), [("passed", 0), ("failed", 1)])
def test_a_device_without_a_nightly_that_is_asked_alone_is_judged_by_its_run(
    ootci: Tool, folder: Path, outcome: str, code: int
) -> None:
    register(folder, "stranger")
    write(plan(9, ("stranger",)), folder / ".ootci" / "plan.json")
    _report(folder, run(9, "stranger", integration={"good": outcome}))
    assert _ask(ootci, folder, "--device", "stranger")[0] == code
    assert _ask(ootci, folder)[0] == 0  # nobody who gates takes part


def test_a_device_that_was_broken_before_is_no_reason_to_test_again(ootci: Tool, folder: Path) -> None:
    broken = run(3, "two", smoke={"t": "failed"})
    stored(folder / "data", plan(3, NAMES), broken)
    _report(folder, run(9, "two", smoke={"t": "failed"}))
    code, out, _ = _ask(ootci, folder, "--device", "two")
    assert (code, "- two: broken before" in out) == (0, True), out


def test_a_device_that_the_plan_does_not_have_is_an_error(ootci: Tool, folder: Path) -> None:
    code, _, err = _ask(ootci, folder, "--device", "four")
    assert code == 2, err


def test_an_advisory_device_never_closes_it(ootci: Tool, folder: Path) -> None:
    _report(folder, run(9, "three", smoke={"one": "failed"}, integration=USUAL))
    code, out, _ = _ask(ootci, folder)
    assert code == 0
    assert "- three: newly broken, advisory, 1 failing as before: 1 test of smoke failed" in out


def test_where_only_advisory_devices_take_part_nobody_closes_it_but_who_asks_for_one(ootci: Tool, folder: Path) -> None:
    write(plan(9, NAMES[2:]), folder / ".ootci" / "plan.json")
    _report(folder, run(9, "three", smoke={"one": "failed"}, integration=USUAL))
    code, out, _ = _ask(ootci, folder)
    assert (code, out.splitlines()[0]) == (0, "may one merge: yes (no gating device takes part in it)")
    code, out, _ = _ask(ootci, folder, "--devices", "devices/three.yaml")
    assert code == 1
    assert out.startswith("may one merge: no (1 of 1 gating device newly broken: Three)")


def test_flaky_tests_are_told_apart(ootci: Tool, folder: Path) -> None:
    made = run(9, "dev", integration={**USUAL, "good": "failed"})
    _report(folder, changed(made, lambda item: item.id.endswith("good"), attempts=retries("passed")))
    code, out, _ = _ask(ootci, folder)
    assert (code, "- dev: not worse, 1 failing as before, 1 flaky" in out) == (0, True)


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ("gone", "no data: no report"),
        ("bad", "unreadable: its report could not be read: run.json is not valid: "),
        ("infra", "infra: check: "),
        ("another", "unreadable: its report could not be read: it is a report of 'two', run 'night009-two'"),
    ],
)
def test_a_device_without_a_result_is_named_and_half_of_them_are_needed(
    ootci: Tool, folder: Path, what: str, word: str
) -> None:
    path = folder / ".ootci" / "runs" / "dev" / "run.json"
    if what == "gone":
        path.unlink()
    elif what == "bad":
        path.write_bytes(b"\x00")
    elif what == "infra":
        _report(folder, run(9, "dev", stages={"check": "failed"}, smoke={}, integration={}))
    else:
        write(run(9, "two", integration=USUAL), path)
    code, out, err = _ask(ootci, folder)
    assert (code, "Traceback" in err) == (0, False)
    said = word.partition(": ")[2]
    assert out.startswith(f"may one merge: yes (none of 1 gating device is newly broken; Dev: {said}")
    assert f"- dev: {word}" in out
    (folder / ".ootci" / "runs" / "two" / "run.json").unlink()
    code, out, _ = _ask(ootci, folder)
    assert (code, out.startswith("may one merge: cannot say (none of 2 gating devices has a result; Dev: ")) == (
        3,
        True,
    )
    assert _ask(ootci, folder, "--override", "dev=x", "--override", "two=y")[0] == 3
    assert "is not asked, overridden: x" in _ask(ootci, folder, "--override", "dev=x")[1]


def test_an_attempt_with_an_unreadable_report_takes_nothing_back(ootci: Tool, folder: Path) -> None:
    broken = run(9, "dev", integration={**USUAL, "good": "failed"})
    runs = folder / ".ootci" / "runs"
    (runs / "dev" / "run.json").unlink()
    write(broken, runs / "run-dev-1" / "run.json")
    (runs / "run-dev-2").mkdir()
    (runs / "run-dev-2" / "run.json").write_bytes(b"\x00")
    again = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ATTEMPT": "2"}
    ran = ootci("gate", "--pull-request", cwd=folder, env=again)
    assert (ran.code, "- dev: newly broken" in ran.out) == (1, True)


def test_without_the_reference_nothing_is_known_of_a_pull_request(ootci: Tool, folder: Path) -> None:
    path = folder / "devices" / "dev.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("tier: gating", "tier: reference"), encoding="utf-8")
    (folder / ".ootci" / "runs" / "dev" / "run.json").unlink()
    code, out, _ = _ask(ootci, folder)
    assert (code, out.splitlines()[0]) == (
        3,
        "may one merge: cannot say (the reference device Dev has no result on this PyTorch: no report)",
    )


def test_without_a_nightly_nothing_is_known(ootci: Tool, folder: Path) -> None:
    code, out, _ = _ask(ootci, folder, "--history", str(folder / "none"))
    assert (code, "cannot say (none of 2 gating devices has a result; Dev: no nightly" in out) == (3, True)
    assert "no nightly on the same base has a complete report to hold it against" in out


def test_it_is_held_against_the_newest_nightly_on_the_same_base(ootci: Tool, folder: Path) -> None:
    newer = "2.15.0.dev20261105+cpu"
    failing = [on_torch(run(4, name, integration={**USUAL, "good": "failed"}), newer) for name in NAMES]
    stored(folder / "data", plan(4, NAMES), *failing)
    code, out, _ = _ask(ootci, folder)
    assert (code, "compared with night002-dev, torch 2.14.0.dev20261101+cpu" in out) == (0, True)
    for version, answer in (("2.15.0a0+gitabc", "not worse, 2 failing as before"), ("2.16.0a0", "no data")):
        for name in NAMES:
            _report(folder, on_torch(run(9, name, integration={**USUAL, "good": "failed"}), version))
        assert f"- dev: {answer}" in _ask(ootci, folder)[1]


def test_who_was_broken_before_neither_closes_nor_speaks_for_it(ootci: Tool, folder: Path) -> None:
    broken = {"stages": {"build": "failed"}, "smoke": {}, "integration": {}}
    stored(folder / "data", plan(3, NAMES), run(3, "dev", **broken))  # type: ignore[arg-type]
    _report(folder, run(9, "dev", **broken))  # type: ignore[arg-type]
    code, out, _ = _ask(ootci, folder)
    assert (code, "- dev: broken before: as on the newest nightly: build: build failed" in out) == (0, True)
    _report(folder, run(9, "two", **broken))  # type: ignore[arg-type]
    assert "newly broken: Two; Dev: as on the newest nightly" in _ask(ootci, folder)[1]


def test_an_answer_can_be_handed_on_without_a_failure(ootci: Tool, folder: Path) -> None:
    _report(folder, run(9, "dev", integration={**USUAL, "good": "failed"}))
    assert _ask(ootci, folder, "--exit-zero", "--github-output", "told.txt")[0] == 0
    assert (folder / "told.txt").read_text(encoding="utf-8") == "answer=no\n"


def test_an_override_needs_a_reason_and_is_told(ootci: Tool, folder: Path) -> None:
    _report(folder, run(9, "dev", integration={**USUAL, "good": "failed"}))
    code, out, err = _ask(ootci, folder, "--override", "dev=see #1", "--override", "two=x")
    assert code == 0
    assert "- dev is not asked, overridden: see #1" in out
    assert err == "--override two: it has a result and does not block, so there is nothing to override\n"
    for wrong in ("dev", "dev=", "=x"):
        code, _, err = _ask(ootci, folder, "--override", wrong)
        assert (code, "names no device or gives no reason" in err) == (2, True)


def _judge(folder: Path, *runs: Run) -> None:
    """Add the fourth night to the history and judge it."""
    history = stored(folder / "data", plan(3, NAMES), *runs)
    write(judge(load_registry(folder / "devices"), history, night(3)), folder / ".ootci" / "verdicts.json")


def test_the_nightly_names_what_is_new_and_since_when(ootci: Tool, folder: Path) -> None:
    broken = {"dev": {**USUAL, "good": "failed"}}
    _judge(folder, *(run(3, name, integration=broken.get(name, USUAL)) for name in NAMES))
    ran = ootci("gate", cwd=folder)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "may one merge: no (blocked by 2 of 2 gating devices: Dev (REGRESSED), Two (FAILING))",
        "- dev: REGRESSED, since 2026-11-01: 1 test started failing",
        "    integration/test_x.py::good",
        "    only this device: whether its plugin changed is not known, PyTorch did not",
        f"- two: FAILING, since {night(0):%Y-%m-%d}: 1 test failing, first integration/test_x.py::bad",
        "to continue nevertheless: --override dev=REASON --override two=REASON",
    ]
    one = ootci("gate", "--override", "dev=x", cwd=folder)
    assert (one.code, "blocked by 1 of 1 gating device: Two (FAILING); overridden: Dev" in one.out) == (1, True)
    both = ootci("gate", "--override", "dev=x", "--override", "two=y", cwd=folder)
    assert (both.code, "overridden: Dev, Two" in both.out) == (3, True)
    torch = ootci("gate", "--torch", "2.15", cwd=folder)
    assert (torch.code, "of another torch than 2.15" in torch.out) == (3, True)


@pytest.mark.parametrize(
    ("planned", "hours", "paused", "gating"),
    [
        (NAMES, 24, NAMES[:1], 1),  # silent, so that the gate is asked
        (NAMES[2:], 24, NAMES[:2], 0),
        # Somebody started the advisory device alone; the others' results are of the day before, or of the same day.
        (NAMES[2:], 24, (), 0),
        (NAMES[2:], 1, (), 2),
    ],
)
def test_the_judge_counts_the_gating_devices_so_that_a_workflow_asks_no_gate_without_one(
    ootci: Tool, folder: Path, planned: tuple[str, ...], hours: int, paused: tuple[str, ...], gating: int
) -> None:
    for name in paused:
        register(folder, name, "tier: gating\npaused: {reason: Its machine is being moved.}\n")
    newest = plan(3, planned).model_copy(update={"created_at": night(2) + timedelta(hours=hours)})
    stored(folder / "data", newest)
    ran = ootci("judge", "--github-output", "told.txt", cwd=folder)
    assert (ran.code, ran.err) == (0, "")
    assert (folder / "told.txt").read_text(encoding="utf-8") == f"gating={gating}\n"
    if not gating:
        assert ootci("gate", cwd=folder).out.startswith("may one merge: cannot say (")


def test_verdicts_of_a_nightly_that_was_not_followed_are_no_answer(
    ootci: Tool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = load_registry(folder / "devices")
    write(judge(registry, History(folder / "data"), night(2)), folder / ".ootci" / "verdicts.json")
    assert ootci("gate", cwd=folder).code == 1
    monkeypatch.setattr("ootci.cli.judge.clock", lambda: night(9))
    late = ootci("gate", cwd=folder)
    assert (late.code, late.out.splitlines()[0].startswith("may one merge: cannot say (the newest nightly")) == (
        3,
        True,
    )


def test_a_device_that_is_asked_for_decides_alone_whatever_its_tier_is(ootci: Tool, folder: Path) -> None:
    outcomes = zip(NAMES, ("failed", "passed", "failed"), strict=True)
    _judge(folder, *(run(3, name, integration={"good": good, "bad": "passed"}) for name, good in outcomes))
    for name, code, said in (
        ("two", 0, "yes (1 of 1 gating device as expected)"),
        ("three", 1, "no (blocked by 1 of 1 gating device: Three (REGRESSED))"),
    ):
        ran = ootci("gate", "--device", name, "--github-output", f"{name}.txt", cwd=folder)
        assert (ran.code, ran.out.splitlines()[0]) == (code, f"may one merge: {said}")
    told = [(folder / f"{name}.txt").read_text(encoding="utf-8") for name in ("two", "three")]
    assert told == ["answer=yes\nverdict=OK\n", "answer=no\nverdict=REGRESSED\n"]
    assert ootci("gate", "--device", "nobody", cwd=folder).code == 2


def test_of_a_device_that_the_judge_did_not_know_nobody_can_say(ootci: Tool, folder: Path) -> None:
    registry = load_registry(folder / "devices")
    write(judge(registry[:1], History(folder / "data"), night(3)), folder / ".ootci" / "verdicts.json")
    ran = ootci("gate", "--device", "two", cwd=folder)
    assert (ran.code, ran.out) == (
        3,
        "may one merge: cannot say (none of 1 gating device has a result; Two: nothing is known of it)\n",
    )


def test_the_answer_in_markdown_is_added_to_a_summary_and_links_where_the_site_is_known(
    ootci: Tool, folder: Path
) -> None:
    (folder / "summary.md").write_text("before\n", encoding="utf-8")
    code, out, _ = _ask(ootci, folder, "--summary", "summary.md", "--address", "https://example.org/site")
    assert (code, out.splitlines()[0]) == (0, "may one merge: yes (none of 2 gating devices is newly broken)")
    text = (folder / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("before\n### ✅ May one merge: yes\n")
    assert "](https://example.org/site/d/dev/)" in text
    _, out, _ = _ask(ootci, folder, "--format", "markdown", "--address", "https://example.org/site")
    assert text == "before\n" + out


def test_a_device_whose_job_no_runner_took_is_infra_and_not_silent(ootci: Tool, folder: Path) -> None:
    (folder / ".ootci" / "runs" / "two" / "run.json").unlink()
    (folder / ".ootci" / "runs" / "three" / "run.json").unlink()
    named = yaml.safe_load((WORKFLOWS / "pull-request.yml").read_text(encoding="utf-8"))["jobs"]["device"]["name"]
    with fake_actions() as hub:
        tested = hub.add_run("pull-request.yml", event="repository_dispatch", created_at=night(0))
        of_two, of_three, reports = (
            FakeJob(night(0), name=f"{named.replace('${{ matrix.device }}', name)} / {job}")
            for name, job in (("two", "device / device"), ("three", "device / device"), ("two", "report / report"))
        )
        of_three.status, of_three.runner = "in_progress", 7
        reports.runner = 8
        tested.jobs = [of_two, of_three, reports]
        tested.end("cancelled")
        asked = {**hub.environment, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_TOKEN": TOKEN}
        call = ("gate", "--pull-request", "--run-id", str(tested.number))
        ran = ootci(*call, cwd=folder, env=asked)
        assert (ran.code, ran.err) == (0, "")
        said = "check: runner offline since 2026-11-01 04:00 UTC"
        assert ran.out.splitlines()[0].endswith(f"(none of 1 gating device is newly broken; Two: {said})")
        assert f"- two: infra: {said}" in ran.out
        assert "- three: no data, advisory: no report" in ran.out
        # Somebody cancelled it soon after it began to wait.
        of_two.created_at = night(3) - timedelta(minutes=59)
        assert "- two: no data: no report" in ootci(*call, cwd=folder, env=asked).out
        # What GitHub does not tell is a warning.
        ran = ootci(*call, cwd=folder, env={**asked, "GITHUB_TOKEN": "another"})
    assert "HUB-002: it is not known whether a runner took each device's job" in ran.err
    assert "- two: no data: no report" in ran.out
