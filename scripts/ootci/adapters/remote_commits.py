"""Commits of a repository without their files, asked of its server with git: their subjects, and how many there are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ootci.adapters.git import ENVIRONMENT, TIMEOUT_SECONDS
from ootci.adapters.process import ask

_DAYS = 1, 90
"""The history before the earlier commit that is fetched, and if that is too little: one merged later may be older."""


class RemoteCommits:
    """Commits of the repository at an address, in a folder that is thrown away; use as a context manager.

    Nothing that is asked raises: what git cannot tell, for example without a network, is not known.

    Raises:
        OSError: there is no space for the folder.

    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._folder = tempfile.TemporaryDirectory()
        self._answers = self._ask(["init", "--quiet", "--bare", "."]) is not None

    def __enter__(self) -> RemoteCommits:
        self._answers = self._answers and self._ask(["remote", "add", "origin", self._address]) is not None
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def subject(self, commit: str) -> str | None:
        """The first line of a commit's message; None where not known."""
        return self._ask(["log", "-1", "--format=%s", commit]) if self._fetch("--depth=1", commit) else None

    def count(self, before: str, after: str) -> int | None:
        """How many commits ``after`` has that ``before`` does not have; None where not known.

        That is so, too, where ``after`` does not come after ``before``, as when the history was rewritten.
        """
        if not self._fetch("--depth=1", before):
            return None
        day = self._ask(["log", "-1", "--format=%ct", before]) or ""
        for days in _DAYS if day.isdecimal() else ():
            if not self._fetch(f"--shallow-since=@{int(day) - days * 86_400}", after):
                return None
            found = self._between(before, after)
            if found is not None:
                return found
        return None

    def _between(self, before: str, after: str) -> int | None:
        """The number by the part of the history that was fetched; None where that is not all between them."""
        if self._ask(["merge-base", "--is-ancestor", before, after]) is None:
            return None
        listed = self._ask(["rev-list", f"{before}..{after}"])
        ends = Path(self._folder.name, "shallow")
        if listed is None or (ends.exists() and not {*ends.read_text().split()}.isdisjoint(listed.split())):
            return None
        return len(listed.split())

    def _fetch(self, how: str, commit: str) -> bool:
        # A server that has not answered once is not asked again.
        fetched = self._answers and self._ask(["fetch", "--quiet", "--filter=tree:0", how, "origin", commit])
        self._answers = fetched is not None and fetched is not False
        return self._answers

    def _ask(self, arguments: Sequence[str]) -> str | None:
        env = {**os.environ, **ENVIRONMENT}
        answer = ask(["git", *arguments], cwd=Path(self._folder.name), env=env, timeout=TIMEOUT_SECONDS)
        return answer.out.strip() if answer is not None and answer.exit_code == 0 else None
