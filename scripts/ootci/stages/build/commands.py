"""Running the commands of fetch and build, with their output in a log and their failure in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ootci.adapters.process import Finished, run
from ootci.adapters.python_env import device_environment, pip_command
from ootci.adapters.terminal import Progress, plain

EXCERPT_LINES = 40
_SIGNS = ("error:", "Error:", "ERROR:", "fatal:")


class StepFailed(Exception):
    """A command of the stage failed.

    Attributes:
        reason: one line for people.
        excerpt: the end of its output.
        timed_out: whether it was ended because its time was up.

    """

    def __init__(self, reason: str, excerpt: str | None = None, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.excerpt = excerpt
        self.timed_out = timed_out


@dataclass(frozen=True)
class Commands:
    """Runs commands for one stage.

    Attributes:
        environment: the device's virtual environment.
        variables: environment variables from the device file.
        timeout: seconds that each command may take.
        progress: shown the last line of output.
        log_file: where the output goes.

    """

    environment: Path
    variables: Mapping[str, str]
    timeout: float
    progress: Progress
    log_file: Path = Path("stage.log")

    def into(self, log_file: Path) -> Commands:
        """The same, with another log."""
        return dataclasses.replace(self, log_file=log_file)

    def run(self, what: str, command: Sequence[str], *, cwd: Path, extra: Mapping[str, str] | None = None) -> None:
        """Run one command; ``what`` is how its failure is called.

        Raises:
            StepFailed: it failed or took too long.
            ToolMissing: there is no such program.

        """
        present = self.environment if self.environment.exists() else None
        env = device_environment(present, {**self.variables, **(extra or {})})
        begin = self.log_file.stat().st_size if self.log_file.exists() else 0
        done = run(command, cwd=cwd, env=env, log_file=self.log_file, timeout=self.timeout, on_line=self._show)
        if not done.ok:
            raise StepFailed(f"{what}: {self._reason(done, begin)}", _excerpt(done), timed_out=done.timed_out)

    def pip(self, what: str, *arguments: str, extra: Mapping[str, str] | None = None) -> None:
        """Run pip in the device's environment; raises as :meth:`run`."""
        self.run(what, pip_command(self.environment, *arguments), cwd=self.environment, extra=extra)

    def _show(self, line: str) -> None:
        """Show what a command is at; what it indents is a remark, after which pip may say nothing for a minute."""
        if not line[:1].isspace():
            self.progress.update(line)

    def _reason(self, done: Finished, begin: int) -> str:
        """The first line of output that tells of an error, which is where a compiler says what is wrong."""
        if not done.timed_out:
            with self.log_file.open("rb") as stream:
                stream.seek(begin)
                for line in stream:
                    text = plain(line.decode("utf-8", "replace")).strip()
                    if any(sign in text for sign in _SIGNS):
                        return f"{text[:300]} ({done.ending})"
        return done.ending


def _excerpt(done: Finished) -> str:
    lines = plain(done.tail).splitlines()
    cut = len(lines) - EXCERPT_LINES
    return "\n".join(([f"[{cut} lines before this are in the log]"] if cut > 0 else []) + lines[-EXCERPT_LINES:])
