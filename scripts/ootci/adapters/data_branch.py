"""The history folder as a checkout of the orphan branch ``data``: fetching it, and publishing what was appended."""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from ootci.adapters.process import Answer, ask
from ootci.errors import HistoryConflict, HistoryUnreachable, ToolMissing

PUSH_ATTEMPTS = 6
TOKEN_VARIABLE = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable
_AUTHOR = ("-c", "user.name=ootci", "-c", "user.email=ootci@users.noreply.github.com")


class DataBranch:
    """A folder that mirrors one branch of a remote repository.

    Args:
        folder: the history folder.
        remote: what git fetches from and pushes to.
        branch: name of the branch.
        wait: sleeps between two attempts to push.

    """

    def __init__(
        self, folder: Path, remote: str, branch: str = "data", wait: Callable[[float], None] = time.sleep
    ) -> None:
        self.folder = folder
        self.remote = remote
        self.branch = branch
        self.wait = wait

    def fetch(self) -> bool:
        """Make the folder a checkout of the branch; false when the remote has no such branch yet.

        Raises:
            HistoryUnreachable: the remote does not answer.
            HistoryConflict: the folder and the branch hold different records under the same name.

        """
        self._init()
        if self._tip() is None:
            return False
        self._must("fetch", "--quiet", "--depth=1", "--", self.remote, self.branch)
        if self._git("rev-parse", "--verify", "--quiet", "HEAD").exit_code == 0:
            self._rebase()
        else:
            self._must("checkout", "--quiet", "-B", self.branch, "FETCH_HEAD")
        return True

    def publish(self, message: str) -> bool:
        """Commit whatever was appended and push it; false when there was nothing to push.

        Two publishers at once both get in: records are only ever added, so the later one moves its commit on top of
        the earlier one's and pushes again.

        Raises:
            HistoryUnreachable: pushing failed for good.
            HistoryConflict: somebody else has published a different record under the same name.

        """
        self._init()
        self._must("add", "--all", ".")
        if self._must("status", "--porcelain").out.strip():
            self._must(*_AUTHOR, "commit", "--quiet", "--message", message)
        head = self._git("rev-parse", "--verify", "--quiet", "HEAD").out.strip()
        if not head or head == self._tip():
            return False
        for attempt in range(PUSH_ATTEMPTS):
            pushed = self._git("push", "--quiet", "--", self.remote, f"HEAD:refs/heads/{self.branch}")
            if pushed.exit_code == 0:
                return True
            if not _is_rejected(pushed):
                raise self._failed("push", pushed)
            self.wait(min(2.0**attempt, 20.0))
            # A shallow history has no base in common with the other publisher's commit; rebasing needs only its tip.
            self._must("fetch", "--quiet", "--", self.remote, self.branch)
            self._rebase()
        raise self._failed("push", pushed)

    def _init(self) -> None:
        # A folder without a repository of its own would be taken for a part of the one around it.
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / ".git").exists():
            self._must("init", "--quiet", f"--initial-branch={self.branch}", ".")

    def _tip(self) -> str | None:
        """The commit that the branch has on the remote; None when there is no such branch yet."""
        listed = self._must("ls-remote", "--heads", "--", self.remote, f"refs/heads/{self.branch}")
        return listed.out.split()[0] if listed.out.strip() else None

    def _rebase(self) -> None:
        answer = self._git(*_AUTHOR, "rebase", "--quiet", "FETCH_HEAD")
        if answer.exit_code == 0:
            return
        conflicts = self._git("diff", "--name-only", "--diff-filter=U").out.split()
        # Without this the folder would stay in the middle of a rebase, and no later run could use it.
        self._git("rebase", "--abort")
        if conflicts:
            raise HistoryConflict(
                f"the branch holds a different record as `{conflicts[0]}`",
                where=f"branch {self.branch} of {_bare(self.remote)}",
                fix="give the new attempt a number of its own; what is stored stays",
            )
        raise self._failed("rebase", answer)

    def _git(self, *arguments: str) -> Answer:
        answer = ask(["git", *arguments], cwd=self.folder, env=_environment(self.remote), timeout=600)
        if answer is None:
            raise ToolMissing("`git` is not on this machine", where=f"git {arguments[0]}", fix="install git")
        return answer

    def _must(self, *arguments: str) -> Answer:
        answer = self._git(*arguments)
        if answer.exit_code != 0:
            raise self._failed(next(word for word in arguments if not word.startswith(("-", "user."))), answer)
        return answer

    def _failed(self, what: str, answer: Answer) -> HistoryUnreachable:
        lines = answer.err.strip().splitlines() or ["no message"]
        return HistoryUnreachable(
            f"git {what} failed: {lines[-1]}",
            where=f"branch {self.branch} of {_bare(self.remote)}",
            fix=f"check the network and the permission to push ({TOKEN_VARIABLE}); what was appended is kept",
        )


def _bare(remote: str) -> str:
    """A remote without the user and password that its address may hold."""
    return re.sub(r"(?<=://)[^/@]*@", "", remote)


def _is_rejected(pushed: Answer) -> bool:
    return any(sign in pushed.err for sign in ("rejected", "fetch first", "cannot lock ref", "failed to update ref"))


def origin() -> str | None:
    """What the current checkout calls ``origin``; None outside git."""
    answer = ask(["git", "remote", "get-url", "origin"])
    return answer.out.strip() if answer is not None and answer.exit_code == 0 else None


def _environment(remote: str) -> dict[str, str]:
    """Git's environment: never a prompt; the token, if there is one, for this remote only and on no command line."""
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    token = env.pop(TOKEN_VARIABLE, "")
    if token and remote.startswith("https://"):
        credentials = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        env |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{remote}.extraheader",
            "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {credentials}",
        }
    return env
