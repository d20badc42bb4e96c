"""Progress for people: a live line on a terminal, plain lines and a heartbeat elsewhere.

Apart from printing, because importing rich takes a sixth of the time of a short command.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

from rich.console import Console  # noqa: TID251
from rich.text import Text

from ootci.adapters.terminal import plain, printed

HEARTBEAT_SECONDS = 20.0


class Progress:
    """Shows progress, unless it is quiet. Everything that takes over two seconds is shown."""

    def __init__(self, *, quiet: bool = False) -> None:
        # A live line only on a real terminal: rich also takes variables of CI systems for one.
        live = sys.stderr.isatty() and "CI" not in os.environ  # noqa: TID251
        self.console = Console(stderr=True, highlight=False, quiet=quiet, soft_wrap=True, force_terminal=live)
        self._detail = ""

    def say(self, text: str) -> None:
        """One line that stays."""
        self.console.print(Text(printed(text.replace("\n", " "))))

    def update(self, detail: str) -> None:
        """Show a detail of the current step, such as the last line of a build. May be called from any thread."""
        if line := plain(detail).strip():
            self._detail = line

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """A step that may take long: a live line on a terminal, else a first line and a heartbeat."""
        self._detail = ""
        started, done = time.monotonic(), threading.Event()
        with contextlib.ExitStack() as opened:
            if self.console.is_terminal:
                status = opened.enter_context(self.console.status(Text(printed(title))))
                pause = 0.2
            else:
                status, pause = None, HEARTBEAT_SECONDS
                self.say(f"{title} ...")

            def show() -> None:
                while not done.wait(pause):
                    line = self._line(title, started)
                    if status is None:
                        self.say(f"  {line}")
                    else:
                        status.update(Text(printed(line)[: max(20, self.console.width - 4)]))

            thread = threading.Thread(target=show, daemon=True)
            thread.start()
            try:
                yield
            finally:
                done.set()
                thread.join()

    def _line(self, title: str, started: float) -> str:
        seconds = int(time.monotonic() - started)
        return f"{title}  {seconds // 60}:{seconds % 60:02d}  {self._detail[:160]}".rstrip()
