"""The watchdog's workflow file, run as it is by act: on a history that is fresh, one that is old, and none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from e2e.act_runner import ROOT, ActRun, Repository, run_workflow
from fake_github import TOKEN, FakeGithub
from repositories import commit, git
from unit.samples import plan, run

from ootci.history.store import History

SPOKEN = dict.fromkeys(("watch", "pages", "alert"), "success")

pytestmark = [pytest.mark.act, pytest.mark.long]


@pytest.fixture(scope="module")
def environment(packages: Mapping[str, str], hub: FakeGithub) -> Mapping[str, str]:
    """What makes pip and the tool find packages and GitHub without a network."""
    return {**packages, **hub.environment}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository.copy(tmp_path_factory.mktemp("repository"), whole=True)
    made.replace_command("docs", "exit 1")
    made.commit()
    return made


def _nightly(repository: Repository, folder: Path, number: int, hours: float) -> None:
    """Publish a nightly of that many hours ago, in which the reference passed."""
    now = datetime.now(timezone.utc)
    planned = plan(number, ("openreg",)).model_copy(update={"created_at": now - timedelta(hours=hours)})
    history = History(repository.check_out("data", folder) if repository.files_on("data") else folder)
    history.folder.mkdir(exist_ok=True)
    history.append_plan(planned)
    history.append_run(run(number, "openreg"))
    git(folder, "init", "--quiet", "--initial-branch=data")
    commit(folder, "a nightly")
    git(folder, "push", "--quiet", str(repository.remote), "HEAD:data")


def _watch(repository: Repository, folder: Path, event: str, environment: Mapping[str, str]) -> ActRun:
    return run_workflow(repository, folder, workflow="watchdog.yml", event=event, environment=environment, token=TOKEN)


def test_a_life(repository: Repository, tmp_path: Path, environment: Mapping[str, str], hub: FakeGithub) -> None:
    # The documentation cannot be built. Before the first nightly there is nothing to be late, and no page yet.
    ran = _watch(repository, tmp_path / "never", "workflow_dispatch", environment)
    docs = {"docs": "failure"}
    assert ran.jobs == {**docs, "watch": "success", "alert": "success", "fresh": "success"}, ran.digest
    assert not hub.issues

    _nightly(repository, tmp_path / "first", 0, hours=40)
    ran = _watch(repository, tmp_path / "stale", "schedule", environment)
    assert ran.jobs == {**docs, **SPOKEN, "fresh": "failure"}, ran.digest
    assert ran.exit_code != 0
    failed = {(job, step) for job in ran.jobs for step, result in ran.steps(job).items() if result == "failure"}
    assert failed == {("docs", "Build the documentation"), ("fresh", "Does the nightly run?")}
    site = ran.store / "pages"
    assert "the pages are made without documentation" in json.dumps(ran.events)
    assert not (site / "docs").exists()
    assert 'href="docs/' not in (site / "index.html").read_text(encoding="utf-8")
    reason = "the newest nightly is 40 hours old, more than 36"
    assert reason in (site / "index.html").read_text(encoding="utf-8")
    assert "NO DATA since" in (site / "badge" / "openreg.svg").read_text(encoding="utf-8")
    assert [(issue["title"], issue["state"]) for issue in hub.issues.values()] == [("The nightly does not run", "open")]
    assert reason in str(hub.issues[1]["body"])

    shutil.copy(ROOT / ".ci" / "docs", repository.checkout / ".ci" / "docs")
    repository.commit()
    _nightly(repository, tmp_path / "second", 1, hours=1)
    ran = _watch(repository, tmp_path / "fresh", "schedule", environment)
    assert (ran.exit_code, ran.jobs) == (0, {"docs": "success", **SPOKEN, "fresh": "success"}), ran.digest
    page = (ran.store / "pages" / "index.html").read_text(encoding="utf-8")
    assert reason not in page
    assert 'href="docs/index.html"' in page
    assert (ran.store / "pages" / "docs" / "reference" / "errors.html").is_file()
    found = json.loads((ran.store / "artifacts" / "verdicts-1" / "verdicts.json").read_text(encoding="utf-8"))
    assert found["stale_reason"] is None
    assert "The nightly runs again" in str(hub.issues[1]["body"])
    assert (hub.issues[1]["state"], hub.comments(1)) == ("open", [])
    assert TOKEN not in json.dumps(ran.events)
