"""Running the commands of fetch and build with a log and readable errors, and the stamp of finished work."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pydantic import ValidationError

from ootci.adapters.process import Finished, run
from ootci.adapters.progress import Progress
from ootci.adapters.python_env import device_environment, pip_command
from ootci.adapters.terminal import plain
from ootci.model.build import COMPILE_ERROR, PluginBuild
from ootci.model.record import Record, write_atomic

EXCERPT_LINES = 40
ABOUT_LINES = 12
"""Lines from the first error on that precede the end of the output, unless they are part of it."""
MAX_LINE = 2_000
_SIGNS = ("error:", "Error:", "ERROR:", "fatal:", "CMake Error")
_CONFLICT = "The conflict is caused by:"
"""Where pip lists the requirements that exclude each other, below its error."""


class StepFailed(Exception):
    """A command of the stage failed: for what reason, with the end of its output, whether its time was up, and whether
    the repository or ref named in the device file does not exist.
    """

    def __init__(
        self, reason: str, excerpt: str | None = None, *, timed_out: bool = False, by_device_file: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.excerpt = excerpt
        self.timed_out = timed_out
        self.by_device_file = by_device_file


@dataclass(frozen=True)
class Commands:
    """Runs commands for one stage, each for so many seconds at most."""

    environment: Path
    variables: Mapping[str, str]
    timeout: float
    progress: Progress
    log_file: Path = Path("stage.log")

    def into(self, log_file: Path) -> Commands:
        """The same, with another log."""
        return dataclasses.replace(self, log_file=log_file)

    def run(self, what: str, command: Sequence[str], *, cwd: Path, extra: Mapping[str, str] | None = None) -> None:
        """Run one command; ``what`` begins the reason of its failure.

        Raises:
            StepFailed: it failed or took too long.
            ToolMissing: there is no such program.

        """
        present = self.environment if self.environment.exists() else None
        env = device_environment(present, {**self.variables, **(extra or {})})
        begin = self.log_file.stat().st_size if self.log_file.exists() else 0
        done = run(command, cwd=cwd, env=env, log_file=self.log_file, timeout=self.timeout, on_line=self._show)
        if not done.ok:
            about = [] if done.timed_out else self._first_error(begin)
            reason = f"{_cause(about)} ({done.ending})" if about else done.ending
            raise StepFailed(f"{what}: {reason}", _excerpt(done, about), timed_out=done.timed_out)

    def pip(self, what: str, command: str, *arguments: str, extra: Mapping[str, str] | None = None) -> None:
        """Run a command of pip in the device's environment; raises as :meth:`run`."""
        self.run(what, pip_command(self.environment, command, *arguments), cwd=self.environment, extra=extra)

    def _show(self, line: str) -> None:
        """Show the last line of output, except indented ones: pip's remarks would stay on the screen for a minute."""
        if not line[:1].isspace():
            self.progress.update(line)

    def _first_error(self, begin: int) -> list[str]:
        """The output from the compiler's first error on; from another tool's if there is none."""
        compiler, other = list[str](), list[str]()
        with self.log_file.open("rb") as stream:
            stream.seek(begin)
            for line in stream:
                text = plain(line[:MAX_LINE].decode("utf-8", "replace")).rstrip()
                if compiler or COMPILE_ERROR.search(text):
                    compiler.append(text)
                if len(compiler) == ABOUT_LINES:
                    break
                if len(other) < ABOUT_LINES and (other or any(sign in text for sign in _SIGNS)):
                    other.append(text)
        return compiler or other


def _cause(about: Sequence[str]) -> str:
    """The line with the first error; for a conflict also the requirements, and for CMake its message below."""
    listed = about[about.index(_CONFLICT) + 1 :] if _CONFLICT in about else ()
    if "CMake Error" in about[0]:
        listed = about[1:]
    lines = [about[0], *takewhile(lambda line: line.startswith(" "), listed)]
    return "; ".join(line.strip()[:300] for line in lines)


def _excerpt(done: Finished, about: Sequence[str]) -> str:
    """The end of the output, preceded by the lines of the first error unless the end contains them."""
    lines = plain(done.tail).splitlines()
    cut = len(lines) - EXCERPT_LINES
    end = lines[-EXCERPT_LINES:]
    if cut > 0:
        shown = about if about and about[0] not in [line.rstrip() for line in end] else []
        end = [*shown, f"[{cut} lines before this are in the log]", *end]
    return "\n".join(end)


class Stamp(Record):
    """A file in the environment that it describes. A missing or unreadable stamp causes a rebuild."""

    fetch: str | None = None
    """Digest of everything that fetching depended on."""
    build: str | None = None
    """Digest of everything that building depended on."""
    plugin: PluginBuild | None = None
    """What was built."""

    @classmethod
    def of(cls, environment: Path) -> Stamp:
        """The stamp of an environment; empty when there is none."""
        try:
            return cls.model_validate_json(_file(environment).read_bytes())
        except (OSError, ValidationError):
            return cls()

    def save(self, environment: Path) -> None:
        """Put the stamp into its environment."""
        write_atomic(_file(environment), self.model_dump_json().encode())


def _file(environment: Path) -> Path:
    return environment / "ootci-stamp.json"


def digest(*parts: object) -> str:
    """SHA-256 over plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
