"""Python in a process of its own, for what can be seen only in a fresh one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from harness.refusals import Refused, no_kernel
from harness.text import last_words

TIMEOUT_SECONDS = 90.0


def run_python(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Run code in the same Python with a fresh interpreter.

    Args:
        code: what to run.
        arguments: become ``sys.argv[1:]``, so that no value has to be written into the code.
        environment: variables besides the present ones.

    Returns:
        What it printed on stdout.

    Raises:
        AssertionError: it failed or did not end in time; the text has what it printed.
        Refused: it ended because an operator has no kernel.

    """
    # The text of a failure ends in the test, not in how a process is started.
    __tracebackhide__ = True
    command = [sys.executable, "-c", code, *arguments]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"a fresh Python did not end within {TIMEOUT_SECONDS:.0f} s; it ran:\n{code}") from error
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout
        if (refused := no_kernel(last_words(said))) is not None:
            raise Refused(refused)
        raise AssertionError(
            f"a fresh Python ended with {done.returncode}: {last_words(said)}\nits output:\n{said}\nit ran:\n{code}"
        )
    return done.stdout
