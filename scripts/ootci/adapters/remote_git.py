"""Git in a folder that has one branch of one remote repository."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ootci.adapters.git import ENVIRONMENT, reason
from ootci.adapters.process import Answer, ask
from ootci.errors import HistoryUnreachable, ToolMissing

TOKEN_VARIABLE = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable
TIMEOUT_SECONDS = 600.0
"""Of one command of git."""

_SETTINGS = (
    *("-c", "user.name=ootci", "-c", "user.email=ootci@users.noreply.github.com"),
    # What a person has set up for work on sources would leave files out, or change them, or run programs.
    *("-c", f"core.excludesFile={os.devnull}", "-c", "core.autocrlf=false", "-c", f"core.hooksPath={os.devnull}"),
    # A git that goes on in the background would be taken for one that was killed.
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsync=committed", "-c", "core.fsyncMethod=batch"),
)


class RemoteGit:
    """A repository of its own in a folder, and the branch of a remote that it goes with.

    Args:
        remote: what git fetches from and pushes to.

    Attributes:
        keep_open: descriptors that git inherits.
        place: the branch, for people.

    """

    def __init__(self, folder: Path, remote: str, branch: str) -> None:
        self.folder = folder
        self.remote = remote
        self.branch = branch
        self.keep_open: tuple[int, ...] = ()
        self.place = f"branch {branch} of {_bare(remote)}"

    def prepare(self, ignored: Sequence[str]) -> None:
        """Make the repository where there is none, and remove the locks of a git that was killed.

        The caller holds the folder, so that none is alive. Without a repository of its own the folder would be taken
        for a part of the one around it. Files of the patterns ``ignored`` are never committed.
        """
        git = self.folder / ".git"
        if not (git / "HEAD").exists():
            self.must("init", "--quiet", f"--initial-branch={self.branch}", ".")
        for lock in [*git.glob("*.lock"), *git.glob("refs/**/*.lock"), *git.glob("objects/**/*.lock")]:
            lock.unlink()
        (git / "info").mkdir(exist_ok=True)
        (git / "info" / "exclude").write_text("".join(f"{pattern}\n" for pattern in ignored), encoding="utf-8")

    def fetch_tip(self) -> str | None:
        """Fetch the branch's newest commit and return it; None when there is no branch yet.

        Raises:
            HistoryUnreachable: the remote does not answer.

        """
        listed = self.must("ls-remote", "--heads", "--", self.remote, f"refs/heads/{self.branch}")
        if not listed.out.strip():
            return None
        self.must("fetch", "--quiet", "--no-tags", "--depth=1", "--", self.remote, f"refs/heads/{self.branch}")
        return self.must("rev-parse", "--verify", "FETCH_HEAD").out.strip()

    def push(self, commit: str) -> Answer:
        """Push a commit; the answer is success, or a rejection because another push came first.

        Raises:
            HistoryUnreachable: pushing failed for another reason.

        """
        answer = self.ask("push", "--quiet", "--", self.remote, f"{commit}:refs/heads/{self.branch}")
        if answer.exit_code != 0 and not _is_rejected(answer):
            raise self.failed("push", answer)
        return answer

    def commit_of(self, name: str) -> str | None:
        """The commit that a ref points to."""
        return self.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").out.strip() or None

    def new_commit(self, tree: str, parent: str | None, message: str) -> str:
        """Make a commit of a tree."""
        above = () if parent is None else ("-p", parent)
        return self.must("commit-tree", tree, *above, "-m", message).out.strip()

    def ask(self, *arguments: str, env: Mapping[str, str] | None = None) -> Answer:
        """Run git in the folder, whatever its exit code.

        Raises:
            ToolMissing: there is no git.

        """
        own = {**_environment(self.remote), "GIT_DIR": str(self.folder / ".git"), "GIT_WORK_TREE": str(self.folder)}
        command = ["git", *_SETTINGS, *arguments]
        environment = {**own, **(env or {})}
        cwd = Path(environment["GIT_WORK_TREE"])
        answer = ask(command, cwd=cwd, env=environment, timeout=TIMEOUT_SECONDS, keep_open=self.keep_open)
        if answer is None:
            raise ToolMissing("`git` is not on this machine", where=f"git {arguments[0]}", fix="install git")
        return answer

    def must(self, *arguments: str, env: Mapping[str, str] | None = None) -> Answer:
        """Run git in the folder.

        Raises:
            HistoryUnreachable: its exit code is not 0.
            ToolMissing: there is no git.

        """
        answer = self.ask(*arguments, env=env)
        if answer.exit_code != 0:
            raise self.failed(arguments[0], answer)
        return answer

    def failed(self, what: str, answer: Answer | None) -> HistoryUnreachable:
        """The error for a failure of git."""
        said = reason(answer.err if answer else "").replace(self.remote, _bare(self.remote))
        may = "push (`contents: write`, and no rule against it on the page Settings > Rules)"
        if what != "push":
            may = "read it where the repository is private (`contents: read`)"
        return HistoryUnreachable(
            f"git {what} failed: {said}",
            where=self.place,
            fix=f"check the network, and that {TOKEN_VARIABLE} may {may}; what was appended is kept",
        )


def origin() -> str | None:
    """What the current checkout calls ``origin``; None outside git."""
    answer = ask(["git", "remote", "get-url", "origin"])
    return answer.out.strip() if answer is not None and answer.exit_code == 0 else None


def _bare(remote: str) -> str:
    """A remote without the user and password that its address may hold."""
    return re.sub(r"(?<=://)[^/@]*@", "", remote)


def _is_rejected(pushed: Answer) -> bool:
    # "[remote rejected]" alone is the server's refusal, such as by a rule for the branch.
    signs = ("[rejected]", "fetch first", "cannot lock ref", "failed to update ref", "incorrect old value")
    return any(sign in pushed.err for sign in signs)


def _environment(remote: str) -> dict[str, str]:
    """Git's environment; the token, if there is one, is for this remote only and on no command line."""
    env = {**os.environ, **ENVIRONMENT}
    token = env.pop(TOKEN_VARIABLE, "").strip()
    if token and remote.startswith("https://"):
        credentials = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        env |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{remote}.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {credentials}",
        }
    return env
