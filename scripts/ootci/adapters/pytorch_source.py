"""What PyTorch made a nightly of, asked of its repository with git.

A nightly is built from a commit of PyTorch's branch ``nightly``, which has all changes since the nightly before in one
commit. Its subject names the commit of ``main`` that it was made of (PyTorch, tools/nightly.py). Some builds name the
commit of ``main`` themselves.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ootci.adapters.git import ENVIRONMENT, TIMEOUT_SECONDS, pytorch_repository
from ootci.adapters.process import ask

_NAMED = re.compile(r"nightly release \(([0-9a-f]{40})\)")
_MAX_COMMITS = 20_000
"""No more are counted between two nightlies: PyTorch gets about two thousand a month."""


class PytorchSource:
    """Commits of PyTorch without their files, in a folder that is thrown away; use as a context manager.

    Nothing here raises: what git cannot tell, for example without a network, is not known.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._answers = self._ask(["init", "--quiet", "--bare", "."]) is not None

    def __enter__(self) -> PytorchSource:
        self._answers = self._answers and self._ask(["remote", "add", "origin", pytorch_repository()]) is not None
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def made_of(self, nightly: str) -> str | None:
        """The commit of ``main`` that a nightly's commit was made of, which may be itself; None where not known."""
        if not self._fetch("--depth=1", nightly):
            return None
        subject = self._ask(["log", "-1", "--format=%s", nightly])
        named = _NAMED.search(subject or "")
        return named[1] if named else nightly

    def count(self, before: str, after: str) -> int | None:
        """How many commits ``after`` has that ``before`` does not have; None where not known."""
        if not self._fetch("--depth=1", before):
            return None
        day = self._ask(["log", "-1", "--format=%ct", before]) or ""
        since = f"--shallow-since=@{int(day) - 86_400}" if day.isdecimal() else ""
        if not since or not self._fetch(since, after):
            return None
        if self._ask(["merge-base", "--is-ancestor", before, after]) is None:
            return None
        found = self._ask(["rev-list", "--count", f"--max-count={_MAX_COMMITS + 1}", f"{before}..{after}"])
        return int(found) if found and int(found) <= _MAX_COMMITS else None

    def _fetch(self, how: str, commit: str) -> bool:
        # A server that has not answered once is not asked again.
        fetched = self._answers and self._ask(["fetch", "--quiet", "--filter=tree:0", how, "origin", commit])
        self._answers = fetched is not None and fetched is not False
        return self._answers

    def _ask(self, arguments: Sequence[str]) -> str | None:
        env = {**os.environ, **ENVIRONMENT}
        answer = ask(["git", *arguments], cwd=Path(self._folder.name), env=env, timeout=TIMEOUT_SECONDS)
        return answer.out.strip() if answer is not None and answer.exit_code == 0 else None
