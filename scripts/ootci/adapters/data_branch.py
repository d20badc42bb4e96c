"""The history folder as a checkout of the orphan branch ``data``: fetching it, and publishing what was appended.

No file of the history is ever changed, so two publishers' commits are merged by their files: what one of them added or
removed since the commit that they have in common. A file that both added with different content is a conflict.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ootci.adapters.folder_lock import held
from ootci.adapters.remote_git import RemoteGit
from ootci.errors import HistoryConflict

PUSH_ATTEMPTS = 10
"""Of several publishers at once, one succeeds in each attempt; so many can publish at once."""
_PUBLISHED = "refs/ootci/published"
"""The last commit that was known to be both in the folder and on the branch."""


class DataBranch:
    """A folder that mirrors one branch of a remote repository.

    Every method can be repeated after an interruption, and then completes.

    Args:
        folder: the history folder.
        remote: what git fetches from and pushes to.
        unfinished: name of the file that marks a reset of the folder as incomplete.
        wait: sleeps between two attempts to push.

    """

    def __init__(
        self,
        folder: Path,
        remote: str,
        branch: str = "data",
        *,
        unfinished: str,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.folder = folder
        self.branch = branch
        self.wait = wait
        self._unfinished = folder / unfinished
        self._git = RemoteGit(folder, remote, branch)

    def fetch(self) -> bool:
        """Make the folder a checkout of the branch, keeping what was not published; false when there is no branch yet.

        Raises:
            HistoryUnreachable: the remote does not answer.
            HistoryConflict: the folder and the branch hold different files of the same name.
            Busy: another command works in the folder.

        """
        with self._held():
            tip = self._git.fetch_tip()
            if tip is None:
                return False
            if not self._has(tip):
                self._move(self._joined(tip, "Append runs") if self._unpublished() else tip)
            self._git.must("update-ref", _PUBLISHED, tip)
            return True

    def publish(self, message: str) -> bool:
        """Commit whatever was appended and push it; false when there was nothing to push.

        Two publishers at once both get in: the later one adds its records to what the earlier one pushed.

        Raises:
            HistoryUnreachable: pushing failed in every attempt; what was appended is kept.
            HistoryConflict, Busy: as for :meth:`fetch`.

        """
        with self._held():
            for attempt in range(PUSH_ATTEMPTS):
                tip = self._git.fetch_tip()
                commit = self._commit_on(tip, message)
                if commit is None:
                    return False
                answer = None if commit == tip else self._git.push(commit)
                if answer is None or answer.exit_code == 0:
                    self._move(commit)
                    self._git.must("update-ref", _PUBLISHED, commit)
                    return commit != tip
                self.wait(min(2.0**attempt, 20.0))
            raise self._git.failed("push", answer)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with held(self.folder) as descriptor:
            # Git inherits the descriptor, so the folder stays locked while a git process outlives ootci.
            self._git.keep_open = (descriptor,)
            self._git.prepare([".*.tmp", self._unfinished.name])
            with contextlib.suppress(FileNotFoundError):
                self._move(self._unfinished.read_text(encoding="ascii"))
            yield

    def _commit_on(self, tip: str | None, message: str) -> str | None:
        """The commit to push: the tip with the changes of the folder; None if there is neither."""
        if tip is not None and not self._has(tip):
            return self._joined(tip, message) if self._unpublished() else tip
        self._commit(message)
        return self._git.commit_of("HEAD")

    def _commit(self, message: str) -> None:
        """Commit what was appended."""
        self._git.must("add", "--all", ".")
        if self._dirty():
            tree = self._git.must("write-tree").out.strip()
            self._git.must("update-ref", "HEAD", self._git.new_commit(tree, self._git.commit_of("HEAD"), message))

    def _has(self, tip: str) -> bool:
        """Whether the folder's commit is the tip or a descendant of it."""
        if self._git.commit_of("HEAD") is None:
            return False
        return self._git.ask("merge-base", "--is-ancestor", tip, "HEAD").exit_code == 0

    def _dirty(self) -> bool:
        return bool(self._git.must("status", "--porcelain").out.strip())

    def _unpublished(self) -> bool:
        """Whether the folder may have unpublished changes."""
        return self._git.commit_of("HEAD") != self._git.commit_of(_PUBLISHED) or self._dirty()

    def _joined(self, tip: str, message: str) -> str:
        """A commit on top of the tip with the folder's own changes; the tip itself if there are none."""
        self._commit(message)
        common = self._git.commit_of(_PUBLISHED) or self._git.must("hash-object", "-t", "tree", os.devnull).out.strip()
        scratch = self.folder / ".git" / "ootci.index"
        scratch.unlink(missing_ok=True)
        index = {"GIT_INDEX_FILE": str(scratch)}
        self._git.must("read-tree", "-i", "-m", "--aggressive", common, tip, "HEAD", env=index)
        unmerged = self._git.must("ls-files", "--unmerged", "-z", env=index).out.partition("\0")[0]
        if unmerged:
            raise HistoryConflict(
                "a different file of the same name is already published",
                where=f"{self._git.place}/{unmerged.partition(chr(9))[2]}",
                fix="give the new attempt a number of its own; what is published stays",
            )
        tree = self._git.must("write-tree", env=index).out.strip()
        if tree == self._git.must("rev-parse", f"{tip}^{{tree}}").out.strip():
            return tip
        return self._git.new_commit(tree, tip, message)

    def _move(self, commit: str) -> None:
        """Reset the folder to a commit that contains all of its changes."""
        if self._git.commit_of("HEAD") == commit and not self._unfinished.exists() and not self._dirty():
            return
        temporary = self.folder / f".{secrets.token_hex(4)}.tmp"
        with temporary.open("w", encoding="ascii") as stream:
            stream.write(commit)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self._unfinished)
        self._git.must("reset", "--hard", "--quiet", commit)
        self._unfinished.unlink()
