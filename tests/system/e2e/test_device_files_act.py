"""A pull request that proposes device files: reviewed by one workflow file, answered by the other, both run by act."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from e2e.act_runner import ActRun, Repository, run_workflow
from e2e.packages import NIGHTLY, serve_torch
from fake_github import REPOSITORY, TOKEN
from fake_pulls import FakePull, FakePulls, fake_pulls
from misbehaving import write_device

from ootci.flows.answer import MARKER
from ootci.model.record import read
from ootci.model.review import Change, CheckState, Review

pytestmark = [pytest.mark.act, pytest.mark.long]

FORK = "newcomer/fork"
RUN = 11


@pytest.fixture(scope="module")
def hub() -> Iterator[FakePulls]:
    with fake_pulls() as server:
        server.users = {"tests"}
        yield server


@pytest.fixture(scope="module")
def environment(
    packages: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory, hub: FakePulls
) -> Iterator[Mapping[str, str]]:
    """What makes pip and the tool find packages, torch and GitHub without a network."""
    with serve_torch(tmp_path_factory.mktemp("index")) as torch:
        yield {**packages, **torch, **hub.environment}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repository, str]:
    """Ours with a pull request's merge on top, and the base that it is merged into.

    It proposes a good device and a bad one, removes a third, and would break the tool if its own were used.
    """
    ours = Repository.copy(tmp_path_factory.mktemp("repository"))
    registry = ours.without_devices()
    for name in ("old", "gone"):
        write_device(registry, name, "passes")
    ours.commit()
    base = ours.sha
    write_device(registry, "fresh", "passes", extra="runner:\n  labels: [mycard]\n")
    with (registry / "old.yaml").open("a", encoding="utf-8") as stream:
        stream.write("teir: gating\n")
    (registry / "gone.yaml").unlink()
    (registry / "link.yaml").symlink_to("/etc/passwd")
    (ours.checkout / "scripts" / "ootci" / "__init__.py").write_text("raise SystemExit('the fork')\n", encoding="utf-8")
    ours.commit()
    return ours, base


@pytest.fixture(scope="module")
def reviewed(
    repository: tuple[Repository, str], environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> ActRun:
    """The review of the pull request."""
    ours, base = repository
    head = {"ref": "change", "sha": ours.sha, "repo": {"full_name": FORK, "fork": True}}
    return run_workflow(
        ours,
        tmp_path_factory.mktemp("review") / "run",
        workflow="device-file.yml",
        event="pull_request",
        run_id=RUN,
        environment=environment,
        payload={"pull_request": {"number": 7, "base": {"ref": "main", "sha": base}, "head": head}},
    )


def test_a_review_is_red_for_a_bad_file_and_answers_all_the_same(reviewed: ActRun) -> None:
    assert reviewed.jobs == {"review": "failure"}, reviewed.digest
    failed = {step for step, result in reviewed.steps("review").items() if result != "success"}
    assert failed == {"Review the device files"}, reviewed.digest
    review = read(Review, reviewed.store / "artifacts" / "device-file-review-1" / "review.json")
    files = {file.path: file for file in review.files}
    assert {path: (file.change, file.is_good) for path, file in files.items()} == {
        "devices/fresh.yaml": (Change.ADDED, True),
        "devices/gone.yaml": (Change.REMOVED, True),
        "devices/link.yaml": (Change.ADDED, False),
        "devices/old.yaml": (Change.CHANGED, False),
    }
    assert "root:" not in review.to_json()
    online = {item.check: item.state for item in files["devices/fresh.yaml"].checks[-3:]}
    assert online == dict.fromkeys(("links", "sources", "handles"), CheckState.PASSED)
    assert files["devices/fresh.yaml"].dry_run[0].startswith(f"torch {NIGHTLY} (nightly)")
    page = reviewed.store / "artifacts" / "device-file-preview-1" / "fresh" / "d" / "fresh" / "index.html"
    assert "Preview of <code>fresh.yaml</code>" in page.read_text(encoding="utf-8")


def test_the_answer_is_one_comment_by_the_base_branch(
    repository: tuple[Repository, str],
    reviewed: ActRun,
    hub: FakePulls,
    environment: Mapping[str, str],
    tmp_path: Path,
) -> None:
    ours, base = repository
    content = (reviewed.store / "artifacts" / "device-file-review-1" / "review.json").read_bytes()
    hub.upload(RUN, "device-file-review-1", ours.sha, {"review.json": content})
    pull = FakePull(7, FORK, "change; $(touch x)", ours.sha, ["devices/fresh.yaml"])
    hub.pulls.append(pull)
    # GitHub runs it on the default branch.
    default = ours.duplicate(tmp_path / "default")
    default.reset(base)
    run = run_workflow(
        default,
        tmp_path / "run",
        workflow="device-file-answer.yml",
        event="workflow_run",
        run_id=RUN + 1,
        environment={**environment, "GITHUB_REF": "refs/heads/main"},
        token=TOKEN,
        payload={
            "workflow_run": {
                "id": RUN,
                "run_attempt": 1,
                "event": "pull_request",
                "conclusion": "failure",
                "html_url": f"https://github.com/{REPOSITORY}/actions/runs/{RUN}",
                "head_sha": ours.sha,
                "head_branch": pull.branch,
                "head_repository": {"full_name": FORK},
            }
        },
    )
    assert (run.exit_code, run.jobs) == (0, {"answer": "success"}), run.digest
    (said,) = pull.said
    assert said.startswith(f"{MARKER}\n### ❌ Device files: "), run.digest
    assert "unknown key &#96;teir&#96;; did you mean &#96;tier&#96;?" in said
    assert "**devices/gone.yaml**" in said
    assert f"(https://github.com/{REPOSITORY}/actions/runs/{RUN})" in said
    assert TOKEN not in json.dumps(run.events)
    assert not hub.leaked
