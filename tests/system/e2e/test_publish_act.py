"""The workflow that publishes, run as it is by act without a device: on no history, an old one, and a new night."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from e2e.act_nightly import WATCH, ActNightly
from e2e.act_runner import DOCS, Repository
from e2e.packages import serve_torch, wheelhouse
from fake_actions import FakeActions, fake_actions
from repositories import commit, git
from unit.samples import plan, run

from ootci.history.store import History

SPOKEN = dict.fromkeys(("publish", "pages", "alert"), "success")

pytestmark = [pytest.mark.act, pytest.mark.long]


def _published(repository: Repository, folder: Path, hours: float) -> None:
    """Publish a nightly of that many hours ago, in which the reference passed."""
    created = datetime.now(timezone.utc) - timedelta(hours=hours)
    history = History(folder)
    folder.mkdir()
    history.append_plan(plan(0, ("openreg",)).model_copy(update={"created_at": created}))
    history.append_run(run(0, "openreg"))
    git(folder, "init", "--quiet", "--initial-branch=data")
    commit(folder, "a nightly")
    git(folder, "push", "--quiet", str(repository.remote), "HEAD:data")


def _paused(repository: Repository) -> None:
    for file in (repository.checkout / "devices").glob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        if "\npaused:" not in text:
            file.write_text(f"{text}paused:\n  reason: Its machine is being moved.\n", encoding="utf-8")


def test_a_life(packages: Mapping[str, str], hub: FakeActions, tmp_path: Path) -> None:
    repository = Repository.copy(tmp_path)
    repository.replace_command("docs", DOCS)
    repository.commit()
    # Nothing is predicted from wheels of the world outside.
    nightly = ActNightly(
        repository, tmp_path, hub, {**packages, **hub.environment, "HTTPS_PROXY": "http://127.0.0.1:9"}
    )
    # Before the first nightly there is nothing to be late, and no page yet.
    ran = nightly.publish("never", "workflow_dispatch")
    assert (ran.exit_code, ran.jobs) == (0, {"publish": "success", "alert": "success"}), ran.digest
    assert not hub.issues

    _published(repository, tmp_path / "data", hours=40)
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

    # A night on which every device is paused has no gate, but a page and the documentation.
    _paused(repository)
    repository.commit()
    with serve_torch(tmp_path / "index") as torch:
        night = replace(nightly, environment={**nightly.environment, **torch})
        planned = night.plan(1, "workflow_dispatch")
    assert planned.jobs == dict.fromkeys(("plan", "dispatch", "predict", "docs"), "success"), planned.digest
    ran = nightly.publish("fresh")
    assert (ran.exit_code, ran.jobs) == (0, SPOKEN), ran.digest
    page = (ran.store / "pages" / "index.html").read_text(encoding="utf-8")
    assert reason not in page
    assert "Its machine is being moved." in page
    assert 'href="docs/index.html"' in page
    assert (ran.store / "pages" / "docs" / "index.html").is_file()
    found = json.loads((ran.store / "artifacts" / "verdicts-1" / "verdicts.json").read_text(encoding="utf-8"))
    assert (found["stale_reason"], found["gate"]["answer"]) == (None, "cannot_say")
    assert "The nightly runs again" in str(hub.issues[1]["body"])
    assert (hub.issues[1]["state"], hub.comments(1)) == ("open", [])


@pytest.mark.deep
def test_a_nightly_builds_the_real_documentation(packages: Mapping[str, str], root: Path, tmp_path: Path) -> None:
    """With what its requirements pin; `test_documentation.py` builds the site in the environment of the tests."""
    repository = Repository.copy(tmp_path, whole=True)
    _paused(repository)
    repository.commit()
    needed = wheelhouse(tmp_path / "wheels", root / "requirements-docs.txt")
    links = f"{packages['PIP_FIND_LINKS']} {needed['PIP_FIND_LINKS']}"
    with fake_actions() as hub, serve_torch(tmp_path / "index") as torch:
        environment = {**packages, **hub.environment, **torch, "PIP_FIND_LINKS": links}
        ran = ActNightly(repository, tmp_path, hub, environment).plan(1, "workflow_dispatch")
    assert ran.jobs["docs"] == "success", ran.digest
    assert (ran.store / "artifacts" / "docs-1" / "reference" / "errors.html").is_file()
