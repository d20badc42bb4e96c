"""PyTorch's own tests, of the commit that the installed torch was built from."""

from __future__ import annotations

import shutil

from ootci.adapters import git
from ootci.model.commit import full_commit
from ootci.model.workspace import Workspace

from .commands import Commands, StepFailed

FOLDER = "test"


def fetch_upstream(git_version: str | None, workspace: Workspace, commands: Commands) -> None:
    """Check out PyTorch's folder ``test`` of the commit that torch names, unless that one's is there already.

    Raises:
        StepFailed: the torch does not say its commit, or the commit cannot be fetched.
        ToolMissing: git is missing.

    """
    commit = full_commit(git_version)
    if commit is None:
        raise StepFailed("PyTorch's tests cannot be fetched: the installed torch does not say its commit")
    target = workspace.upstream(commit)
    if target.is_dir():
        return
    draft = target.with_name(f"{commit}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    url = git.pytorch_repository()
    what = f"PyTorch's tests of commit {commit} cannot be fetched"
    for command in git.sparse_commands(url, commit, FOLDER):
        commands.run(what, command, cwd=draft, extra={"GIT_TERMINAL_PROMPT": "0"})
    if not (draft / FOLDER).is_dir():
        raise StepFailed(f"{what}: the repository has no folder {FOLDER}")
    draft.rename(target)
