"""Runs many commands of a Python with torch in forks of one process, which has imported torch."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from small_suites import SUITES

OP_DB = (
    "torch.testing._internal.common_methods_invocations",
    "torch.testing._internal.common_modules",
    "torch.testing._internal.common_optimizers",
)
"""What the suite ops imports of torch: several seconds."""

TIMEOUT_SECONDS = 600


def base_environment() -> dict[str, str]:
    """The variables of every Python with torch that the tests start."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}


class ForkingPython:
    """Called like the fixture ``device_python``, for ``-m`` and ``-c`` only. Whoever makes it closes it.

    Variables that are read while torch is imported, as OMP_NUM_THREADS, have no effect in a call: they have to be there
    when this is made, or use ``device_python``.

    Args:
        python: has torch.
        environment: gives the variables for this process, and again for each call.
        imports: modules to import besides torch.

    """

    def __init__(
        self, python: str, environment: Callable[[], Mapping[str, str]], imports: tuple[str, ...] = ()
    ) -> None:
        self._environment = environment
        self._imports = ("torch", "pytest", *imports)
        # Files and not pipes: what a command started may keep them open after its end.
        self._files = tempfile.TemporaryDirectory()
        self._server = subprocess.Popen(
            [python, str(Path(__file__).with_name("fork_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            cwd=SUITES,
            start_new_session=True,
        )

    def __call__(
        self, *arguments: str, cwd: Path = SUITES, env: Mapping[str, str] | None = None, given: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python -m MODULE ...`` or ``python -c CODE ...`` in a fork."""
        paths = {name: Path(self._files.name, name) for name in ("stdin", "stdout", "stderr")}
        for path in paths.values():
            path.unlink(missing_ok=True)
            path.write_text((given or "") if path.name == "stdin" else "", encoding="utf-8")
        request = {
            "arguments": arguments,
            "cwd": os.fspath(cwd),
            "environment": {**self._environment(), **(env or {})},
            "imports": self._imports,
            **{name: os.fspath(path) for name, path in paths.items()},
        }
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        code = self._answer(arguments)
        out, err = (paths[name].read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(arguments, code, out, err)

    def _answer(self, arguments: tuple[str, ...]) -> int:
        assert self._server.stdout is not None
        ready, _, _ = select.select([self._server.stdout], [], [], TIMEOUT_SECONDS)
        if not ready:
            os.killpg(self._server.pid, 9)
            raise subprocess.TimeoutExpired(arguments, TIMEOUT_SECONDS)
        answer = self._server.stdout.readline()
        assert answer, "the Python with torch that forks has ended; what it said is above"
        return int(answer)

    def importing(self, *modules: str) -> ForkingPython:
        """Import these modules, too, before the next fork; gives this object."""
        self._imports = tuple(dict.fromkeys((*self._imports, *modules)))
        return self

    def close(self) -> None:
        """End the process."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(timeout=60)
        assert self._server.stdout is not None
        self._server.stdout.close()
        self._files.cleanup()
