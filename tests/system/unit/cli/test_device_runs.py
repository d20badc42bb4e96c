"""``ootci dispatch`` and ``ootci receive``: devices in runs of their own, against a stand-in for GitHub's API."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from fake_actions import FakeJob
from fake_github import REPOSITORY, Moment
from unit.cli.device_runs_world import LATE, NAMES, World
from unit.samples import night, plan, run

from ootci.adapters import github_rest
from ootci.model.compat import Compat

SOON = timedelta(hours=1)


def test_each_device_gets_a_run_of_its_own_once(world: World) -> None:
    world.nightly(0)
    started = [run for run in world.hub.runs.values() if run.workflow == "device-run.yml"]
    assert [run.title for run in started] == ["night000 dev", "night000 two"]
    assert started[0].inputs == {
        "nightly": "night000",
        "device": "dev",
        "plan-run": "100",
        "plan-artifact": "plan-1",
        "job": '{"device": "dev"}',
    }
    jobs = json.dumps({"include": [{"device": "dev"}, {"device": "three"}]})
    ran = world.call("dispatch", "--jobs", jobs, "--plan-artifact", "plan-1", "--run-id", "100")
    assert (ran.code, ran.out) == (0, "runs started: 1\n")
    assert "dev: its run was started before" in ran.err


def test_a_run_that_cannot_be_started_keeps_no_other_out_and_is_red(world: World) -> None:
    world.nightly(0, ())
    refused = Moment(403, body='{"message": "Resource not accessible by integration"}', only="POST")
    world.hub.moments.append(refused)
    jobs = json.dumps({"include": [{"device": name} for name in NAMES]})
    ran = world.call("dispatch", "--jobs", jobs, "--plan-artifact", "plan-1", "--run-id", "100")
    assert (ran.code, [run.title for run in world.hub.runs.values()][1:]) == (3, ["night000 two"])
    assert "warning HUB-002: the run of dev is not started: GitHub answered 403: Resource not accessible" in ran.err
    assert "the permission actions: write" in ran.err


@pytest.mark.parametrize("jobs", ["", "[]", '{"include": [{}]}', '{"include": [{"device": 1}]}'])
def test_what_is_no_matrix_is_an_error(world: World, jobs: str) -> None:
    world.nightly(0)
    ran = world.call("dispatch", "--jobs", jobs, "--plan-artifact", "plan-1", "--run-id", "100")
    assert (ran.code, "it is no matrix of jobs" in ran.err) == (2, True)


def test_a_nightly_is_added_once_when_all_have_reported(world: World) -> None:
    world.nightly(0)
    world.report(0, "dev")
    world.now += SOON
    ran, found = world.receive()
    assert (ran.code, found) == (0, {"received": "no", "publish": "no", "devices": ""})
    assert "night000: waiting until 08:00 UTC for two" in ran.err
    assert world.history.plans() == ()
    world.report(0, "two")
    assert world.received() == {"received": "yes", "publish": "yes", "devices": "dev two"}
    assert world.verdicts() == {"dev": "OK: 2 of 2 tests passed", "two": "OK: 2 of 2 tests passed"}
    # Also after it was ended before it could publish, which fetched the history again.
    assert world.received() == {"received": "no", "publish": "no", "devices": ""}
    assert world.received("--always") == {"received": "no", "publish": "yes", "devices": ""}
    again = world.received(GITHUB_RUN_ATTEMPT="2")
    assert again == {"received": "yes", "publish": "yes", "devices": ""}


def test_a_run_on_another_torch_is_added_when_it_comes_and_holds_up_nobody(world: World) -> None:
    world.nightly(0, also=["dev_release"])
    for name in NAMES:
        world.report(0, name)
    assert world.received() == {"received": "yes", "publish": "yes", "devices": "dev two"}
    assert world.history.stored_runs("dev_release") == ()
    world.report(0, "dev_release")
    assert world.received() == {"received": "yes", "publish": "yes", "devices": ""}
    assert len(world.history.stored_runs("dev_release")) == 1


def test_a_nightly_waits_for_its_own_run_too(world: World) -> None:
    own = world.nightly(0, ended=False)
    for name in NAMES:
        world.report(0, name)
    assert world.received()["received"] == "no"
    predicted = Compat(plan_id="night000", predictions=())
    world.hub.upload(own.number, "compat-1", own.sha, {"compat.json": b"no predictions"})
    world.hub.upload(own.number, "compat-2", own.sha, {"compat.json": predicted.to_json().encode()})
    own.end()
    assert world.received()["received"] == "yes"
    assert world.history.compat("night000") is not None


def test_a_runner_that_is_offline_holds_up_neither_the_page_nor_the_next_night(world: World) -> None:
    world.nightly(0)
    world.report(0, "dev")
    silent = world.hub.started("two")
    world.now = night(0) + LATE
    assert world.received() == {"received": "yes", "publish": "yes", "devices": "dev two"}
    reason = "INFRA: check: runner offline since 2026-11-01 04:00 UTC"
    assert world.verdicts() == {"dev": "OK: 2 of 2 tests passed", "two": reason}
    assert (silent.status, silent.conclusion) == ("completed", "cancelled")
    assert world.received()["received"] == "no"
    # The machine is still away the next night. The page does not wait, and nothing is known of the night before anew.
    world.nightly(1)
    world.report(1, "dev")
    assert world.received()["received"] == "no"
    assert world.hub.started("two").status == "queued"
    world.now = night(1) + LATE
    assert world.received()["devices"] == "dev two"
    assert world.verdicts()["two"] == reason.replace("-01 ", "-02 ")


def test_pull_requests_are_not_tested_after_the_relay_has_given_up_on_them(world: World) -> None:
    """A machine that comes back begins with the nightly."""
    late, busy, new = (world.hub.add_run("pull-request.yml", event="repository_dispatch") for _ in range(3))
    late.jobs.append(FakeJob(world.now, "completed", "success", 7))
    busy.jobs.append(FakeJob(world.now, "in_progress", runner=8))
    new.started_at += SOON
    world.now += timedelta(hours=6)
    assert world.received()["received"] == "no"
    assert [run.conclusion for run in (late, busy, new)] == ["cancelled", None, None]


def test_a_run_that_stays_queued_whatever_is_done_holds_up_no_night(world: World) -> None:
    world.nightly(0)
    stuck = world.hub.started("two")
    world.report(0, "dev")
    world.now = night(0) + LATE
    world.hub.moments.append(Moment(409, only="POST", body='{"message": "Cannot cancel"}'))
    ran, found = world.receive()
    assert (ran.code, found["received"]) == (0, "yes")
    assert "night000 two is not cancelled: GitHub answered 409" in ran.err
    assert stuck.status == "queued"
    world.nightly(1)
    for name in NAMES:
        world.report(1, name)
    assert world.received()["devices"] == "dev two"
    assert world.verdicts()["two"].startswith("OK")
    assert stuck.status == "completed", "it was tried again"


def test_a_report_that_is_late_is_added_when_it_comes(world: World) -> None:
    world.nightly(0)
    world.report(0, "dev")
    busy = world.hub.started("two")
    busy.status = busy.jobs[0].status = "in_progress"
    busy.jobs[0].runner = 7
    world.now = night(0) + LATE
    assert world.received()["received"] == "yes"
    assert world.verdicts()["two"].startswith("NEVER_RAN")
    assert busy.status == "in_progress"
    world.nightly(1)
    for name in NAMES:
        world.report(1, name)
    assert world.received()["devices"] == "dev two"
    late = run(0, "two")
    world.hub.upload(busy.number, "run-two-1", busy.sha, {"run.json": late.to_json().encode()})
    busy.end()
    # It is not the newest night's, so that the relay hears nothing of it.
    assert world.received() == {"received": "yes", "publish": "yes", "devices": ""}
    assert [stored.late is not None for stored in world.history.stored_runs("two")] == [True, False]
    assert world.received()["received"] == "no"


def test_a_device_that_was_cancelled_just_when_it_began_counts_when_it_reports(world: World) -> None:
    world.nightly(0)
    world.report(0, "dev")
    world.now = night(0) + LATE
    world.received()
    assert world.verdicts()["two"].startswith("INFRA")
    world.report(0, "two")
    assert world.received() == {"received": "yes", "publish": "yes", "devices": "two"}
    (stored,) = world.history.stored_runs("two")
    assert stored.late is not None
    assert stored.late.instead is not None
    assert world.verdicts()["two"].startswith("OK")


def test_a_job_that_is_run_again_counts_and_gets_its_own_time(world: World) -> None:
    world.nightly(0)
    world.report(0, "dev")
    world.report(0, "two", made=run(0, "two", stages={"check": "failed"}))
    assert world.received()["devices"] == "dev two"
    again = world.hub.started("two")
    world.now = night(0) + LATE
    again.attempt, again.started_at, again.status = 2, world.now, "queued"
    again.jobs = [FakeJob(world.now)]
    assert world.received()["received"] == "no"
    assert again.status == "queued"
    world.report(0, "two", attempt=2)
    assert world.received()["devices"] == "two"
    assert world.verdicts()["two"].startswith("OK")
    # One that nobody takes takes nothing back.
    again.attempt, again.started_at, again.status = 3, world.now, "queued"
    again.jobs = [FakeJob(world.now)]
    world.now += LATE
    assert world.received()["received"] == "no"
    assert again.conclusion == "cancelled"
    assert world.verdicts()["two"].startswith("OK")


def test_a_device_whose_run_was_not_started_is_waited_for_until_the_deadline(world: World) -> None:
    world.nightly(0)
    world.report(0, "dev")
    del world.hub.runs[world.hub.started("two").number]
    assert world.received()["received"] == "no"
    world.now = night(0) + LATE
    assert world.received()["received"] == "yes"
    assert world.verdicts()["two"] == "INFRA: check: no workflow run was started"


def test_nightlies_are_added_in_their_order(world: World) -> None:
    world.nightly(0)
    world.report(0, "dev")
    world.now = night(0) + SOON
    second = world.hub.add_run("nightly.yml", number=300)
    planned = plan(0, ()).model_copy(update={"id": "by-hand", "created_at": world.now})
    world.hub.upload(300, "plan-1", second.sha, {"plan.json": planned.to_json().encode()})
    second.end()
    assert world.received()["received"] == "no"
    world.now = night(0) + LATE
    # Of one that somebody started the relay hears nothing.
    assert world.received() == {"received": "yes", "publish": "yes", "devices": ""}
    assert [plan.id for plan in world.history.plans()] == ["night000", "by-hand"]


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("repository", "mallory/fork"),
        ("branch", "other"),
        ("event", "pull_request"),
        ("expired", {"run-two-1"}),
    ],
)
def test_what_is_no_report_of_ours_is_not_taken(world: World, what: str, value: object) -> None:
    world.nightly(0)
    world.report(0, "dev")
    world.report(0, "two")
    setattr(world.hub.started("two"), what, value)
    world.now = night(0) + LATE
    assert world.received()["received"] == "yes"
    assert not world.verdicts()["two"].startswith("OK")
    assert world.verdicts()["dev"].startswith("OK")


@pytest.mark.parametrize(
    ("name", "files", "why"),
    [
        ("run-two-1", {"other": b""}, "the artifact holds no run.json"),
        ("run-two-1", {"run.json": b" " * (40 << 20)}, "run.json is larger than 32768 KiB"),
        ("run-two-1", {"run.json": run(0, "dev").to_json().encode()}, "it is a report of 'dev'"),
        ("run-two-1", {"run.json": run(0, "two", attempt=2).to_json().encode()}, "it is of attempt 2"),
        ("run-two-1", {"run.json": b"[]"}, "run.json"),
    ],
    ids=["no report", "a bomb", "another device", "another attempt", "no record"],
)
def test_a_report_that_cannot_be_used_is_one_of_its_device(
    world: World, name: str, files: dict[str, bytes], why: str
) -> None:
    world.nightly(0)
    world.report(0, "dev")
    bad = world.hub.started("two")
    world.hub.upload(bad.number, name, bad.sha, files)
    bad.end()
    assert world.received()["devices"] == "dev two"
    assert world.verdicts()["two"].startswith("LOST_TESTS: smoke: report unreadable: ")
    assert why in world.verdicts()["two"]
    assert world.received()["received"] == "no"


def test_an_archive_that_is_none_is_a_report_that_cannot_be_used(world: World) -> None:
    world.nightly(0)
    world.report(0, "dev")
    bad = world.hub.started("two")
    world.hub.store(bad, "run-two-1", b"no archive")
    world.hub.store(bad, "run-dev-1", b"of another")
    world.hub.store(bad, "run-two-9", b"of an attempt that was not")
    bad.end()
    assert world.received()["devices"] == "dev two"
    assert "the artifact cannot be read (BadZipFile)" in world.verdicts()["two"]
    assert world.verdicts()["dev"].startswith("OK")


def test_every_page_is_read_and_a_limit_is_waited_for(world: World) -> None:
    world.hub.page = 1
    world.nightly(0)
    for name in NAMES:
        world.report(0, name)
    limited = Moment(403, {"Retry-After": "0", "X-RateLimit-Remaining": "0"}, '{"message": "API rate limit exceeded"}')
    world.hub.moments += [limited, limited]
    assert world.received()["devices"] == "dev two"


def test_while_github_is_down_nothing_is_lost_and_nothing_is_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github_rest, "ATTEMPTS", 1)
    monkeypatch.setattr(github_rest.time, "sleep", lambda _: None)
    for number in (0, 1):
        world.nightly(number)
        for name in NAMES:
            world.report(number, name)
    archive = f"GET /repos/{REPOSITORY}/actions/artifacts"
    world.hub.moments.append(Moment(503, only=archive))
    ran, found = world.receive()
    assert (ran.code, found, world.history.plans()) == (3, {}, ())
    assert world.received()["received"] == "yes"
    assert [plan.id for plan in world.history.plans()] == ["night000", "night001"]


def test_the_documentation_of_the_newest_nightly_is_taken_and_leads_nowhere_else(world: World) -> None:
    own = world.nightly(0)
    for name in NAMES:
        world.report(0, name)
    world.hub.upload(own.number, "docs-1", own.sha, {"index.html": b"<p>", "guides/x.html": b"x"})
    world.received()
    docs = world.folder / ".ootci" / "docs"
    assert {str(path.relative_to(docs)) for path in docs.rglob("*.html")} == {"index.html", "guides/x.html"}
    for hostile in ("../evil.html", "/evil.html", "a/../../evil.html"):
        world.hub.upload(own.number, "docs-2", own.sha, {"index.html": b"", hostile: b"x"})
        world.received("--always")
        assert not docs.exists()
        assert not (world.folder / ".ootci" / "evil.html").exists()


def test_without_a_token_or_a_branch_nothing_is_asked(world: World) -> None:
    ran, _ = world.receive(GITHUB_TOKEN="")
    assert (ran.code, "there is no token\n  where: GITHUB_TOKEN" in ran.err) == (2, True)
    ran, _ = world.receive(GITHUB_REF_NAME="")
    assert (ran.code, "there is no branch\n  where: --branch" in ran.err) == (2, True)
    assert world.hub.asked == []
