"""A release: its script by hand, and its workflow file, run as it is by act, as a rehearsal and with a tag."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import pytest
from commands import Ran, run_command
from drawn import deep
from e2e.act_runner import Repository, run_workflow

from ootci import __version__

VERSION = "98.7.6rc5"
TAG = f"v{VERSION}"
"""Another version than that of the sources: a release has the tag's."""
NOTES = f"## {VERSION} - 2026-11-22\n\n- What is new in it.\n"


def _release(repository: Repository, *arguments: str, path: Path | None = None, **variables: str) -> Ran:
    env = {**os.environ, **({"PATH": f"{path}:{os.environ['PATH']}"} if path else {}), **variables}
    return run_command(["bash", ".ci/release", *arguments], repository.checkout, env)


def _built(repository: Repository) -> Path:
    """A wheel, with its checksum beside it."""
    dist = repository.checkout / "dist"
    dist.mkdir(exist_ok=True)
    wheel = dist / f"ootci-{VERSION}-py3-none-any.whl"
    wheel.write_bytes(b"as built")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (dist / "SHA256SUMS").write_text(f"{digest}  ./{wheel.name}\n", encoding="utf-8")
    return wheel


def _with_notes(repository: Repository) -> Repository:
    changelog = repository.checkout / "CHANGELOG.md"
    changelog.write_text(f"{changelog.read_text(encoding='utf-8')}\n{NOTES}", encoding="utf-8")
    return repository


def _gh(folder: Path) -> Path:
    """A stand-in for GitHub's command line that writes down how it was called; the folder that it is in."""
    folder.mkdir()
    (folder / "gh").write_text(f'#!/bin/sh\necho "$GH_TOKEN $@" >> {folder}/called\n', encoding="utf-8")
    (folder / "gh").chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository.copy(tmp_path_factory.mktemp("repository"), whole=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("build", "99"), 'the tag "99" is no version'),
        (("build", "v1.2.3; id"), 'the tag "v1.2.3; id" is no version'),
        (("build", TAG), f'there is nothing under "## {VERSION}"'),
        (("publish",), 'dist/ has no wheel of the tag ""'),
        (("publish", "v99.0.0"), 'dist/ has no wheel of the tag "v99.0.0"'),
        ((), 'it is not clear what to do: ""'),
    ],
)
def test_what_does_not_fit_is_refused(repository: Repository, arguments: tuple[str, ...], said: str) -> None:
    ran = _release(repository, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {said}\n  where: ")
    assert "\n  what to do: " in ran.err


def test_a_variable_that_would_publish_nothing_is_refused(repository: Repository, tmp_path: Path) -> None:
    summary = tmp_path / "summary"
    ran = _release(repository, "build", TAG, PUBLISH="yes\n# no", GITHUB_STEP_SUMMARY=str(summary))
    assert (ran.code, ran.err.splitlines()[0]) == (2, 'error: OOTCI_PUBLISH is "yes')
    assert summary.read_text(encoding="utf-8") == (
        '    error: OOTCI_PUBLISH is "yes # no", which publishes nothing (the page Settings > Secrets and variables > '
        "Actions). What to do: set it to pypi, or delete it.\n"
    )


def test_what_was_changed_after_it_was_built_is_not_published(repository: Repository, tmp_path: Path) -> None:
    wheel = _built(repository)
    wheel.write_bytes(b"as changed")
    gh = _gh(tmp_path / "bin")
    assert _release(repository, "publish", TAG, path=gh).code != 0
    assert not (gh / "called").exists()
    wheel.write_bytes(b"as built")
    ran = _release(repository, "publish", TAG, path=gh)
    assert (ran.code, (gh / "called").exists()) == (0, True), ran.err
    (gh / "gh").write_text("#!/bin/sh\necho HTTP 403 >&2\nexit 1\n", encoding="utf-8")
    ran = _release(repository, "publish", TAG, path=gh)
    assert (ran.code, "HTTP 403\nerror: the release could not be made" in ran.err) == (2, True), ran.err
    assert "contents: write" in ran.err


def test_a_version_whose_tag_is_there_is_not_released_of_another_commit(repository: Repository, tmp_path: Path) -> None:
    """`gh release create` takes a tag that is there as it is, whatever its target."""
    _built(repository)
    repository.commit()
    gh = _gh(tmp_path / "bin")

    def git(*arguments: str) -> None:
        assert run_command(["git", *arguments], repository.checkout).code == 0

    git("remote", "set-url", "origin", str(repository.remote))
    git("push", "--quiet", "origin", f"HEAD:refs/tags/{TAG}")
    ran = _release(repository, "publish", TAG, path=gh, TARGET=repository.sha)
    assert (ran.code, (gh / "called").exists()) == (2, False)
    assert ran.err.startswith(f"error: the tag {TAG} is there already\n")
    git("push", "--quiet", "--delete", "origin", TAG)
    ran = _release(repository, "publish", TAG, path=gh, TARGET=repository.sha)
    assert (ran.code, f"--target {repository.sha}" in (gh / "called").read_text(encoding="utf-8")) == (0, True), ran.err


@pytest.mark.deep
@pytest.mark.act
@pytest.mark.long
def test_a_rehearsal_builds_everything_and_publishes_nothing(tmp_path: Path) -> None:
    repository = Repository.copy(tmp_path, whole=True)
    repository.commit()
    gh = _gh(tmp_path / "bin")
    path = {"PATH": f"{gh}:{os.environ['PATH']}"}
    run = run_workflow(
        repository, tmp_path / "run", workflow="release.yml", event="workflow_dispatch", environment=path
    )
    assert (run.exit_code, run.jobs) == (0, {"build": "success"}), run.digest
    # act itself asks gh for a token.
    assert "release" not in (gh / "called").read_text(encoding="utf-8")
    kept = tmp_path / "run" / "store" / "artifacts" / "dist"
    wheel = kept / f"ootci-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert "ootci/cli/main.py" in archive.namelist()
    sums = (kept / "SHA256SUMS").read_text(encoding="utf-8")
    assert f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  ./{wheel.name}\n" in sums
    assert (kept / "NOTES.md").read_text(encoding="utf-8").lstrip().startswith("### Added")


@pytest.mark.act
@pytest.mark.long
@pytest.mark.parametrize("started", ["by a tag", deep("by hand")])
def test_a_release_is_built_attested_and_published(tmp_path: Path, started: str) -> None:
    repository = _with_notes(Repository.copy(tmp_path, whole=True))
    repository.commit()
    gh = _gh(tmp_path / "bin")
    run = run_workflow(
        repository,
        tmp_path / "run",
        workflow="release.yml",
        event="push" if started == "by a tag" else "workflow_dispatch",
        environment={"PATH": f"{gh}:{os.environ['PATH']}"},
        token="a-token",  # noqa: S106 - nobody's
        variables={"OOTCI_PUBLISH": "pypi"} if started == "by a tag" else {},
        payload={"ref": f"refs/tags/{TAG}"} if started == "by a tag" else {"inputs": {"version": VERSION}},
    )
    jobs = {"build": "success", "publish": "success", **({"index": "success"} if started == "by a tag" else {})}
    assert (run.exit_code, run.jobs) == (0, jobs), run.digest
    store = tmp_path / "run" / "store"
    assert (store / "artifacts" / "dist" / "NOTES.md").read_text(encoding="utf-8").strip() == "- What is new in it."
    with zipfile.ZipFile(store / "artifacts" / "dist" / f"ootci-{VERSION}-py3-none-any.whl") as wheel:
        assert f'__version__ = "{VERSION}"' in wheel.read("ootci/__init__.py").decode()
        assert f"\nVersion: {VERSION}\n" in wheel.read(f"ootci-{VERSION}.dist-info/METADATA").decode()
    attested = (store / "attested").read_text(encoding="utf-8").splitlines()
    assert sorted(line.split()[1] for line in attested) == [
        f"dist/ootci-{VERSION}-py3-none-any.whl",
        f"dist/ootci-{VERSION}.tar.gz",
    ]
    called = (gh / "called").read_text(encoding="utf-8").splitlines()[-1]
    made = "--verify-tag" if started == "by a tag" else f"--target {repository.sha}"
    assert called.startswith(f"a-token release create {TAG} {made} --title ootci {VERSION} ")
    assert (store / "published").exists() == (started == "by a tag")
    assert f"dist/ootci-{VERSION}-py3-none-any.whl" in called
