"""The workflow that publishes, run as it is by act without anything new: on a fresh history, an old one, and none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from e2e.act_nightly import WATCH, ActNightly
from e2e.act_runner import Repository
from e2e.packages import serve_torch
from fake_actions import FakeActions
from repositories import commit, git
from unit.samples import plan, run

from ootci.history.store import History

SPOKEN = dict.fromkeys(("publish", "pages", "alert"), "success")

pytestmark = [pytest.mark.act, pytest.mark.long]


@pytest.fixture(scope="module")
def nightly(packages: Mapping[str, str], hub: FakeActions, tmp_path_factory: pytest.TempPathFactory) -> ActNightly:
    folder = tmp_path_factory.mktemp("repository")
    repository = Repository.copy(folder, whole=True)
    repository.commit()
    return ActNightly(repository, folder, hub, {**packages, **hub.environment})


def _publish_nightly(nightly: ActNightly, number: int, hours: float) -> None:
    """Publish a nightly of that many hours ago, in which the reference passed."""
    repository, folder = nightly.repository, nightly.folder / f"data-{number}"
    now = datetime.now(timezone.utc)
    planned = plan(number, ("openreg",)).model_copy(update={"created_at": now - timedelta(hours=hours)})
    history = History(repository.check_out("data", folder) if repository.files_on("data") else folder)
    history.folder.mkdir(exist_ok=True)
    history.append_plan(planned)
    history.append_run(run(number, "openreg"))
    git(folder, "init", "--quiet", "--initial-branch=data")
    commit(folder, "a nightly")
    git(folder, "push", "--quiet", str(repository.remote), "HEAD:data")


def test_a_life(nightly: ActNightly, hub: FakeActions) -> None:
    # Before the first nightly there is nothing to be late, and no page yet.
    ran = nightly.publish("never", "workflow_dispatch")
    assert (ran.exit_code, ran.jobs) == (0, {"publish": "success", "alert": "success"}), ran.digest
    assert not hub.issues

    _publish_nightly(nightly, 0, hours=40)
    ran = nightly.publish("stale", "schedule", WATCH)
    assert ran.jobs == {**SPOKEN, "fresh": "failure"}, ran.digest
    assert ran.exit_code != 0
    failed = {(job, step) for job in ran.jobs for step, result in ran.steps(job).items() if result == "failure"}
    assert failed == {("fresh", "Does the nightly run?")}
    site = ran.store / "pages"
    assert "the pages are made without documentation" in json.dumps(ran.events)
    assert not (site / "docs").exists()
    assert 'href="docs/' not in (site / "index.html").read_text(encoding="utf-8")
    reason = "the newest nightly is 40 hours old, more than 36"
    assert reason in (site / "index.html").read_text(encoding="utf-8")
    assert "NO DATA since" in (site / "badge" / "openreg.svg").read_text(encoding="utf-8")
    assert [(issue["title"], issue["state"]) for issue in hub.issues.values()] == [("The nightly does not run", "open")]
    assert reason in str(hub.issues[1]["body"])

    _publish_nightly(nightly, 1, hours=1)
    ran = nightly.publish("fresh", "schedule", WATCH)
    assert (ran.exit_code, ran.jobs) == (0, SPOKEN), ran.digest
    assert reason not in (ran.store / "pages" / "index.html").read_text(encoding="utf-8")
    found = json.loads((ran.store / "artifacts" / "verdicts-1" / "verdicts.json").read_text(encoding="utf-8"))
    assert found["stale_reason"] is None
    assert "The nightly runs again" in str(hub.issues[1]["body"])
    assert (hub.issues[1]["state"], hub.comments(1)) == ("open", [])


def test_a_night_without_devices_has_its_documentation_and_its_page(
    nightly: ActNightly, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The documentation is the real one."""
    repository = nightly.repository
    file = repository.checkout / "devices" / "openreg.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{text}paused:\n  reason: Its machine is being moved.\n", encoding="utf-8")
    repository.commit()
    with serve_torch(tmp_path_factory.mktemp("index")) as torch:
        # Nothing is predicted from wheels of the world outside.
        environment = {**nightly.environment, **torch, "HTTPS_PROXY": "http://127.0.0.1:9"}
        night = replace(nightly, environment=environment)
        planned = night.plan(1, "workflow_dispatch")
    assert planned.jobs == dict.fromkeys(("plan", "predict", "docs"), "success"), planned.digest
    ran = night.publish("paused")
    assert ran.jobs == {**SPOKEN, "gate": "failure"}, ran.digest
    page = (ran.store / "pages" / "index.html").read_text(encoding="utf-8")
    assert "Its machine is being moved." in page
    assert 'href="docs/index.html"' in page
    assert (ran.store / "pages" / "docs" / "reference" / "errors.html").is_file()
