"""Progress for people, on stderr: a live line on a terminal, plain lines and a heartbeat elsewhere."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

HEARTBEAT_SECONDS = 20.0
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Text of a foreign process without ANSI sequences and control characters; tabs and newlines stay."""
    return _CONTROL.sub("", _ANSI.sub("", text))


class Progress:
    """Says what is going on. Everything that takes over two seconds shows here.

    Args:
        quiet: say nothing at all, for tests and machine-read output.

    """

    def __init__(self, *, quiet: bool = False) -> None:
        # A live line only on a real terminal: rich also takes variables of CI systems for one.
        live = sys.stderr.isatty() and "CI" not in os.environ
        self.console = Console(stderr=True, highlight=False, quiet=quiet, soft_wrap=True, force_terminal=live)
        self._detail = ""

    def say(self, text: str) -> None:
        """One line that stays."""
        self.console.print(Text(text))

    def update(self, detail: str) -> None:
        """What the current step is doing just now; the last line of a build, say. May be called from any thread."""
        if line := plain(detail).strip():
            self._detail = line

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """A step that may take long: a live line on a terminal, else a first line and a heartbeat."""
        self._detail = ""
        started, done = time.monotonic(), threading.Event()
        if self.console.is_terminal:
            with self.console.status(Text(title)) as status:

                def show() -> None:
                    while not done.wait(0.2):
                        status.update(Text(self._line(title, started)[: max(20, self.console.width - 4)]))

                with _beside(show, done):
                    yield
        else:
            self.say(f"{title} ...")

            def beat() -> None:
                while not done.wait(HEARTBEAT_SECONDS):
                    self.say(f"  {self._line(title, started)}")

            with _beside(beat, done):
                yield

    def _line(self, title: str, started: float) -> str:
        seconds = int(time.monotonic() - started)
        return f"{title}  {seconds // 60}:{seconds % 60:02d}  {self._detail[:160]}".rstrip()


@contextlib.contextmanager
def _beside(work: object, done: threading.Event) -> Iterator[None]:
    thread = threading.Thread(target=work, daemon=True)  # type: ignore[arg-type]
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
